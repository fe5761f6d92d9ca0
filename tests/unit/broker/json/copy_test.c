/* SPDX-License-Identifier: Apache-2.0 */
#include "json/copy.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void expect_written(const struct json_document *document, const struct json_value *value,
			   const char *wanted)
{
	struct buffer text = { 0 };
	struct json_writer writer = { .out = &text };

	json_put_value(&writer, NULL, document, value);
	cr_assert_eq(text.size, strlen(wanted));
	cr_assert_eq(memcmp(text.bytes, wanted, text.size), 0, "%.*s, not %s", (int)text.size,
		     text.bytes, wanted);
	buffer_done(&text);
}

/* Every value of `text`, by itself, is written and copied like the one of its place in `wanted`. */
static void expect_copies(const char *text, const char *const *wanted, size_t count)
{
	char *copy = strdup(text);
	struct json_document document;
	struct json_tree tree;

	cr_assert(copy);
	cr_assert_eq(json_read(&document, copy, strlen(copy)), JSON_OK);
	cr_assert_eq(document.count, count);
	for (uint32_t i = 0; i < document.count; i++) {
		json_tree_copy(&tree, &document, &document.values[i]);
		expect_written(&document, &document.values[i], wanted[i]);
		expect_written(&tree.document, json_top(&tree.document), wanted[i]);
		cr_assert_null(json_top(&tree.document)->key);
		json_tree_done(&tree);
	}
	json_done(&document);
	free(copy);
}

Test(json_copy, values_are_written_and_copied_whole)
{
	static const char text[] =
		" [ {\"a\" : [ ] , \"\\u0062\":{}}, [[1.50e3, \"\\n\\\"\"]], null,"
		"true,false, {\"x\":{\"y\":{\"z\":[0]}}}, -1 ] ";
	static const char *const wanted[] = {
		"[{\"a\":[],\"b\":{}},[[1.50e3,\"\\n\\\"\"]],null,true,false,"
		"{\"x\":{\"y\":{\"z\":[0]}}},-1]",
		"{\"a\":[],\"b\":{}}",
		"[]",
		"{}",
		"[[1.50e3,\"\\n\\\"\"]]",
		"[1.50e3,\"\\n\\\"\"]",
		"1.50e3",
		"\"\\n\\\"\"",
		"null",
		"true",
		"false",
		"{\"x\":{\"y\":{\"z\":[0]}}}",
		"{\"y\":{\"z\":[0]}}",
		"{\"z\":[0]}",
		"[0]",
		"0",
		"-1",
	};

	expect_copies(text, wanted, sizeof(wanted) / sizeof(wanted[0]));
}

Test(json_copy, a_scalar_alone)
{
	static const char *const wanted[] = { "\"x\"" };

	expect_copies("\"\\u0078\"", wanted, 1);
}

Test(json_copy, members_have_keys)
{
	char text[] = "{\"a\\n\":{\"b\":1,\"b\\u0000\":[2]},\"c\":3}";
	struct json_document document;
	struct buffer out = { 0 };
	struct json_writer writer = { .out = &out };

	cr_assert_eq(json_read(&document, text, strlen(text)), JSON_OK);
	json_open_object(&writer, NULL);
	json_put_value(&writer, "k", &document, json_first(&document, json_top(&document)));
	json_put_value(&writer, "c", &document, json_member(&document, json_top(&document), "c"));
	json_close_object(&writer);
	buffer_append(&out, "", 1);
	cr_assert_str_eq(out.bytes, "{\"k\":{\"b\":1,\"b\\u0000\":[2]},\"c\":3}");
	buffer_done(&out);
	json_done(&document);
}

Test(json_copy, copies_outlive_their_text)
{
	char *text = strdup("{\"skip\":[1,2],\"take\":{\"k\\u0031\":[\"v\\u0032\",{}]},\"end\":0}");
	struct json_document document;
	struct json_tree tree;

	cr_assert(text);
	cr_assert_eq(json_read(&document, text, strlen(text)), JSON_OK);
	json_tree_copy(&tree, &document, json_member(&document, json_top(&document), "take"));
	json_done(&document);
	memset(text, 'x', strlen(text));
	free(text);
	expect_written(&tree.document, json_top(&tree.document), "{\"k1\":[\"v2\",{}]}");
	cr_assert_not_null(json_member(&tree.document, json_top(&tree.document), "k1"));
	cr_assert_null(json_next(&tree.document, json_top(&tree.document)));
	json_tree_done(&tree);
}

/* As deep as a text may be: nothing recurses. */
Test(json_copy, depth)
{
	char text[2 * JSON_DEPTH_MAX + 1];
	struct json_document document;
	struct json_tree tree;
	char *wanted;

	memset(text, '[', JSON_DEPTH_MAX);
	memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
	text[sizeof(text) - 1] = '\0';
	wanted = strdup(text);
	cr_assert(wanted);
	cr_assert_eq(json_read(&document, text, strlen(text)), JSON_OK);
	json_tree_copy(&tree, &document, json_top(&document));
	expect_written(&tree.document, json_top(&tree.document), wanted);
	json_tree_done(&tree);
	json_done(&document);
	free(wanted);
}
