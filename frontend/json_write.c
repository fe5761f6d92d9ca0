/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/json_write.h"

#include <inttypes.h>
#include <string.h>

#include "frontend/base64.h"
#include "frontend/utf8.h"

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

/* As \u escapes, of which a reader makes the same character. */
static void append_hidden(struct buffer *out, uint32_t code_point)
{
	const uint32_t rest = code_point - 0x10000;

	if (code_point < 0x10000)
		buffer_format(out, "\\u%04x", code_point);
	else
		buffer_format(out, "\\u%04x\\u%04x", 0xd800 | rest >> 10, 0xdc00 | (rest & 0x3ff));
}

static void append_wrong_byte(const struct json_writer *writer, unsigned char byte)
{
	if (writer->form == JSON_LINES)
		buffer_append_text(writer->out, "\xef\xbf\xbd");
	else
		buffer_format(writer->out, "\\\\x%02x", byte);
}

static bool is_plain(unsigned char byte)
{
	return byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\';
}

static void append_string(const struct json_writer *writer, const char *text, size_t size)
{
	struct buffer *out = writer->out;
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
			append_wrong_byte(writer, (unsigned char)text[at]);
		else if (length == 1)
			append_escaped(out, (unsigned char)text[at]);
		else if (writer->form == JSON_LINES && utf8_is_hidden(text + at, length))
			append_hidden(out, utf8_read(text + at, length));
		else
			buffer_append(out, text + at, length);
		at += length ? length : 1;
	}
	buffer_append(out, "\"", 1);
}

static void begin_line(const struct json_writer *writer)
{
	if (writer->form != JSON_LINES)
		return;
	buffer_append_text(writer->out, "\n");
	for (uint32_t i = 0; i < writer->depth; i++)
		buffer_append_text(writer->out, "  ");
}

/* Comma and line in front of a member or element. */
static void begin_item(const struct json_writer *writer)
{
	if (writer->needs_comma)
		buffer_append(writer->out, ",", 1);
	if (writer->depth > 0)
		begin_line(writer);
}

void json_put_key(struct json_writer *writer, const char *key, size_t size)
{
	begin_item(writer);
	append_string(writer, key, size);
	buffer_append_text(writer->out, writer->form == JSON_LINES ? ": " : ":");
	writer->needs_comma = false;
	writer->has_key = true;
}

static void begin_value(struct json_writer *writer, const char *key)
{
	if (writer->written)
		writer->written(writer);
	if (key)
		json_put_key(writer, key, strlen(key));
	else if (!writer->has_key)
		begin_item(writer);
	writer->has_key = false;
	writer->needs_comma = true;
}

static void open_with(struct json_writer *writer, const char *key, const char *bracket)
{
	begin_value(writer, key);
	buffer_append(writer->out, bracket, 1);
	writer->depth++;
	writer->needs_comma = false;
}

static void close_with(struct json_writer *writer, const char *bracket)
{
	writer->depth--;
	if (writer->needs_comma)
		begin_line(writer);
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

void json_put_string(struct json_writer *writer, const char *key, const void *text, size_t size)
{
	begin_value(writer, key);
	append_string(writer, text, size);
}

void json_put_text(struct json_writer *writer, const char *key, const char *text)
{
	json_put_string(writer, key, text, strlen(text));
}

void json_put_text_or_null(struct json_writer *writer, const char *key, const char *text)
{
	if (text[0])
		json_put_text(writer, key, text);
	else
		json_put_null(writer, key);
}

void json_put_base64(struct json_writer *writer, const char *key, const void *bytes, size_t size)
{
	begin_value(writer, key);
	buffer_append(writer->out, "\"", 1);
	base64_append(writer->out, bytes, size);
	buffer_append(writer->out, "\"", 1);
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

void json_put_null(struct json_writer *writer, const char *key)
{
	begin_value(writer, key);
	buffer_append_text(writer->out, "null");
}

void json_put_raw(struct json_writer *writer, const char *key, const char *raw, size_t size)
{
	begin_value(writer, key);
	buffer_append(writer->out, raw, size);
}
