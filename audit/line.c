/* SPDX-License-Identifier: Apache-2.0 */
#include "line.h"

#include <stdlib.h>
#include <string.h>

#include "common/ipc_audit.h"
#include "common/text.h"

/* An overflow is a bug: a full set of longest fields fits. */
static void add_bytes(struct audit_line *line, const char *bytes, size_t size)
{
	if (size > sizeof(line->bytes) - line->used)
		abort();
	memcpy(line->bytes + line->used, bytes, size);
	line->used += size;
}

static void add_string(struct audit_line *line, const char *string)
{
	add_bytes(line, string, strlen(string));
}

static void add_number(struct audit_line *line, uint64_t number)
{
	struct text text = { .used = 0 };

	text_add_number(&text, number);
	add_bytes(line, text.bytes, text.used);
}

/* A reader need not know of escapes: a byte that would need one becomes a '?'. */
static void add_text(struct audit_line *line, const uint8_t *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		const char byte = (char)text[i];
		const bool is_plain = byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\';

		add_bytes(line, is_plain ? &byte : "?", 1);
	}
}

static void add_hash(struct audit_line *line, const uint8_t *hash)
{
	char text[AUDIT_HASH_MAX];

	audit_hash_text(hash, text);
	add_string(line, text);
}

static void add_key(struct audit_line *line, const char *key)
{
	add_string(line, ",\"");
	add_string(line, key);
	add_string(line, "\":");
}

static void add_number_field(struct audit_line *line, const char *key, uint64_t number)
{
	add_key(line, key);
	add_number(line, number);
}

/* Return the size of the field's text. */
static size_t add_field(struct audit_line *line, const struct ipc_audit_field *field,
			const uint8_t *text)
{
	const char *key = audit_key_name(field->key);

	if (field->kind == AUDIT_KIND_NUMBER) {
		add_number_field(line, key, field->value);
		return 0;
	}
	add_key(line, key);
	add_string(line, "\"");
	if (field->kind == AUDIT_KIND_SHA256)
		add_hash(line, text);
	else
		add_text(line, text, field->value);
	add_string(line, "\"");
	return field->value;
}

void audit_line_write(struct audit_line *line, const struct audit_stamp *stamp,
		      const struct ipc_audit_record *record, const char previous[AUDIT_HASH_MAX],
		      char ret_hash[AUDIT_HASH_MAX])
{
	const uint8_t *text = record->texts;

	line->used = 0;
	add_string(line, "{\"seq\":");
	add_number(line, stamp->seq);
	add_number_field(line, "time_us", stamp->time_us);
	add_number_field(line, "pid", stamp->pid);
	add_key(line, "event");
	add_string(line, "\"");
	add_string(line, audit_event_name(record->event));
	add_string(line, "\"");
	for (uint32_t i = 0; i < record->field_count; i++)
		text += add_field(line, &record->fields[i], text);
	if (stamp->lost > 0)
		add_number_field(line, audit_key_name(AUDIT_KEY_lost), stamp->lost);
	add_string(line, AUDIT_PREVIOUS);
	add_string(line, previous);
	add_string(line, "\""); /* the last byte that is hashed */
	audit_hash(line->bytes, line->used, ret_hash);
	add_string(line, AUDIT_HASH);
	add_string(line, ret_hash);
	add_string(line, AUDIT_END);
}
