/* SPDX-License-Identifier: Apache-2.0 */
#include "json/write.h"

#include <inttypes.h>
#include <string.h>

#include "frontend/utf8.h"

static void append_string(struct buffer *out, const char *text, size_t size);

void json_put_key(struct json_writer *writer, const char *key, size_t size)
{
	if (writer->needs_comma)
		buffer_append(writer->out, ",", 1);
	append_string(writer->out, key, size);
	buffer_append(writer->out, ":", 1);
	writer->needs_comma = false;
}

static void begin_value(struct json_writer *writer, const char *key)
{
	if (key)
		json_put_key(writer, key, strlen(key));
	else if (writer->needs_comma)
		buffer_append(writer->out, ",", 1);
	writer->needs_comma = true;
}

static void open_with(struct json_writer *writer, const char *key, const char *bracket)
{
	begin_value(writer, key);
	buffer_append(writer->out, bracket, 1);
	writer->needs_comma = false;
}

static void close_with(struct json_writer *writer, const char *bracket)
{
	buffer_append(writer->out, bracket, 1);
	writer->needs_comma = true;
}

void json_open_object(struct json_writer *writer, const char *key)
{
	open_with(writer, key, "{");
}

void json_close_object(struct json_writer *writer)
{
	close_with(writer, "}");
}

void json_open_array(struct json_writer *writer, const char *key)
{
	open_with(writer, key, "[");
}

void json_close_array(struct json_writer *writer)
{
	close_with(writer, "]");
}

static void append_escaped(struct buffer *out, unsigned char byte)
{
	static const char names[] = "\b\f\n\r\t\"\\";
	static const char letters[] = "bfnrt\"\\";
	const char *name = byte ? strchr(names, byte) : NULL;
	char escape[2] = { '\\' };

	if (name) {
		escape[1] = letters[name - names];
		buffer_append(out, escape, sizeof(escape));
	} else {
		buffer_format(out, "\\u%04x", byte);
	}
}

static bool is_plain(unsigned char byte)
{
	return byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\';
}

static void append_string(struct buffer *out, const char *text, size_t size)
{
	size_t at = 0;

	buffer_append(out, "\"", 1);
	while (at < size) {
		size_t end = at;

		while (end < size && is_plain((unsigned char)text[end]))
			end++;
		buffer_append(out, text + at, end - at);
		at = end;
		if (at == size)
			break;
		const size_t length = utf8_length(text + at, size - at);
		if (length == 0)
			buffer_format(out, "\\\\x%02x", (unsigned char)text[at]);
		else if (length == 1)
			append_escaped(out, (unsigned char)text[at]);
		else
			buffer_append(out, text + at, length);
		at += length ? length : 1;
	}
	buffer_append(out, "\"", 1);
}

void json_put_string(struct json_writer *writer, const char *key, const char *text, size_t size)
{
	begin_value(writer, key);
	append_string(writer->out, text, size);
}

void json_put_text(struct json_writer *writer, const char *key, const char *text)
{
	json_put_string(writer, key, text, strlen(text));
}

static void append_number(struct buffer *out, uint64_t number)
{
	char digits[20]; /* digits of 2^64 */
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	buffer_append(out, digits + at, sizeof(digits) - at);
}

void json_put_number(struct json_writer *writer, const char *key, uint64_t number)
{
	begin_value(writer, key);
	append_number(writer->out, number);
}

void json_put_signed(struct json_writer *writer, const char *key, int64_t number)
{
	begin_value(writer, key);
	buffer_format(writer->out, "%" PRId64, number);
}

void json_put_double(struct json_writer *writer, const char *key, double number)
{
	begin_value(writer, key);
	buffer_format(writer->out, "%.15g", number);
}

void json_put_bool(struct json_writer *writer, const char *key, bool value)
{
	begin_value(writer, key);
	buffer_append_text(writer->out, value ? "true" : "false");
}

void json_put_raw(struct json_writer *writer, const char *key, const char *raw, size_t size)
{
	begin_value(writer, key);
	buffer_append(writer->out, raw, size);
}
