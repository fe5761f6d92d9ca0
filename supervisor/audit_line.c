/* SPDX-License-Identifier: Apache-2.0 */
#include "audit_line.h"

#include <stdlib.h>
#include <string.h>

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

/* A reader need not know of escapes: what would need one becomes a '?'. */
static void add_text(struct audit_line *line, const char *text)
{
	for (size_t i = 0; i < AUDIT_FIELD_TEXT_MAX && text[i] != '\0'; i++) {
		const char byte = text[i];
		const bool is_plain = byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\';

		add_bytes(line, is_plain ? &text[i] : "?", 1);
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

static void add_field(struct audit_line *line, const struct audit_field *field)
{
	add_key(line, field->key);
	if (!field->text && !field->hash) {
		add_number(line, field->number);
		return;
	}
	add_string(line, "\"");
	if (field->hash)
		add_hash(line, field->hash);
	else
		add_text(line, field->text);
	add_string(line, "\"");
}

void audit_line_write(struct audit_line *line, const struct audit_stamp *stamp,
		      const struct audit_field *fields, size_t count,
		      const char previous[AUDIT_HASH_MAX], char ret_hash[AUDIT_HASH_MAX])
{
	if (count > AUDIT_FIELDS_MAX)
		abort();
	line->used = 0;
	add_string(line, "{\"seq\":");
	add_number(line, stamp->seq);
	add_key(line, "time_us");
	add_number(line, stamp->time_us);
	add_key(line, "pid");
	add_number(line, stamp->pid);
	add_key(line, "event");
	add_string(line, "\"");
	add_string(line, audit_event_name(stamp->event));
	add_string(line, "\"");
	for (size_t i = 0; i < count; i++)
		add_field(line, &fields[i]);
	add_string(line, AUDIT_PREVIOUS);
	add_string(line, previous);
	add_string(line, "\""); /* the last byte that is hashed */
	audit_hash(line->bytes, line->used, ret_hash);
	add_string(line, AUDIT_HASH);
	add_string(line, ret_hash);
	add_string(line, AUDIT_END);
}
