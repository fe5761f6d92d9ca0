/* SPDX-License-Identifier: Apache-2.0 */
#include "messages.h"

#include <string.h>

#include "support.h"

bool field_is_sized(const struct ipc_field *field)
{
	return field->kind == IPC_FIELD_STR || field->kind == IPC_FIELD_OPT ||
	       field->kind == IPC_FIELD_BYTES;
}

uint32_t field_most(const struct ipc_field *field)
{
	return field->kind == IPC_FIELD_BYTES ? field->size : field->size - 1;
}

static uint32_t fill_length(const struct ipc_field *field, enum fill fill, uint32_t *seed)
{
	const uint32_t least = field->kind == IPC_FIELD_STR ? 1 : 0;
	const uint32_t most = field_most(field);

	if (fill == FILL_SHORTEST)
		return least;
	if (fill == FILL_LONGEST)
		return most;
	return least + random_next(seed) % ((most < 40 ? most : 40) - least + 1);
}

void message_fill(const struct ipc_message *row, void *message, enum fill fill, uint32_t *seed)
{
	uint8_t *bytes = message;

	memset(message, 0, row->struct_size);
	for (uint32_t i = 0; i < row->field_count; i++) {
		const struct ipc_field *field = &row->fields[i];
		const bool is_text = field->kind != IPC_FIELD_BYTES && field_is_sized(field);
		uint32_t length = field->size;

		if (field_is_sized(field))
			length = fill_length(field, fill, seed);
		for (uint32_t k = 0; k < length; k++) {
			const uint8_t byte = (uint8_t)random_next(seed);

			bytes[field->offset + k] = is_text && byte == 0 ? 'z' : byte;
		}
		if (field->kind == IPC_FIELD_BYTES)
			memcpy(bytes + field->size_offset, &length, sizeof(length));
	}
}

static uint32_t value_length(const struct ipc_field *field, const uint8_t *message)
{
	uint32_t length = field->size;

	if (field->kind == IPC_FIELD_BYTES)
		memcpy(&length, message + field->size_offset, sizeof(length));
	else if (field_is_sized(field))
		length = (uint32_t)strnlen((const char *)message + field->offset, field->size);
	return length;
}

size_t wire_make(uint32_t type, const void *message, int field_index, uint32_t length,
		 uint8_t *wire)
{
	const struct ipc_message *row = ipc_message(type);
	const uint8_t *bytes = message;
	size_t used = sizeof(type);

	memcpy(wire, &type, sizeof(type));
	for (uint32_t i = 0; i < row->field_count; i++) {
		const struct ipc_field *field = &row->fields[i];
		const bool is_forced = (int)i == field_index;
		const uint32_t size = is_forced ? length : value_length(field, bytes);

		if (field_is_sized(field)) {
			memcpy(wire + used, &size, sizeof(size));
			used += sizeof(size);
		}
		if (is_forced)
			memset(wire + used, 'x', size);
		else
			memcpy(wire + used, bytes + field->offset, size);
		used += size;
	}
	return used;
}

size_t wire_offset(uint32_t type, const void *message, int field_index)
{
	const struct ipc_message *row = ipc_message(type);
	size_t used = sizeof(type);

	for (int i = 0; i < field_index; i++) {
		used += field_is_sized(&row->fields[i]) ? sizeof(uint32_t) : 0;
		used += value_length(&row->fields[i], message);
	}
	return used + (field_is_sized(&row->fields[field_index]) ? sizeof(uint32_t) : 0);
}
