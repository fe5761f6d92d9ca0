/* SPDX-License-Identifier: Apache-2.0
 *
 * A wildcard stands for one whole label, and for nothing else.
 */
#include "gateway/hosts/pattern.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect_pattern(const char *text, const char *expected)
{
	char pattern[HOST_PATTERN_MAX_SIZE] = "";

	cr_assert_eq(host_pattern_read(text, strlen(text), pattern), HOST_SOUND, "%s", text);
	cr_expect_str_eq(pattern, expected);
}

Test(pattern, one_spelling)
{
	expect_pattern("Example.org.", "example.org");
	expect_pattern("*.Example.ORG.", "*.example.org");
	expect_pattern("*.org", "*.org");
}

Test(pattern, wrong_forms)
{
	static const struct {
		const char *text;
		enum host_fault fault;
	} rows[] = {
		{ "*", HOST_WILDCARD },
		{ "**.example.org", HOST_WILDCARD },
		{ "*.*.example.org", HOST_WILDCARD },
		{ "a*.example.org", HOST_WILDCARD },
		{ "*a.example.org", HOST_WILDCARD },
		{ "a.*.example.org", HOST_WILDCARD },
		{ "example.*", HOST_WILDCARD },
		{ "*.", HOST_EMPTY },
		{ "", HOST_EMPTY },
		{ "*..example.org", HOST_LABEL_EMPTY },
		{ "*.-a.org", HOST_LABEL_HYPHEN },
		{ "*.0.0.1", HOST_ENDS_IN_NUMBER },
		{ "*.b\xc3\xbc"
		  "cher.example",
		  HOST_FOREIGN },
		{ ".example.org", HOST_LABEL_EMPTY },
	};
	char pattern[HOST_PATTERN_MAX_SIZE] = "kept";

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(host_pattern_read(rows[i].text, strlen(rows[i].text), pattern),
			     rows[i].fault, "%s", rows[i].text);
	cr_expect_str_eq(pattern, "kept");
}

Test(pattern, covers)
{
	static const struct {
		const char *pattern, *name;
		bool is_covered;
	} rows[] = {
		{ "example.org", "example.org", true },
		{ "example.org", "www.example.org", false },
		{ "example.org", "example.org.evil.example", false },
		{ "example.org", "xample.org", false },
		{ "*.example.org", "www.example.org", true },
		{ "*.example.org", "example.org", false },
		{ "*.example.org", "a.b.example.org", false },
		{ "*.example.org", "wwwexample.org", false },
		{ "*.example.org", "www.example.org.evil", false },
		{ "*.example.org", "www.evil-example.org", false },
		{ "*.org", "org", false },
		{ "*.org", "example.org", true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(host_pattern_covers(rows[i].pattern, rows[i].name), rows[i].is_covered,
			     "%s %s", rows[i].pattern, rows[i].name);
}

Test(pattern, parent)
{
	cr_expect_null(host_pattern_parent("example.org"));
	cr_expect_str_eq(host_pattern_parent("*.example.org"), "example.org");
}
