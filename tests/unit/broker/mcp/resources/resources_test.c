/* SPDX-License-Identifier: Apache-2.0
 *
 * Resources: URIs and their templates, lists, reading, and what is said of those that are not.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/core/resource_uri.h"
#include "rig.h"

#define META                                                                                       \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                   \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"

static struct rig rig;

static void open_rig(void)
{
	rig_open(&rig, true);
}

static void close_rig(void)
{
	rig_close(&rig);
}

TestSuite(mcp_resources, .init = open_rig, .fini = close_rig);

static const char *ask(const char *method, const char *params)
{
	char line[4096];

	(void)snprintf(line, sizeof(line),
		       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s}}", method,
		       params);
	return rig_ask(&rig, line);
}

static bool matches(const char *uri_template, const char *uri, struct resource_values *ret)
{
	return resource_uri_match(uri_template, uri, strlen(uri), ret);
}

Test(resource_uri, values)
{
	static const char log[] = "sandbox://{id}/log/{execution}";
	struct resource_values values;

	cr_assert(matches(log, "sandbox://a-b_c.d~e/log/7", &values));
	cr_assert_str_eq(values.value[0], "a-b_c.d~e");
	cr_assert_str_eq(values.value[1], "7");
	cr_assert_str_eq(values.value[2], "");
	cr_assert(matches(log, "sandbox://%61%2F%c3%BC/log/%25", &values));
	cr_assert_str_eq(values.value[0], "a/\xc3\xbc");
	cr_assert_str_eq(values.value[1], "%");
	cr_assert(matches("test://all", "test://all", &values));
	cr_assert(matches("t://{id}/data", "t://1/data", &values));
}

Test(resource_uri, what_does_not_match)
{
	static const char *const uris[] = {
		"",
		"sandbox:",
		"sandbox://",
		"sandbox:///log/1",
		"sandbox://a/log/",
		"sandbox://a/log",
		"sandbox://a/log/1/",
		"sandbox://a/log/1?x=1",
		"sandbox://a/log/1#x",
		"sandbox://a/b/log/1",
		"SANDBOX://a/log/1",
		"sandbox://a:1/log/1",
		"sandbox://a@b/log/1",
		"sandbox://a b/log/1",
		"sandbox://\xc3\xbc/log/1",
		"sandbox://%/log/1",
		"sandbox://%4/log/1",
		"sandbox://%4g/log/1",
		"sandbox://%00/log/1",
		"sandbox://%ff/log/1",
		"sandbox://%c0%af/log/1",
		"sandbox://a/log/1%",
		"sandbox://a/log/{execution}",
	};
	struct resource_values values;
	char long_uri[512];

	for (size_t i = 0; i < sizeof(uris) / sizeof(uris[0]); i++)
		cr_assert_not(matches("sandbox://{id}/log/{execution}", uris[i], &values), "%s",
			      uris[i]);
	for (size_t size = 255; size <= 256; size++) {
		(void)snprintf(long_uri, sizeof(long_uri), "t://%.*s", (int)size,
			       "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			       "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			       "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			       "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
		cr_assert_eq(matches("t://{id}", long_uri, &values), size == 255);
	}
}

Test(resource_uri, expand)
{
	const struct resource_values values = { { "a/b c", "\xc3\xbc~" } };
	struct resource_values back;
	struct buffer uri = { 0 };

	resource_uri_expand("s://{id}/log/{n}", &values, &uri);
	cr_assert_eq(uri.size, strlen("s://a%2Fb%20c/log/%C3%BC~"));
	cr_assert_eq(memcmp(uri.bytes, "s://a%2Fb%20c/log/%C3%BC~", uri.size), 0);
	cr_assert(resource_uri_match("s://{id}/log/{n}", uri.bytes, uri.size, &back));
	cr_assert_eq(memcmp(&values, &back, sizeof(back)), 0);
	buffer_done(&uri);
	cr_assert_eq(resource_uri_find("s://{id}/log/{n}", "id", 2), 0);
	cr_assert_eq(resource_uri_find("s://{id}/log/{n}", "n", 1), 1);
	cr_assert_eq(resource_uri_find("s://{id}/log/{n}", "i", 1), -1);
	cr_assert_eq(resource_uri_find("s://{id}/log/{n}", "log", 3), -1);
}

Test(mcp_resources, lists)
{
	const char *line = ask("resources/list", "");

	expect_part(line, "\"resources\":[{\"uri\":\"policy://default\",\"name\":\"default\",");
	expect_part(line, "\"description\":\"for tests\",\"mimeType\":\"text/plain\"");
	expect_part(line, "\"annotations\":{\"audience\":[\"user\",\"assistant\"],"
			  "\"priority\":0.5},\"size\":14}");
	cr_assert_null(strstr(line, "ttlMs"));
	expect_part(ask("resources/list", META), "\"ttlMs\":0,\"cacheScope\":\"private\"");
	line = ask("resources/templates/list", "");
	expect_part(line, "{\"uriTemplate\":\"policy://{profile}\",\"name\":\"policy\"");
	cr_assert_null(strstr(line, "\"uri\":"));
	expect_part(ask("resources/templates/list", META), "\"ttlMs\":300000");
	expect_part(ask("resources/list", "\"cursor\":\"x\""), "\"code\":-32602");
	expect_part(ask("resources/templates/list", "\"cursor\":7"), "\"code\":-32602");
}

Test(mcp_resources, read)
{
	expect_part(ask("resources/read", "\"uri\":\"policy://default\""),
		    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"contents\":[{\"uri\":"
		    "\"policy://default\",\"mimeType\":\"text/plain\",\"text\":"
		    "\"name: default\\n\"}]}}");
	/* the URI is the one that was asked for */
	expect_part(ask("resources/read", "\"uri\":\"policy://d%65fault\"," META),
		    "\"result\":{\"resultType\":\"complete\",\"contents\":[{\"uri\":"
		    "\"policy://d%65fault\"");
	expect_part(rig.line, "\"ttlMs\":0,\"cacheScope\":\"private\"");
}

