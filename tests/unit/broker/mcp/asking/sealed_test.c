/* SPDX-License-Identifier: Apache-2.0
 *
 * What clients keep for us, sealed: the seal, and the state of a request in it.
 */

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/asking/ask_state.h"

static struct sealed_key key;

static void make_key(void)
{
	sealed_key_make(&key);
}

TestSuite(mcp_sealed, .init = make_key);

static void expect_closed(const struct sealed_key *with, const char *text, size_t size)
{
	struct buffer plain = { 0 };

	cr_assert_not(sealed_open(with, text, size, &plain), "%.*s", (int)size, text);
	cr_assert_eq(plain.size, 0);
	buffer_done(&plain);
}

static struct buffer seal(const char *bytes, size_t size)
{
	struct buffer plain = { 0 }, text = { 0 };

	buffer_append(&plain, bytes, size);
	sealed_close(&key, &plain, &text);
	buffer_done(&plain);
	return text;
}

Test(mcp_sealed, what_was_sealed_can_be_opened)
{
	static const char secret[] = "a\0secret\xff";

	for (size_t size = 0; size < sizeof(secret); size++) {
		struct buffer text = seal(secret, size), plain = { 0 };

		for (size_t i = 0; i < text.size; i++)
			cr_assert(strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					 "0123456789-_",
					 text.bytes[i]));
		cr_assert(sealed_open(&key, text.bytes, text.size, &plain));
		cr_assert_eq(plain.size, size);
		cr_assert(size == 0 || memcmp(plain.bytes, secret, size) == 0);
		buffer_done(&text);
		buffer_done(&plain);
	}
}

Test(mcp_sealed, the_same_never_looks_the_same)
{
	struct buffer one = seal("x", 1), two = seal("x", 1);

	cr_assert_eq(one.size, two.size);
	cr_assert_neq(memcmp(one.bytes, two.bytes, one.size), 0);
	buffer_done(&one);
	buffer_done(&two);
}

Test(mcp_sealed, nothing_but_the_whole_text_opens)
{
	static const char other[] = "A-_.=+/ \n\"z9";
	struct buffer text = seal("secret", 6);
	char *changed = malloc(text.size + 1);

	cr_assert(changed);
	for (size_t i = 0; i < text.size; i++) { /* every bit of every character */
		for (int bit = 0; bit < 8; bit++) {
			memcpy(changed, text.bytes, text.size);
			changed[i] = (char)(changed[i] ^ (1 << bit));
			expect_closed(&key, changed, text.size);
		}
	}
	for (size_t size = 0; size < text.size; size++)
		expect_closed(&key, text.bytes, size);
	for (const char *c = other; *c; c++) {
		memcpy(changed, text.bytes, text.size);
		changed[text.size] = *c;
		expect_closed(&key, changed, text.size + 1);
	}
	free(changed);
	buffer_done(&text);
}

Test(mcp_sealed, another_process_cannot_open_it)
{
	struct buffer text = seal("secret", 6);
	struct sealed_key other;

	sealed_key_make(&other);
	expect_closed(&other, text.bytes, text.size);
	buffer_done(&text);
}

static struct json_value text_value(const struct buffer *text)
{
	return (struct json_value){ .kind = JSON_STRING,
				    .text = text->bytes,
				    .size = (uint32_t)text->size };
}

/* The origin of a request for `name` with these arguments, "" for none. */
static struct ask_origin origin_of(uint32_t principal, const char *method, const char *name,
				   const char *arguments)
{
	char *name_copy = strdup(name), *copy = strdup(arguments);
	const struct json_value value = { .kind = JSON_STRING,
					  .text = name_copy,
					  .size = (uint32_t)strlen(name) };
	struct json_document document = { 0 };
	struct ask_origin origin;

	cr_assert(name_copy && copy);
	if (copy[0])
		cr_assert_eq(json_read(&document, copy, strlen(copy)), JSON_OK);
	ask_origin_make(&origin, principal, method, &value, &document, json_top(&document));
	json_done(&document);
	free(copy);
	free(name_copy);
	return origin;
}

static struct buffer close_state(const struct ask_origin *origin, const char *inputs_text)
{
	struct ask_state state = { .round = 3 };
	struct buffer inputs = { 0 }, text = { 0 };

