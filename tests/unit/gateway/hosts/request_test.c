/* SPDX-License-Identifier: Apache-2.0
 *
 * Methods and paths of requests, against the rules of a host's entry.
 */
#include "gateway/hosts/request.h"

#include <criterion/criterion.h>
#include <string.h>

Test(request, methods)
{
	uint32_t all = 0;

	for (uint32_t bit = 1; bit < HOST_METHODS_END; bit *= 2) {
		const char *name = host_method_name(bit);

		cr_assert_not_null(name);
		cr_expect_eq(host_method_read(name, strlen(name)), bit);
		all |= bit;
	}
	cr_expect_eq(all, HOST_METHODS_END - 1);
	cr_expect_eq(host_method_read("get", 3), 0);
	cr_expect_eq(host_method_read("GETS", 4), 0);
	cr_expect_eq(host_method_read("GE", 2), 0);
	cr_expect_null(host_method_name(HOST_METHODS_END));
	cr_expect_null(host_method_name(0));
}

static const char *const sound_paths[] = {
	"/",      "/a",           "/a/",         "/a/b.c",      "/.a",           "/a.",
	"/a/..b", "/%20",         "/%7E%c3%A9",  "/%e2%80%a6a", "/%f0%9f%98%80", "/@a/b;c=d,e",
	"/a:b",   "/a+b(c)'!*$&", "/a%ef%bc%9f", "/a..%3fx",    "/a+/+",         "/..a+"
};
static const char *const bad_paths[] = {
	"",
	"a",
	"*",
	"//",
	"/a//b",
	"/.",
	"/..",
	"/a/../b",
	"/a/.",
	"/./a",
	"/a/..",
	"/%2e",
	"/%2E%2e/a",
	"/a%2fb",
	"/a%5Cb",
	"/a\\b",
	"/%",
	"/%2",
	"/%zz",
	"/%00",
	"/%0a",
	"/%7f",
	"/%25",
	"/%252e",
	"/a/..;/b",
	"/a/%ef%b8%b0/b", /* for two dots, upright; then those that are like . / ; % */
	"/a/%ef%b8%99",
	"/a/%e2%84%80",
	"/a%cd%be",
	"/a%ef%b9%94",
	"/a%ef%b9%aa",
	"/a/..%ef%b8%80/b", /* a selector of variants */
	"/a/..%3fx/b",
	"/a/.%23x",
	"/a/..+/b",
	"/a/.;x",
	"/a%3bb",
	"/a%c0%aeb",
	"/...",
	"/..%20",
	"/%20.",
	"/.%20.",
	"/a%e9",
	"/..%ff",
	"/a%e0%80%aeb",
	"/%f0%80%80%ae",
	"/%ef%bc%8e%ef%bc%8e",
	"/a%ef%bc%8fb",
	"/..%e2%80%8b",
	"/%e2%80%a5",
	"/..%c2%a0",
	"/a%ed%a0%80",
	"/a%e2%80",
	"/a%e2%80b",
	"/;x/b",
	"/..;a%20/b",
	"/a b",
	"/a\tb",
	"/a?b",
	"/a#b",
	"/\x80",
	"/\x7f",
};

Test(request, spelling_of_paths)
{
	for (size_t i = 0; i < sizeof(sound_paths) / sizeof(sound_paths[0]); i++)
		cr_expect_null(host_path_fault(sound_paths[i], strlen(sound_paths[i])), "%s",
			       sound_paths[i]);
	for (size_t i = 0; i < sizeof(bad_paths) / sizeof(bad_paths[0]); i++)
		cr_expect_not_null(host_path_fault(bad_paths[i], strlen(bad_paths[i])), "%s",
				   bad_paths[i]);
	cr_expect_not_null(host_path_fault("/a\0b", 4));
	cr_expect_null(host_path_fault("/a..", 2));
}

static bool covers(const char *rule, const char *path)
{
	return host_path_covers(rule, path, strlen(path));
}

