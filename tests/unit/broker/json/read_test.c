/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/read.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/core/message.h"

static struct json_document document;
static char *copy;

static enum json_error read_bytes(const char *text, size_t size)
{
	free(copy);
	copy = malloc(size + 1);
	cr_assert_not_null(copy);
	memcpy(copy, text, size);
	return json_read(&document, copy, size);
}

static enum json_error read_text(const char *text)
{
	return read_bytes(text, strlen(text));
}

static struct json_value *member(const char *key)
{
	return json_member(&document, json_top(&document), key);
}

Test(json_read, makes_a_tree)
{
	struct json_value *array, *v;

	cr_assert_eq(read_text(" {\"a\":[1,-2.5e3,true,false,null,{\"b\":\"c\"}],\"d\":{}}\t"),
		     JSON_OK);
	array = member("a");
	cr_assert(json_is(array, JSON_ARRAY));
	cr_assert_eq(array->count, 6);
	v = json_first(&document, array);
	cr_assert_eq(v->size, 1);
	v = json_next(&document, v);
	cr_assert_eq(v->size, 6);
	cr_assert_eq(memcmp(v->text, "-2.5e3", 6), 0);
	v = json_next(&document, v);
	cr_assert_eq(v->kind, JSON_TRUE);
	v = json_next(&document, v);
	cr_assert_eq(v->kind, JSON_FALSE);
	v = json_next(&document, v);
	cr_assert_eq(v->kind, JSON_NULL);
	v = json_next(&document, v);
	cr_assert(json_equals(json_member(&document, v, "b"), "c"));
	cr_assert_null(json_next(&document, v));
	cr_assert_null(json_first(&document, member("d")));
	cr_assert_null(member("x"));
	cr_assert_null(json_member(&document, NULL, "x"));
	json_done(&document);
}

Test(json_read, refuses_what_is_no_json)
{
	static const char *const texts[] = {
		"",
		"{",
		"}",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1,}",
		"[1,]",
		"[1 2]",
		"nul",
		"tru",
		"{} {}",
		"1 2",
		"01",
		"1.",
		".5",
		"+1",
		"1e",
		"-",
		"'a'",
		"\"a",
		"\"\\x\"",
		"\"\\u12\"",
		"\"\\ud83d\\u\"",
		"{a:1}",
		"// x\n1",
		"/* */ 1",
		"NaN",
		"Infinity",
		"\"a\tb\"",
		"\f1",
		"\v1",
		"\"\x01\"",
		"[",
		"]",
		"\"\\",
		"{\"a\":1 \"b\":2}",
		"\xef\xbb\xbf{}",
		"{}\"",
		"{}\"a",
		"{} \"a\\",
		"[]\"\\\"",
		"1 \"",
		"\"a\"\"",
		"null\"}",
		"{}\"\\u",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		cr_assert_eq(read_text(texts[i]), JSON_ERROR_SYNTAX, "%s", texts[i]);
		cr_assert_null(json_top(&document));
		json_done(&document);
	}
	cr_assert_eq(read_bytes("\"a\0b\"", 5), JSON_ERROR_SYNTAX);
	json_done(&document);
	cr_assert_eq(read_bytes("1\0", 2), JSON_ERROR_SYNTAX);
	json_done(&document);
}

Test(json_read, refuses_invalid_utf8)
{
	static const char *const texts[] = {
		"\"\xff\"",         "\"\xc0\xaf\"",         "\"\xe0\x80\x80\"",
		"\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xc3\"",
		"\"\x80\"",         "{\"\xfe\":1}",         "\xff",
		"\"\xf0\x9f\x98\"",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		cr_assert_eq(read_text(texts[i]), JSON_ERROR_UTF8, "%zu", i);
		json_done(&document);
	}
}

static void expect_string(const char *json, const char *bytes, size_t size, bool has_unpaired)
{
	struct json_value *value;

	cr_assert_eq(read_text(json), JSON_OK, "%s", json);
	value = json_top(&document);
	json_decode(value);
	cr_assert_eq(value->size, size, "%s: %u", json, value->size);
	cr_assert_eq(memcmp(value->text, bytes, size), 0, "%s", json);
	cr_assert_eq(value->has_unpaired, has_unpaired, "%s", json);
	json_done(&document);
}