Test(mcp_resources, those_that_are_not_there)
{
	static const char *const uris[] = { "policy://none",     "policy://",
					    "other://x",         "",
					    "policy://default/", "policy://_default" };
	char params[256], data[256];

	for (size_t i = 0; i < sizeof(uris) / sizeof(uris[0]); i++) {
		(void)snprintf(params, sizeof(params), "\"uri\":\"%s\"", uris[i]);
		(void)snprintf(data, sizeof(data), "\"data\":{\"uri\":\"%s\"}", uris[i]);
		expect_part(ask("resources/read", params), "\"error\":{\"code\":-32002,");
		expect_part(rig.line, data);
		expect_part(rig.line, "resources/list");
		expect_part(rig.line, "policy://{profile}");
		(void)snprintf(params, sizeof(params), "\"uri\":\"%s\"," META, uris[i]);
		expect_part(ask("resources/read", params), "\"error\":{\"code\":-32602,");
		expect_part(rig.line, data);
	}
	expect_part(ask("resources/read", ""), "uri must be a string");
	expect_part(ask("resources/read", "\"uri\":{}"), "uri must be a string");
}

Test(mcp_resources, another_policy_holds)
{
	(void)ask("ping", "");
	rig_say(&rig, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"subscriptions/listen\","
		      "\"params\":{" META ",\"notifications\":{\"toolsListChanged\":true,"
		      "\"resourcesListChanged\":true,\"resourceSubscriptions\":["
		      "\"policy://default\"]}}}");
	expect_part(rig_hear(&rig), "acknowledged");
	rig.profile_name = "other";
	rig_change_policy(&rig);
	expect_part(rig_hear(&rig), "\"uri\":\"policy://default\"");
	expect_part(rig_hear(&rig), "notifications/tools/list_changed");
	expect_part(rig_hear(&rig), "notifications/resources/list_changed");
	expect_part(ask("resources/list", ""), "\"uri\":\"policy://other\"");
	expect_part(ask("tools/list", ""), "\"other\"");
	cr_assert_null(strstr(rig.line, "\"strict\""));
	expect_part(ask("resources/read", "\"uri\":\"policy://default\""), "-32002");
}

/* Profiles for our own helpers are nobody else's business. */
Test(mcp_resources, internal_profiles_are_hidden)
{
	rig_close(&rig);
	rig_open(&rig, false);
	rig.profile_name = "_helper";
	rig_welcome(&rig);
	expect_part(ask("resources/list", ""), "\"resources\":[]");
	expect_part(ask("resources/read", "\"uri\":\"policy://_helper\""), "-32002");
	expect_part(ask("completion/complete",
			"\"ref\":{\"type\":\"ref/resource\",\"uri\":\"policy://{profile}\"},"
			"\"argument\":{\"name\":\"profile\",\"value\":\"\"}"),
		    "\"values\":[]");
}
