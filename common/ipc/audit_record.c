/* SPDX-License-Identifier: Apache-2.0 */
#include "common/ipc/audit_record.h"

#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc_audit.h"

const char *audit_key_name(enum audit_key key)
{
	static const char *const names[AUDIT_KEY_COUNT] = {
#define AUDIT_KEY(name) [AUDIT_KEY_##name] = #name,
#include "common/records/audit_key.def"
#undef AUDIT_KEY
	};

	return names[key];
}

static void add_bytes(struct ipc_audit_record *record, struct ipc_audit_field *field,
		      const struct audit_field *from)
{
	size_t size = from->number;

	if (from->kind == AUDIT_KIND_TEXT)
		size = strnlen(from->bytes, IPC_AUDIT_TEXT_MAX);
	else if (size > IPC_AUDIT_COMMAND_MAX)
		size = IPC_AUDIT_COMMAND_MAX;
	if (size > sizeof(record->texts) - record->texts_size)
		abort();
	memcpy(record->texts + record->texts_size, from->bytes, size);
	record->texts_size += (uint32_t)size;
	field->value = size;
}

void audit_record_make(struct ipc_audit_record *ret, enum audit_event event,
		       const struct audit_field *fields, size_t count)
{
	ret->number = ret->lost = 0;
	ret->wait_ms = ret->cpu = ret->field_count = ret->texts_size = ret->reserved = 0;
	ret->event = event;
	memset(ret->fields, 0, sizeof(ret->fields));
	for (size_t i = 0; i < count; i++) {
		const struct audit_field *from = &fields[i];
		struct ipc_audit_field *field = &ret->fields[ret->field_count];

		if (from->key == AUDIT_KEY_NONE)
			continue;
		if (ret->field_count++ == IPC_AUDIT_FIELDS_MAX)
			abort();
		*field = (struct ipc_audit_field){ from->key, from->kind, from->number };
		if (from->kind != AUDIT_KIND_NUMBER)
			add_bytes(ret, field, from);
	}
}

static bool is_field_right(const struct ipc_audit_field *field)
{
	return field->key > AUDIT_KEY_NONE && field->key < AUDIT_KEY_COUNT &&
	       field->kind >= AUDIT_KIND_NUMBER && field->kind < AUDIT_KIND_COUNT &&
	       (field->kind != AUDIT_KIND_TEXT || field->value <= IPC_AUDIT_TEXT_MAX) &&
	       (field->kind != AUDIT_KIND_COMMAND || field->value <= IPC_AUDIT_COMMAND_MAX) &&
	       (field->kind != AUDIT_KIND_SHA256 || field->value == SHA256_BYTES);
}

bool audit_record_is_right(const struct ipc_audit_record *record)
{
	uint64_t size = 0, written = 0;

	if (record->event >= AUDIT_EVENT_COUNT || record->field_count > IPC_AUDIT_FIELDS_MAX)
		return false;
	for (uint32_t i = 0; i < record->field_count; i++) {
		const struct ipc_audit_field *field = &record->fields[i];
		const uint64_t bytes = field->kind == AUDIT_KIND_NUMBER ? 0 : field->value;

		if (!is_field_right(field))
			return false;
		size += bytes;
		written += field->kind == AUDIT_KIND_COMMAND ? IPC_AUDIT_ESCAPE_MAX * bytes : bytes;
	}
	return size == record->texts_size && written <= IPC_AUDIT_TEXTS_MAX;
}
