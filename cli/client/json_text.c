/* SPDX-License-Identifier: Apache-2.0 */
#include "client/json_text.h"

#include <string.h>

#include "frontend/utf8.h"
#include "lib/heap/buffer.h"

#define DIGITS "0123456789"
#define HEX_DIGITS DIGITS "abcdefABCDEF"

/* A read that goes on at `at`. */
struct scan {
	const char *text;
	size_t size;
	size_t at;
	const char *fault; /* the first one */
};

/* The closing brackets of the containers around a value. */
struct nest {
	char closing[JSON_TEXT_DEPTH_MAX];
	size_t depth;
};

static bool fail_scan(struct scan *scan, const char *fault)
{
	if (!scan->fault)
		scan->fault = fault;
	return false;
}

/* A text that was cut off has neither a wrong key nor a wrong value. */
static bool fail_part(struct scan *scan, const char *fault)
{
	return fail_scan(scan, scan->at < scan->size ? fault : "an end before the last bracket");
}

/* Return the next byte, or NUL at the end; a NUL in the text is no part of JSON either. */
static char peek_byte(const struct scan *scan)
{
	return scan->at < scan->size ? scan->text[scan->at] : '\0';
}

static bool take_byte(struct scan *scan, char byte)
{
	if (scan->at >= scan->size || scan->text[scan->at] != byte)
		return false;
	scan->at++;
	return true;
}

static bool is_one_of(char byte, const char *bytes)
{
	return byte != '\0' && strchr(bytes, byte);
}

static void skip_space(struct scan *scan)
{
	while (is_one_of(peek_byte(scan), " \t\r\n"))
		scan->at++;
}

/* Return the number of the bytes taken, all of them among `bytes`. */
static size_t take_all(struct scan *scan, const char *bytes)
{
	const size_t from = scan->at;

	while (is_one_of(peek_byte(scan), bytes))
		scan->at++;
	return scan->at - from;
}

static bool take_escape(struct scan *scan)
{
	if (take_byte(scan, 'u')) {
		for (int i = 0; i < 4; i++) {
			if (!is_one_of(peek_byte(scan), HEX_DIGITS))
				return fail_scan(scan, "an escape that JSON does not have");
			scan->at++;
		}
		return true;
	}
	if (!is_one_of(peek_byte(scan), "\"\\/bfnrt"))
		return fail_scan(scan, "an escape that JSON does not have");
	scan->at++;
	return true;
}

static bool take_string(struct scan *scan, struct json_span *ret)
{
	const size_t from = ++scan->at;
	size_t length;

	while (!take_byte(scan, '"')) {
		if (scan->at >= scan->size)
			return fail_scan(scan, "a string without its end");
		if ((unsigned char)peek_byte(scan) < ' ')
			return fail_scan(scan, "a line end or control character in a string");
		if (take_byte(scan, '\\')) {
			if (!take_escape(scan))
				return false;
			continue;
		}
		length = utf8_length(scan->text + scan->at, scan->size - scan->at);
		if (length == 0)
			return fail_scan(scan, "a byte that is not UTF-8");
		scan->at += length;
	}
	*ret = (struct json_span){ from, scan->at - 1 - from };
	return true;
}

static bool take_number(struct scan *scan)
{
	(void)take_byte(scan, '-');
	if (!take_byte(scan, '0') && take_all(scan, DIGITS) == 0)
		return fail_part(scan, "something that is no value");
	if (take_byte(scan, '.') && take_all(scan, DIGITS) == 0)
		return fail_scan(scan, "a number that is not complete");
	if (take_byte(scan, 'e') || take_byte(scan, 'E')) {
		if (!take_byte(scan, '-'))
			(void)take_byte(scan, '+');
		if (take_all(scan, DIGITS) == 0)
			return fail_scan(scan, "a number that is not complete");
	}
	return true;
}

static bool take_scalar(struct scan *scan)
{
	static const char *const words[] = { "true", "false", "null" };
	struct json_span inside;

	if (peek_byte(scan) == '"')
		return take_string(scan, &inside);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const size_t size = strlen(words[i]);

		if (scan->size - scan->at >= size &&
		    memcmp(scan->text + scan->at, words[i], size) == 0) {
			scan->at += size;
			return true;
		}
	}
	if (peek_byte(scan) == '/' || peek_byte(scan) == '#')
		return fail_scan(scan, "a comment, which JSON does not have");
	if (is_one_of(peek_byte(scan), "]}"))
		return fail_scan(scan, "a comma without a value behind it");
	return take_number(scan);
}

static bool take_key(struct scan *scan, struct json_span *ret)
{
	skip_space(scan);
	if (peek_byte(scan) == '/')
		return fail_scan(scan, "a comment, which JSON does not have");
	if (peek_byte(scan) == '}')
		return fail_scan(scan, "a comma without a value behind it");
	if (peek_byte(scan) != '"')
		return fail_part(scan, "a key without quotes");
	if (!take_string(scan, ret))
		return false;
	skip_space(scan);
	return take_byte(scan, ':') || fail_scan(scan, "a key without ':' behind it");
}

