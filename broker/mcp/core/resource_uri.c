/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/resource_uri.h"

#include <string.h>

#include "frontend/utf8.h"
#include "lib/heap/memory.h"

static const char hex_digits[] = "0123456789ABCDEF";

static bool is_unreserved(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Return true if a value of the variable behind this '{' may contain '/'. */
static bool has_slashes(const char *brace)
{
	return brace[1] == '+';
}

/* Decode one byte of a value at `uri`; return how many characters it took, 0: none. */
static size_t decode_byte(const char *uri, size_t size, bool slashes, char *ret)
{
	if (size > 0 && (is_unreserved(uri[0]) || (slashes && uri[0] == '/'))) {
		*ret = uri[0];
		return 1;
	}
	if (size < 3 || uri[0] != '%' || hex_digit(uri[1]) < 0 || hex_digit(uri[2]) < 0)
		return 0;
	*ret = (char)(hex_digit(uri[1]) * 16 + hex_digit(uri[2]));
	return 3;
}

/* Decode the value at the beginning of `uri`; return how many characters it took, 0: no valid
 * one. */
static size_t take_value(const char *uri, size_t size, bool slashes, char ret[RESOURCE_VALUE_MAX])
{
	size_t at = 0, length = 0, step;
	char byte = '\0';

	while ((step = decode_byte(uri + at, size - at, slashes, &byte)) > 0) {
		if (length == RESOURCE_VALUE_MAX - 1 || byte == '\0')
			return 0;
		ret[length++] = byte;
		at += step;
	}
	ret[length] = '\0';
	return utf8_is_valid(ret, length) ? at : 0;
}

/* Return the text behind the '}' of the variable whose name begins at `name`. */
static const char *behind_variable(const char *name)
{
	const char *end = strchr(name, '}');

	if (!end)
		bug("a template without an end");
	return end + 1;
}

bool resource_uri_match(const char *uri_template, const char *uri, size_t size,
			struct resource_values *ret)
{
	size_t variable = 0, at = 0;

	memset(ret, 0, sizeof(*ret));
	for (const char *t = uri_template; *t;) {
		if (*t == '{') {
			const size_t length = take_value(uri + at, size - at, has_slashes(t),
							 ret->value[variable]);

			if (length == 0)
				return false;
			at += length;
			variable++;
			t = behind_variable(t);
		} else {
			if (at == size || uri[at] != *t)
				return false;
			at++;
			t++;
		}
	}
	return at == size;
}

static void append_value(const char *value, bool slashes, struct buffer *ret)
{
	for (; *value; value++) {
		const unsigned char byte = (unsigned char)*value;
		const char encoded[3] = { '%', hex_digits[byte >> 4], hex_digits[byte & 15] };

		if (is_unreserved(*value) || (slashes && *value == '/'))
			buffer_append(ret, value, 1);
		else
			buffer_append(ret, encoded, sizeof(encoded));
	}
}

void resource_uri_expand(const char *uri_template, const struct resource_values *values,
			 struct buffer *ret)
{
	size_t variable = 0;

	for (const char *t = uri_template; *t;) {
		if (*t == '{') {
			append_value(values->value[variable++], has_slashes(t), ret);
			t = behind_variable(t);
		} else {
			buffer_append(ret, t++, 1);
		}
	}
}

int resource_uri_find(const char *uri_template, const char *name, size_t size)
{
	int place = 0;

	for (const char *t = strchr(uri_template, '{'); t; t = strchr(t, '{')) {
		const char *first = t + 1 + has_slashes(t);
		const char *end = behind_variable(t) - 1;

		if ((size_t)(end - first) == size && memcmp(first, name, size) == 0)
			return place;
		place++;
		t = end;
	}
	return -1;
}

bool resource_uri_has_variables(const char *uri_template)
{
	return strchr(uri_template, '{') != NULL;
}
