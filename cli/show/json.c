/* SPDX-License-Identifier: Apache-2.0 */
#include "show/json.h"

#include <string.h>

#include "common/fd.h"
#include "frontend/utf8.h"
#include "show/format.h"

static void flush_json(struct json *json)
{
	if (!json->error)
		json->error = fd_write_all(json->fd, json->buffer, json->used);
	json->used = 0;
}

static void put_bytes(struct json *json, const void *bytes, size_t size)
{
	const char *from = bytes;

	while (size > 0) {
		size_t part = sizeof(json->buffer) - json->used;

		if (part > size)
			part = size;
		memcpy(json->buffer + json->used, from, part);
		json->used += part;
		from += part;
		size -= part;
		if (json->used == sizeof(json->buffer))
			flush_json(json);
	}
}

static void put_text(struct json *json, const char *text)
{
	put_bytes(json, text, strlen(text));
}

static void put_character(struct json *json, unsigned char c)
{
	char escape[8];

	if (c == '"' || c == '\\')
		format_text(escape, sizeof(escape), "\\%c", c);
	else if (c == '\n')
		format_text(escape, sizeof(escape), "\\n");
	else if (c == '\t')
		format_text(escape, sizeof(escape), "\\t");
	else
		format_text(escape, sizeof(escape), "\\u%04x", c);
	put_text(json, escape);
}

/* As \u escapes, of which a reader makes the same character. */
static void put_hidden(struct json *json, uint32_t code_point)
{
	const uint32_t rest = code_point - 0x10000;
	char escape[16];

	if (code_point < 0x10000)
		format_text(escape, sizeof(escape), "\\u%04x", code_point);
	else
		format_text(escape, sizeof(escape), "\\u%04x\\u%04x", 0xd800 | rest >> 10,
			    0xdc00 | (rest & 0x3ff));
	put_text(json, escape);
}

static bool is_plain(unsigned char c)
{
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

static void put_escaped(struct json *json, const uint8_t *bytes, size_t size)
{
	size_t at = 0;

	while (at < size) {
		size_t run = 0;
		size_t sequence;

		while (at + run < size && is_plain(bytes[at + run]))
			run++;
		put_bytes(json, bytes + at, run);
		at += run;
		if (at == size)
			break;
		sequence = utf8_length((const char *)bytes + at, size - at);
		if (sequence > 1 && utf8_is_hidden((const char *)bytes + at, sequence))
			put_hidden(json, utf8_read((const char *)bytes + at, sequence));
		else if (sequence > 1)
			put_bytes(json, bytes + at, sequence);
		else if (sequence == 1)
			put_character(json, bytes[at]);
		else
			put_text(json, "\xef\xbf\xbd");
		at += sequence > 0 ? sequence : 1;
	}
}

static void new_line(struct json *json)
{
	put_text(json, "\n");
	for (uint32_t i = 0; i < json->depth; i++)
		put_text(json, "  ");
}

/* Comma, line and name in front of a value. */
static void lead_in(struct json *json, const char *name)
{
	if (json->needs_comma)
		put_text(json, ",");
	if (json->depth > 0)
		new_line(json);
	if (name) {
		put_text(json, "\"");
		put_escaped(json, (const uint8_t *)name, strlen(name));
		put_text(json, "\": ");
	}
	json->needs_comma = true;
}

static void begin_list(struct json *json, const char *name, const char *bracket)
{
	lead_in(json, name);
	put_text(json, bracket);
	json->depth++;
	json->needs_comma = false;
}

static void end_list(struct json *json, const char *bracket)
{
	json->depth--;
	if (json->needs_comma)
		new_line(json);
	put_text(json, bracket);
	json->needs_comma = true;
}

void json_init(struct json *json, int fd)
{
	json->fd = fd;
	json->error = 0;
	json->needs_comma = false;
	json->depth = 0;
	json->used = 0;
}

int json_finish(struct json *json)
{
	put_text(json, "\n");
	flush_json(json);
	return json->error;
}

void json_object(struct json *json, const char *name)
{
	begin_list(json, name, "{");
}

void json_object_end(struct json *json)
{
	end_list(json, "}");
}

void json_array(struct json *json, const char *name)
{
	begin_list(json, name, "[");
}

void json_array_end(struct json *json)
{
	end_list(json, "]");
}

void json_string_sized(struct json *json, const char *name, const void *text, size_t size)
{
	lead_in(json, name);
	put_text(json, "\"");
	put_escaped(json, text, size);
	put_text(json, "\"");
}

void json_string(struct json *json, const char *name, const char *text)
{
	json_string_sized(json, name, text, strlen(text));
}

void json_string_parts(struct json *json, const char *name, const uint8_t *const parts[2],
		       const size_t sizes[2])
{
	lead_in(json, name);
	put_text(json, "\"");
	put_escaped(json, parts[0], sizes[0]);
	put_escaped(json, parts[1], sizes[1]);
	put_text(json, "\"");
}

/* One to three bytes as four digits. */
static void put_base64_group(struct json *json, const uint8_t group[3], size_t count)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint32_t bits = (uint32_t)group[0] << 16 | (uint32_t)group[1] << 8 | group[2];
	const char text[4] = { digits[bits >> 18], digits[bits >> 12 & 63],
			       count > 1 ? digits[bits >> 6 & 63] : '=',
			       count > 2 ? digits[bits & 63] : '=' };

	put_bytes(json, text, sizeof(text));
}

void json_base64(struct json *json, const char *name, const uint8_t *const parts[2],
		 const size_t sizes[2])
{
	uint8_t group[3] = { 0 };
	size_t count = 0;

	lead_in(json, name);
	put_text(json, "\"");
	for (int part = 0; part < 2; part++) {
		for (size_t i = 0; i < sizes[part]; i++) {
			group[count++] = parts[part][i];
			if (count < 3)
				continue;
			put_base64_group(json, group, count);
			memset(group, 0, sizeof(group));
			count = 0;
		}
	}
	if (count > 0)
		put_base64_group(json, group, count);
	put_text(json, "\"");
}

void json_number(struct json *json, const char *name, uint64_t number)
{
	char text[24];

	lead_in(json, name);
	format_text(text, sizeof(text), "%llu", (unsigned long long)number);
	put_text(json, text);
}

void json_bool(struct json *json, const char *name, bool is_true)
{
	lead_in(json, name);
	put_text(json, is_true ? "true" : "false");
}

void json_null(struct json *json, const char *name)
{
	lead_in(json, name);
	put_text(json, "null");
}