/* Take the closing brackets behind a value, and the comma before the next one. */
static bool take_ends(struct scan *scan, struct nest *nest)
{
	while (nest->depth > 0) {
		skip_space(scan);
		if (take_byte(scan, nest->closing[nest->depth - 1])) {
			nest->depth--;
			continue;
		}
		if (peek_byte(scan) == '/')
			return fail_scan(scan, "a comment, which JSON does not have");
		return take_byte(scan, ',') ||
		       fail_scan(scan, "a missing comma or closing bracket");
	}
	return true;
}

/* Take an opening bracket. */
static bool take_opening(struct scan *scan, struct nest *nest)
{
	const char closing = peek_byte(scan) == '{' ? '}' : ']';

	if (nest->depth == JSON_TEXT_DEPTH_MAX)
		return fail_scan(scan, "too many brackets inside one another");
	scan->at++;
	nest->closing[nest->depth++] = closing;
	return true;
}

static bool take_value(struct scan *scan)
{
	struct nest nest = { .depth = 0 };
	struct json_span key;

	do {
		if (nest.depth > 0 && nest.closing[nest.depth - 1] == '}' && !take_key(scan, &key))
			return false;
		skip_space(scan);
		if (is_one_of(peek_byte(scan), "{[")) {
			if (!take_opening(scan, &nest))
				return false;
			skip_space(scan);
			if (peek_byte(scan) != nest.closing[nest.depth - 1])
				continue;
		} else if (!take_scalar(scan)) {
			return false;
		}
		if (!take_ends(scan, &nest))
			return false;
	} while (nest.depth > 0);
	return true;
}

static size_t count_line(const char *text, size_t at)
{
	size_t line = 1;

	for (size_t i = 0; i < at; i++)
		line += text[i] == '\n';
	return line;
}

const char *json_text_check(const char *text, size_t size, struct json_span *ret, size_t *ret_line)
{
	struct scan scan = { .text = text, .size = size };

	skip_space(&scan);
	ret->at = scan.at;
	if (take_value(&scan)) {
		ret->size = scan.at - ret->at;
		skip_space(&scan);
		if (peek_byte(&scan) == '/')
			(void)fail_scan(&scan, "a comment, which JSON does not have");
		else if (scan.at < size)
			(void)fail_scan(&scan, "text behind the end");
	}
	if (scan.fault)
		*ret_line = count_line(text, scan.at < size ? scan.at : size);
	return scan.fault;
}

bool json_text_next(const char *text, const struct json_span *container, size_t *at,
		    struct json_item *ret)
{
	struct scan scan = { .text = text, .size = container->at + container->size };

	scan.at = *at ? *at : container->at + 1;
	skip_space(&scan);
	(void)take_byte(&scan, ',');
	skip_space(&scan);
	ret->key = (struct json_span){ scan.at, 0 };
	if (is_one_of(peek_byte(&scan), "}]") ||
	    (text[container->at] == '{' && !take_key(&scan, &ret->key)))
		return false;
	skip_space(&scan);
	ret->value.at = scan.at;
	if (!take_value(&scan))
		return false;
	ret->value.size = scan.at - ret->value.at;
	*at = scan.at;
	return true;
}

size_t json_text_find(const char *text, const struct json_span *object, const char *name,
		      struct json_item *ret)
{
	struct json_item item;
	size_t count = 0;
	size_t at = 0;

	while (json_text_next(text, object, &at, &item)) {
		if (!json_text_is(text, &item.key, name))
			continue;
		*ret = item;
		count++;
	}
	return count;
}

static unsigned int hex_value(char digit)
{
	return (unsigned int)(digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
}

bool json_text_is(const char *text, const struct json_span *key, const char *wanted)
{
	const char *from = text + key->at;
	const char *end = from + key->size;

	for (; from < end; wanted++) {
		unsigned int code = (unsigned char)*from++;

		if (code == '\\' && *from == 'u') {
			code = 0;
			for (int i = 1; i <= 4; i++)
				code = code << 4 | hex_value(from[i]);
			from += 5;
		} else if (code == '\\' && is_one_of(*from, "\"\\/")) {
			code = (unsigned char)*from++;
		}
		if (code != (unsigned char)*wanted || code == 0)
			return false;
	}
	return *wanted == '\0';
}

/* Append a value without the white space between its tokens. */
static void append_tokens(struct buffer *out, const char *text, const struct json_span *value)
{
	struct scan scan = { .text = text, .at = value->at, .size = value->at + value->size };
	struct json_span inside;

	for (skip_space(&scan); scan.at < scan.size; skip_space(&scan)) {
		const size_t from = scan.at;

		if (peek_byte(&scan) != '"' || !take_string(&scan, &inside))
			scan.at = from + 1;
		buffer_append(out, text + from, scan.at - from);
	}
}

bool json_text_equal(const char *text, const struct json_span *value, const char *other,
		     const struct json_span *other_value)
{
	struct buffer one = { 0 };
	struct buffer two = { 0 };
	bool is_equal;

	append_tokens(&one, text, value);
	append_tokens(&two, other, other_value);
	is_equal = one.size == two.size &&
		   (one.size == 0 || memcmp(one.bytes, two.bytes, one.size) == 0);
	buffer_done(&one);
	buffer_done(&two);
	return is_equal;
}
