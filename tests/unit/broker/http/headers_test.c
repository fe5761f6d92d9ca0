/* SPDX-License-Identifier: Apache-2.0
 *
 * What values of HTTP headers mean.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "http/headers.h"

Test(http_headers, hosts)
{
	cr_assert(header_host_is_local("localhost"));
	cr_assert(header_host_is_local("LocalHost:80"));
	cr_assert(header_host_is_local("127.0.0.1:65535"));
	cr_assert(header_host_is_local("[::1]:1"));
	cr_assert_not(header_host_is_local(""));
	cr_assert_not(header_host_is_local("localhost:"));
	cr_assert_not(header_host_is_local("localhost:8x"));
	cr_assert_not(header_host_is_local("localhost.example.com"));
	cr_assert_not(header_host_is_local("127.0.0.1.example.com"));
	cr_assert(header_host_is_local("127.0.0.1"));
	cr_assert(header_host_is_local("127.255.0.10:80"));
	cr_assert_not(header_host_is_local("127.0.0.256"));
	cr_assert_not(header_host_is_local("127.0.0"));
	cr_assert_not(header_host_is_local("127.0.0.1.1"));
	cr_assert_not(header_host_is_local("127.0.0.01"));
	cr_assert_not(header_host_is_local("127.0.0.1111"));
	cr_assert_not(header_host_is_local("127.1"));
	cr_assert_not(header_host_is_local("128.0.0.1"));
	cr_assert_not(header_host_is_local("1270.0.0.1"));
	cr_assert_not(header_host_is_local("::1"));
	cr_assert_not(header_host_is_local("user@localhost"));
}

Test(http_headers, origins)
{
	cr_assert(header_origin_is_local("http://localhost"));
	cr_assert(header_origin_is_local("HTTPS://127.0.0.1:8080"));
	cr_assert(header_origin_is_local("http://[::1]:3000"));
	cr_assert_not(header_origin_is_local("null"));
	cr_assert_not(header_origin_is_local("localhost"));
	cr_assert_not(header_origin_is_local("http://localhost/"));
	cr_assert_not(header_origin_is_local("http://localhost:80@example.com"));
	cr_assert_not(header_origin_is_local("ftp://localhost"));
	cr_assert_not(header_origin_is_local("http://example.com"));
	cr_assert_not(header_origin_is_local("http://"));
}

Test(http_headers, content_types)
{
	cr_assert(header_is_json("application/json"));
	cr_assert(header_is_json(" Application/JSON ; charset=utf-8"));
	cr_assert_not(header_is_json(""));
	cr_assert_not(header_is_json("application/jsonp"));
	cr_assert_not(header_is_json("application/json2;application/json"));
	cr_assert_not(header_is_json("text/json"));
}

static bool takes_events(const char *value)
{
	return header_accepts(value, "text", "event-stream");
}

Test(http_headers, accept)
{
	cr_assert(takes_events("text/event-stream"));
	cr_assert(takes_events("application/json,text/event-stream"));
	cr_assert(takes_events("application/json;q=1;x=y , TEXT/Event-Stream ; q=0.1"));
	cr_assert(takes_events("*/*"));
	cr_assert(takes_events("text/*;q=0.001"));
	cr_assert(takes_events("text/event-stream;q=0, */*"));
	cr_assert_not(takes_events(""));
	cr_assert_not(takes_events(",,;,"));
	cr_assert_not(takes_events("text/event-stream;q=0"));
	cr_assert_not(takes_events("text/event-stream; a=b; q=0.000"));
	cr_assert_not(takes_events("text/event-streams"));
	cr_assert_not(takes_events("text"));
	cr_assert_not(takes_events("text/"));
	cr_assert_not(takes_events("application/*"));
	cr_assert_not(takes_events("*"));
}

static void expect_decoded(const char *value, const char *expected)
{
	struct buffer text = { 0 };

	cr_assert(header_decode(value, &text), "%s", value);
	cr_assert_eq(text.size, strlen(expected), "%s", value);
	cr_assert(text.size == 0 || memcmp(text.bytes, expected, text.size) == 0, "%s", value);
	buffer_done(&text);
}

static void expect_refused(const char *value)
{
	struct buffer text = { 0 };

	cr_assert_not(header_decode(value, &text), "%s", value);
	buffer_done(&text);
}

Test(http_headers, decoding)
{
	expect_decoded("plain", "plain");
	expect_decoded(" \t inside it stays \t", "inside it stays");
	expect_decoded("", "");
	expect_decoded("=?base64?SGVsbG8=?=", "Hello");
	expect_decoded("  =?base64?SGVsbG8h?=  ", "Hello!");
	expect_decoded("=?base64?"
		       "?=",
		       "");
	expect_decoded("=?base64?SA==?=", "H");
	expect_decoded("=?base64?w6k=?=", "\xc3\xa9");
	expect_decoded("=?base64?SGVsbG8=", "=?base64?SGVsbG8=");
	expect_decoded("=?base64?=", "=?base64?=");
	expect_decoded("SGVsbG8=", "SGVsbG8=");
	expect_refused("=?base64?SGVsbG8?=");
	expect_refused("=?base64?SGVs!!!bG8=?=");
	expect_refused("=?base64?SG=s?=");
	expect_refused("=?base64?====?=");
	expect_refused("=?base64?S===?=");
	expect_refused("=?base64? SA==?=");
}

Test(http_headers, bearer)
{
	cr_assert_str_eq(header_bearer("Bearer abc"), "abc");
	cr_assert_str_eq(header_bearer("bearer   abc"), "abc");
	cr_assert_null(header_bearer("Bearer"));
	cr_assert_null(header_bearer("Basic abc"));
	cr_assert_null(header_bearer(""));
}