	buffer_append(&state.kept, "k\0pt", 4);
	buffer_append_text(&inputs, inputs_text);
	ask_state_close(&key, origin, 1000, &state, &inputs, &text);
	buffer_done(&inputs);
	buffer_done(&state.kept);
	return text;
}

Test(mcp_sealed, a_state_comes_back_as_it_was)
{
	const struct ask_origin origin = origin_of(2, "tools/call", "t", "{\"a\":[1]}");
	struct buffer text = close_state(&origin, "{\"k\":{\"v\":[1,\"x\"]}}");
	const struct json_value value = text_value(&text);
	struct ask_state state;
	struct json_value *k;

	cr_assert_null(ask_state_open(&key, &origin, 1000, &value, &state));
	cr_assert_eq(state.round, 3);
	cr_assert_eq(state.kept.size, 4);
	cr_assert_eq(memcmp(state.kept.bytes, "k\0pt", 4), 0);
	k = json_member(&state.tree.document, state.inputs, "k");
	cr_assert_eq(json_member(&state.tree.document, k, "v")->count, 2);
	ask_state_done(&state);
	buffer_done(&text);
}

static void expect_refused(const struct ask_origin *origin, int64_t now_ms,
			   const struct buffer *text, const char *part)
{
	const struct json_value value = text_value(text);
	struct ask_state state;
	const char *problem = ask_state_open(&key, origin, now_ms, &value, &state);

	cr_assert_not_null(problem);
	cr_assert_not_null(strstr(problem, part), "%s", problem);
	cr_assert_null(state.inputs);
}

Test(mcp_sealed, a_state_expires)
{
	const struct ask_origin origin = origin_of(0, "tools/call", "t", "");
	struct buffer text = close_state(&origin, "{}");
	const struct json_value value = text_value(&text);
	struct ask_state state;

	cr_assert_null(ask_state_open(&key, &origin, 1000 + ASK_STATE_MS, &value, &state));
	ask_state_done(&state);
	expect_refused(&origin, 1000 + ASK_STATE_MS + 1, &text, "has expired");
	buffer_done(&text);
}

Test(mcp_sealed, a_state_is_its_requests_own)
{
	static const struct {
		const char *method, *name, *arguments;
	} others[] = {
		{ "prompts/get", "t", "{\"a\":[1,\"b\"]}" },
		{ "tools/call", "T", "{\"a\":[1,\"b\"]}" },
		{ "tools/call", "t", "" },
		{ "tools/call", "t", "{}" },
		{ "tools/call", "t", "{\"a\":[1],\"b\":\"\"}" },
		{ "tools/call", "t", "{\"a\":[1,\"c\"]}" },
		{ "tools/call", "t", "{\"a\":[\"1\",\"b\"]}" },
		{ "tools/call", "t", "{\"a\":[1,[\"b\"]]}" },
		{ "tools/call", "t", "{\"a\":{\"1\":\"b\"}}" },
		{ "tools/call", "t", "{\"a\":[1,\"b\",null]}" },
		{ "tools/call", "t", "{\"a1\":[\"b\"]}" },
	};
	const struct ask_origin origin = origin_of(1, "tools/call", "t", "{\"a\":[1,\"b\"]}");
	const struct ask_origin foreign = origin_of(2, "tools/call", "t", "{\"a\":[1,\"b\"]}");
	const struct ask_origin same =
		origin_of(1, "tools/call", "t", " { \"\\u0061\" : [ 1 , \"\\u0062\" ] } ");
	struct buffer text = close_state(&origin, "{}");
	const struct json_value value = text_value(&text);
	struct ask_state state;

	cr_assert_null(ask_state_open(&key, &same, 1000, &value, &state));
	ask_state_done(&state);
	expect_refused(&foreign, 1000, &text, "given to another client");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		const struct ask_origin other =
			origin_of(1, others[i].method, others[i].name, others[i].arguments);

		expect_refused(&other, 1000, &text, "belongs to another request");
	}
	buffer_done(&text);
}

Test(mcp_sealed, no_arguments_are_an_empty_object)
{
	const struct ask_origin none = origin_of(1, "tools/call", "t", "");
	const struct ask_origin empty = origin_of(1, "tools/call", "t", "{}");

	cr_assert_eq(memcmp(&none, &empty, sizeof(none)), 0);
}
