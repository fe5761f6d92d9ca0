/* SPDX-License-Identifier: Apache-2.0 */
#include "line.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/ipc/ipc_audit.h"

/* An overflow is a bug: a full set of longest fields fits. */
__attribute__((format(printf, 2, 3))) static void add_format(struct audit_line *line,
							     const char *format, ...)
{
	const size_t room = sizeof(line->bytes) - line->used;
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vsnprintf(line->bytes + line->used, room, format, arguments);
	va_end(arguments);
	if (size < 0 || (size_t)size >= room)
		abort();
	line->used += (size_t)size;
}

static bool is_plain(uint8_t byte)
{
	return byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\';
}

/* A reader need not know of escapes: a byte that would need one becomes a '?'. */
static void add_text(struct audit_line *line, const char *key, const uint8_t *bytes, size_t size)
{
	char text[IPC_AUDIT_TEXT_MAX + 1];

	for (size_t i = 0; i < size; i++)
		text[i] = is_plain(bytes[i]) ? (char)bytes[i] : '?';
	text[size] = '\0';
	add_format(line, ",\"%s\":\"%s\"", key, text);
}

static void add_hash(struct audit_line *line, const char *key, const uint8_t *hash)
{
	char text[AUDIT_HASH_MAX];

	sha256_text(hash, text);
	add_format(line, ",\"%s\":\"%s\"", key, text);
}

/* Add the arguments as a list of strings. A byte that is not plain becomes \u00 and two digits: no
 * byte is lost, and none is more than a part of its argument. */
static void add_command(struct audit_line *line, const char *key, const uint8_t *argv, size_t size)
{
	add_format(line, ",\"%s\":[\"", key);
	for (size_t i = 0; i < size; i++) {
		if (is_plain(argv[i]))
			add_format(line, "%c", argv[i]);
		else if (argv[i] != '\0')
			add_format(line, "\\u%04x", argv[i]);
		else if (i + 1 < size)
			add_format(line, "\",\"");
	}
	add_format(line, "\"]");
}

/* Return the size of the field's text. */
static size_t add_field(struct audit_line *line, const struct ipc_audit_field *field,
			const uint8_t *text)
{
	const char *key = audit_key_name(field->key);

	if (field->kind == AUDIT_KIND_NUMBER) {
		add_format(line, ",\"%s\":%" PRIu64, key, field->value);
		return 0;
	}
	if (field->kind == AUDIT_KIND_SHA256)
		add_hash(line, key, text);
	else if (field->kind == AUDIT_KIND_COMMAND)
		add_command(line, key, text, field->value);
	else
		add_text(line, key, text, field->value);
	return field->value;
}

void audit_line_write(struct audit_line *line, const struct audit_stamp *stamp,
		      const struct ipc_audit_record *record, const char previous[AUDIT_HASH_MAX],
		      char ret_hash[AUDIT_HASH_MAX])
{
	const uint8_t *text = record->texts;

	line->used = 0;
	add_format(line,
		   "{\"seq\":%" PRIu64 ",\"time_us\":%" PRIu64 ",\"pid\":%" PRIu32
		   ",\"event\":\"%s\"",
		   stamp->seq, stamp->time_us, stamp->pid, audit_event_name(record->event));
	for (uint32_t i = 0; i < record->field_count; i++)
		text += add_field(line, &record->fields[i], text);
	if (stamp->lost > 0)
		add_format(line, ",\"%s\":%" PRIu64, audit_key_name(AUDIT_KEY_lost), stamp->lost);
	/* The last quote is the last byte that is hashed. */
	add_format(line, AUDIT_PREVIOUS "%s\"", previous);
	audit_hash(line->bytes, line->used, ret_hash);
	add_format(line, AUDIT_HASH "%s" AUDIT_END, ret_hash);
}