Test(json_read, decodes_strings)
{
	expect_string("\"\"", "", 0, false);
	expect_string("\"plain \xc3\xa9\"", "plain \xc3\xa9", 8, false);
	expect_string("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8, false);
	expect_string("\"a\\u0041\\u00e9\\u20AC\"", "aA\xc3\xa9\xe2\x82\xac", 7, false);
	expect_string("\"\\ud83d\\ude00!\"", "\xf0\x9f\x98\x80!", 5, false);
	expect_string("\"x\\u0000y\"", "x\0y", 3, false);
	expect_string("\"\\\\\\\"\"", "\\\"", 2, false);
	expect_string("\"\\\\\"", "\\", 1, false);
}

Test(json_read, notes_unpaired_surrogates)
{
	expect_string("\"\\ud800\"", "\xed\xa0\x80", 3, true);
	expect_string("\"\\udc00x\"", "\xed\xb0\x80x", 4, true);
	expect_string("\"\\ud83d\\ud83d\\ude00\"", "\xed\xa0\xbd\xf0\x9f\x98\x80", 7, true);
	expect_string("\"\\ud800\\n\"", "\xed\xa0\x80\n", 4, true);
	expect_string("\"\\ud800A\"",
		      "\xed\xa0\x80"
		      "A",
		      4, true);
	expect_string("\"\\ud800\\u0041\"",
		      "\xed\xa0\x80"
		      "A",
		      4, true);
}

/* `count` arrays, one in the other, in the object's member "a". */
static enum json_error read_nested(int count)
{
	char *text = malloc(2 * (size_t)count + 64);
	size_t size = 0;
	enum json_error error;

	cr_assert_not_null(text);
	memcpy(text, "{\"a\":", 5);
	size += 5;
	memset(text + size, '[', (size_t)count);
	size += (size_t)count;
	memset(text + size, ']', (size_t)count);
	size += (size_t)count;
	memcpy(text + size, ",\"id\":7}", 8);
	size += 8;
	error = read_bytes(text, size);
	free(text);
	return error;
}

Test(json_read, bounds_the_depth)
{
	cr_assert_eq(read_nested(JSON_DEPTH_MAX - 1), JSON_OK);
	json_done(&document);
	cr_assert_eq(read_nested(JSON_DEPTH_MAX), JSON_ERROR_DEPTH);
	cr_assert(json_is(member("id"), JSON_NUMBER), "the id is still known");
	json_done(&document);
	cr_assert_eq(read_nested(200000), JSON_ERROR_DEPTH);
	cr_assert(json_is(member("id"), JSON_NUMBER));
	json_done(&document);
	/* unbalanced is no JSON, at whatever depth */
	char open[1000];
	memset(open, '[', sizeof(open));
	cr_assert_eq(read_bytes(open, sizeof(open)), JSON_ERROR_SYNTAX);
	json_done(&document);
}

Test(json_read, refuses_duplicate_keys)
{
	cr_assert_eq(read_text("{\"a\":1,\"b\":2,\"a\":3,\"id\":\"x\"}"), JSON_ERROR_DUPLICATE);
	cr_assert(json_equals(member("id"), "x"));
	json_done(&document);
	cr_assert_eq(read_text("{\"id\":4,\"p\":{\"k\":1,\"\\u006b\":2}}"), JSON_ERROR_DUPLICATE);
	cr_assert(json_is(member("id"), JSON_NUMBER));
	json_done(&document);
	cr_assert_eq(read_text("{\"id\":1,\"id\":2}"), JSON_ERROR_DUPLICATE);
	cr_assert(json_is(member("id"), JSON_NULL), "an id that came twice is none");
	json_done(&document);
	cr_assert_eq(read_text("{\"a\":1,\"a\":2,\"id\":1,\"id\":2,\"id\":3}"),
		     JSON_ERROR_DUPLICATE);
	cr_assert(json_is(member("id"), JSON_NULL));
	json_done(&document);
	cr_assert_eq(read_text("{\"\":1,\"\":2}"), JSON_ERROR_DUPLICATE);
	json_done(&document);
	/* the same key in different objects is fine */
	cr_assert_eq(read_text("[{\"a\":{\"a\":1}},{\"a\":2}]"), JSON_OK);
	json_done(&document);
}

Test(json_read, finds_a_duplicate_among_many)
{
	char *text = malloc(400000);
	size_t size = 1;

	cr_assert_not_null(text);
	text[0] = '{';
	for (int i = 0; i < 20000; i++)
		size += (size_t)snprintf(text + size, 32, "\"k%d\":%d,", i, i);
	memcpy(text + size, "\"z\":0}", 6);
	cr_assert_eq(read_bytes(text, size + 6), JSON_OK);
	json_done(&document);
	memcpy(text + size, "\"k77\":0}", 8);
	cr_assert_eq(read_bytes(text, size + 8), JSON_ERROR_DUPLICATE);
	json_done(&document);
	free(text);
}

Test(json_read, bounds_the_number_of_values)
{
	const size_t size = 2 * (size_t)JSON_VALUES_MAX;
	char *text = malloc(size + 32);

	cr_assert_not_null(text);
	for (size_t i = 0; i < size; i += 2)
		memcpy(text + i, "1,", 2);
	text[0] = '[';
	text[1] = ' ';
	text[size - 1] = ']';
	cr_assert_eq(read_bytes(text, size), JSON_OK); /* the array and its elements */
	cr_assert_eq(document.count, JSON_VALUES_MAX);
	json_done(&document);
	memcpy(text + size - 1, ",1]", 3);
	cr_assert_eq(read_bytes(text, size + 2), JSON_ERROR_VALUES);
	json_done(&document);
	memcpy(text, "{\"a\":[", 6);
	memcpy(text + size - 1, ",1,1,1],\"id\":5}", 15);
	cr_assert_eq(read_bytes(text, size + 14), JSON_ERROR_VALUES);
	cr_assert(json_is(member("id"), JSON_NUMBER));
	json_done(&document);
	free(text);
}

static bool read_integer(const char *text, int64_t *ret)
{
	bool is_integer;

	cr_assert_eq(read_text(text), JSON_OK, "%s", text);
	is_integer = json_integer(json_top(&document), ret);
	json_done(&document);
	return is_integer;
}

Test(json_read, integers_by_value)
{
	static const struct {
		const char *text;
		int64_t value;
	} integers[] = {
		{ "0", 0 },
		{ "-0", 0 },
		{ "0.0", 0 },
		{ "0e99999999999", 0 },
		{ "7", 7 },
		{ "-7", -7 },
		{ "1.0", 1 },
		{ "10.00", 10 },
		{ "1e3", 1000 },
		{ "12.5e1", 125 },
		{ "1000e-3", 1 },
		{ "9007199254740991", 9007199254740991 },
		{ "-9007199254740991", -9007199254740991 },
		{ "9007199254740991.000", 9007199254740991 },
		{ "0.00125E+5", 125 },
	};
	static const char *const others[] = {
		"1.5",
		"0.1",
		"1e400",
		"-1e400",
		"1e-1",
		"9007199254740993",
		"9007199254740992",
		"18446744073709551617",
		"1e16",
		"123456789012345678901234567890",
		"1e99999999999999999",
		"1e-99999999999999999",
	};
	int64_t value;

	for (size_t i = 0; i < sizeof(integers) / sizeof(integers[0]); i++) {
		cr_assert(read_integer(integers[i].text, &value), "%s", integers[i].text);
		cr_assert_eq(value, integers[i].value, "%s", integers[i].text);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		cr_assert_not(read_integer(others[i], &value), "%s", others[i]);
}

static struct rpc_id read_id(const char *text)
{
	struct rpc_id id = { 0 };

	cr_assert_eq(read_text(text), JSON_OK);
	cr_assert(rpc_id_read(json_top(&document), &id), "%s", text);
	json_done(&document);
	return id;
}

Test(json_read, ids_are_echoed_and_compared)
{
	static const char *const equal[][2] = {
		{ "1", "1.0" },
		{ "\"a\\u0041\"", "\"aA\"" },
		{ "10", "1e1" },
		{ "\"\"", "\"\"" },
	};
	static const char *const different[][2] = { { "1", "\"1\"" },
						    { "-1", "1" },
						    { "\"a\"", "\"b\"" } };

	for (size_t i = 0; i < sizeof(equal) / sizeof(equal[0]); i++) {
		struct rpc_id left = read_id(equal[i][0]), right = read_id(equal[i][1]);

		cr_assert_eq(left.raw.size, strlen(equal[i][0]));
		cr_assert_eq(memcmp(left.raw.bytes, equal[i][0], left.raw.size), 0);
		cr_assert(rpc_id_equals(&left, &right));
		rpc_id_done(&left);
		rpc_id_done(&right);
	}
	for (size_t i = 0; i < sizeof(different) / sizeof(different[0]); i++) {
		struct rpc_id left = read_id(different[i][0]), right = read_id(different[i][1]);

		cr_assert_not(rpc_id_equals(&left, &right));
		rpc_id_done(&left);
		rpc_id_done(&right);
	}
}
