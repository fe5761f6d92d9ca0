/* SPDX-License-Identifier: Apache-2.0
 *
 * The one spelling of an image's name, and every text that is none.
 */
#include "image/name.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define X32 "0123456789abcdef0123456789abcdef"
#define A64 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

Test(name, one_spelling)
{
	static const struct {
		const char *text;
		const char *name;
	} cases[] = {
		{ "python", "python:latest" },
		{ "python:3.12", "python:3.12" },
		{ "docker.io/library/python:3.12", "python:3.12" },
		{ "docker.io/python:3.12", "python:3.12" },
		{ "index.docker.io/library/python", "python:latest" },
		{ "docker.io/my/app:1", "my/app:1" },
		{ "localhost/app:v1.0-rc_2", "localhost/app:v1.0-rc_2" },
		{ "localhost:5000/app", "localhost:5000/app:latest" },
		{ "ghcr.io/some-one/some_thing:TAG", "ghcr.io/some-one/some_thing:TAG" },
		{ "10.0.0.1:5055/x:1", "10.0.0.1:5055/x:1" },
		{ "Registry.Example.COM/x:1", "Registry.Example.COM/x:1" },
		{ "python@sha256:" X32 X32, "python@sha256:" X32 X32 },
		{ "docker.io/library/python:3@sha256:" X32 X32, "python:3@sha256:" X32 X32 },
		{ "cafe", "cafe:latest" },
		{ "docker.io/localhost/x:1", "docker.io/localhost/x:1" },
		{ "docker.io/a.b/x:1", "docker.io/a.b/x:1" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[IMAGE_NAME_MAX] = "";
		const char *rule = image_name_read(cases[i].text, name);

		cr_expect_null(rule, "%s: %s", cases[i].text, rule);
		cr_expect_str_eq(name, cases[i].name);
	}
}

Test(name, the_spelling_is_its_own_spelling)
{
	static const char *const texts[] = { "a", "a/b:c", "h.x:1/a/b", "a@sha256:" X32 X32,
					     "docker.io/library/docker.io/library/a" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char name[IMAGE_NAME_MAX], again[IMAGE_NAME_MAX];

		cr_assert_null(image_name_read(texts[i], name));
		cr_assert_null(image_name_read(name, again));
		cr_expect_str_eq(name, again);
	}
}

Test(name, no_name)
{
	static const char *const texts[] = {
		"",
		"/",
		".",
		"..",
		"../x",
		"a/../b",
		"a//b",
		"/a",
		"a/",
		"a:",
		":1",
		"a:b:c",
		"a b",
		"a\nb",
		"a%b",
		"Python",
		"a/B",
		"-a",
		"--help",
		"a-",
		".a",
		"a:.b",
		"a:-b",
		"sha256:abcd",
		"sha256",
		"host:port/a",
		"host.x:/a",
		"host.x:123456/a",
		"-h.x/a",
		"a@md5:" X32,
		"a@sha256:" X32,
		"a@sha256:" X32 X32 "0",
		"a@sha256:" X32 "0123456789ABCDEF0123456789abcdef",
		"@sha256:" X32 X32,
		"caf\xc3\xa9",
		"docker.io/",
		"docker.io/library/",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char name[IMAGE_NAME_MAX];

		cr_expect_not_null(image_name_read(texts[i], name), "'%s'", texts[i]);
	}
}

Test(name, length)
{
	char text[512], name[IMAGE_NAME_MAX];

	(void)snprintf(text, sizeof(text), A64 "/" A64 "/" A64 "/%.51s:latest", A64);
	cr_expect_eq(strlen(text), 253);
	cr_expect_null(image_name_read(text, name));
	cr_expect_str_eq(name, text);
	(void)snprintf(text, sizeof(text), A64 "/" A64 "/" A64 "/%.53s", A64);
	cr_expect_null(image_name_read(text, name));
	cr_expect_eq(strlen(name), 255);
	(void)snprintf(text, sizeof(text), A64 "/" A64 "/" A64 "/%.54s", A64);
	cr_expect_not_null(image_name_read(text, name));
	(void)snprintf(text, sizeof(text), "a:" A64 A64);
	cr_expect_null(image_name_read(text, name));
	(void)snprintf(text, sizeof(text), "a:" A64 A64 "a");
	cr_expect_not_null(image_name_read(text, name));
}

Test(name, name_of_a_file_and_back)
{
	char name[IMAGE_NAME_MAX] = "host.x:5/a/b:1";

	image_name_to_file(name);
	cr_expect_str_eq(name, "host.x:5%a%b:1");
	image_name_from_file(name);
	cr_expect_str_eq(name, "host.x:5/a/b:1");
}