Test(request, beginnings_of_paths)
{
	cr_expect(covers("", "/any") && covers("/", "/any") && covers("/", "/"));
	cr_expect(covers("/a", "/a") && covers("/a", "/a/") && covers("/a", "/a/b"));
	cr_expect(covers("/a/", "/a/") && covers("/a/", "/a/b"));
	cr_expect_not(covers("/a", "/ab"));
	cr_expect_not(covers("/a", "/A"));
	cr_expect_not(covers("/a", "/"));
	cr_expect_not(covers("/a/", "/a"));
	cr_expect_not(covers("/a/b", "/a/c"));
	cr_expect(host_path_covers("/a", "/a?b", 2));
}

static struct {
	struct plan_profile profile;
	struct plan_request rules[4];
} blob = { .rules = { { .path = "/a/", .methods = HOST_METHOD_GET, .host = 0 },
		      { .path = "/b", .methods = 0, .host = 0 },
		      { .path = "", .methods = HOST_METHOD_HEAD, .host = 0 },
		      { .path = "", .methods = HOST_METHOD_GET, .host = 2 } } };

static enum host_request check(uint32_t host, uint32_t method, const char *path)
{
	const struct plan plan = { .bytes = (const uint8_t *)&blob, .size = sizeof(blob) };
	const struct plan_request *rule;

	blob.profile.requests = offsetof(__typeof__(blob), rules);
	blob.profile.request_count = 4;
	return host_request_check(&plan, &blob.profile, host,
				  &(struct host_request_line){ method, path, strlen(path) }, &rule);
}

Test(request, rules_of_an_entry)
{
	cr_expect_eq(check(0, HOST_METHOD_GET, "/a/x"), HOST_REQUEST_ALLOWED);
	cr_expect_eq(check(0, HOST_METHOD_PUT, "/b/x"), HOST_REQUEST_ALLOWED);
	cr_expect_eq(check(0, 0, "/b"), HOST_REQUEST_ALLOWED);
	cr_expect_eq(check(0, HOST_METHOD_HEAD, "/any//.."), HOST_REQUEST_ALLOWED);
	cr_expect_eq(check(0, HOST_METHOD_PUT, "/a/x"), HOST_REQUEST_METHOD);
	cr_expect_eq(check(0, HOST_METHOD_GET, "/c"), HOST_REQUEST_METHOD); /* HEAD may */
	cr_expect_eq(check(0, HOST_METHOD_GET, "/a/../c"), HOST_REQUEST_METHOD);
	cr_expect_eq(check(0, 0, "/a/x"), HOST_REQUEST_METHOD);
	cr_expect_eq(check(1, 0, "/any//.."), HOST_REQUEST_ALLOWED); /* no rule */
	cr_expect_eq(check(2, HOST_METHOD_GET, "/any"), HOST_REQUEST_ALLOWED);
	cr_expect_eq(check(2, 0, "/any"), HOST_REQUEST_METHOD);
}

Test(request, path_without_an_end_is_no_rule)
{
	memset(blob.rules[0].path, 'a', sizeof(blob.rules[0].path));
	memset(blob.rules[2].path, '/', sizeof(blob.rules[2].path));
	cr_expect_eq(check(0, HOST_METHOD_GET, "/a/x"), HOST_REQUEST_PATH);
	cr_expect_eq(check(0, HOST_METHOD_HEAD, "/b//x"), HOST_REQUEST_SPELLING);
}

Test(request, parameters_that_give_a_method)
{
	static const char *const bad[] = { "?_method=DELETE",
					   "?a=b&_method=PUT",
					   "?%5fmethod=x",
					   "?_METHOD=x",
					   "?_metho%64=x",
					   "?.method=x",
					   "?+_method=x",
					   "?_method[]=x",
					   "?a;_method=x",
					   "?_method",
					   "?[method=x",
					   "_method=DELETE",
					   "?X-HTTP-Method-Override=x",
					   "?x_http_method=x" };
	static const char *const sound[] = {
		"",          "?",       "?a=_method", "?my_method=a", "?_methods=a",
		"?method=a", "?_metho", "?a=b&c",     "?a%5fmethod=x"
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect(host_query_overrides(bad[i], strlen(bad[i])), "%s", bad[i]);
	for (size_t i = 0; i < sizeof(sound) / sizeof(sound[0]); i++)
		cr_expect_not(host_query_overrides(sound[i], strlen(sound[i])), "%s", sound[i]);
}
