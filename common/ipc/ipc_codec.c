/* SPDX-License-Identifier: Apache-2.0
 *
 * The one encoder and the one decoder. Lengths are compared, never pointers.
 */
#include <string.h>

#include "common/ipc/ipc.h"

struct cursor {
	uint8_t *bytes;
	size_t room;
	size_t used;
};

static enum ipc_error put_raw(struct cursor *out, const void *data, size_t size)
{
	if (size > out->room - out->used)
		return IPC_ERROR_TOO_LONG;
	memcpy(out->bytes + out->used, data, size);
	out->used += size;
	return IPC_OK;
}

static enum ipc_error put_sized(struct cursor *out, const void *data, size_t size)
{
	const uint32_t length = (uint32_t)size;
	const enum ipc_error error = put_raw(out, &length, sizeof(length));

	return error ? error : put_raw(out, data, size);
}

static enum ipc_error encode_field(struct cursor *out, const struct ipc_field *field,
				   const uint8_t *message)
{
	const uint8_t *value = message + field->offset;
	uint32_t size = 0;

	switch (field->kind) {
	case IPC_FIELD_STR:
	case IPC_FIELD_OPT:
		size = (uint32_t)strnlen((const char *)value, field->size);
		if (size == field->size)
			return IPC_ERROR_TOO_LONG;
		if (size == 0 && field->kind == IPC_FIELD_STR)
			return IPC_ERROR_EMPTY;
		return put_sized(out, value, size);
	case IPC_FIELD_BYTES:
		memcpy(&size, message + field->size_offset, sizeof(size));
		if (size > field->size)
			return IPC_ERROR_TOO_LONG;
		return put_sized(out, value, size);
	default:
		return put_raw(out, value, field->size);
	}
}

/* NOLINTNEXTLINE(readability-non-const-parameter): written through the cursor */
enum ipc_error ipc_encode(uint32_t type, const void *message, uint8_t *buffer, size_t room,
			  size_t *ret_size)
{
	const struct ipc_message *row = ipc_message(type);
	struct cursor out = { buffer, room, 0 };
	enum ipc_error error;

	if (!row)
		return IPC_ERROR_TYPE;
	error = put_raw(&out, &type, sizeof(type));
	for (uint32_t i = 0; !error && i < row->field_count; i++)
		error = encode_field(&out, &row->fields[i], message);
	if (!error)
		*ret_size = out.used;
	return error;
}

static enum ipc_error take_raw(const uint8_t *bytes, size_t size, size_t *used, void *ret, size_t n)
{
	if (n > size - *used)
		return IPC_ERROR_SHORT;
	memcpy(ret, bytes + *used, n);
	*used += n;
	return IPC_OK;
}

/* A string needs one byte more than it has, for its terminator: the zeroed struct supplies it. */
static enum ipc_error decode_sized(const uint8_t *buffer, size_t size, size_t *used,
				   const struct ipc_field *field, uint8_t *message)
{
	const uint32_t most = field->kind == IPC_FIELD_BYTES ? field->size : field->size - 1;
	uint32_t length = 0;
	enum ipc_error error = take_raw(buffer, size, used, &length, sizeof(length));

	if (error)
		return error;
	if (length > most)
		return IPC_ERROR_TOO_LONG;
	if (length == 0 && field->kind == IPC_FIELD_STR)
		return IPC_ERROR_EMPTY;
	error = take_raw(buffer, size, used, message + field->offset, length);
	if (error)
		return error;
	if (field->kind == IPC_FIELD_BYTES)
		memcpy(message + field->size_offset, &length, sizeof(length));
	else if (length > 0 && memchr(message + field->offset, '\0', length))
		return IPC_ERROR_NUL;
	return IPC_OK;
}

/* The largest messages have more than 100 KiB of room, nearly always unused, and a new init would
 * have to take a page fault for each page of it. */
void ipc_clear(uint32_t type, void *message)
{
	const struct ipc_message *row = ipc_message(type);
	uint8_t *bytes = message;
	size_t at = 0;

	for (uint32_t i = 0; row && i < row->field_count; i++) {
		const struct ipc_field *field = &row->fields[i];

		if (field->kind != IPC_FIELD_BYTES)
			continue;
		memset(bytes + at, 0, field->offset - at);
		at = field->offset + field->size;
	}
	if (row)
		memset(bytes + at, 0, row->struct_size - at);
}

enum ipc_error ipc_decode(const uint8_t *buffer, size_t size, void *message, size_t room,
			  uint32_t *ret_type)
{
	const struct ipc_message *row;
	uint32_t type = IPC_TYPE_NONE;
	uint8_t *bytes = message;
	size_t used = 0;
	enum ipc_error error = take_raw(buffer, size, &used, &type, sizeof(type));

	if (error)
		return error;
	row = ipc_message(type);
	if (!row || row->struct_size > room)
		return IPC_ERROR_TYPE;
	ipc_clear(type, message);
	for (uint32_t i = 0; i < row->field_count && !error; i++) {
		const struct ipc_field *field = &row->fields[i];

		error = field->kind < IPC_FIELD_STR
				? take_raw(buffer, size, &used, bytes + field->offset, field->size)
				: decode_sized(buffer, size, &used, field, bytes);
	}
	if (error || used != size)
		return error ? error : IPC_ERROR_TRAILING;
	*ret_type = type;
	return IPC_OK;
}

static const char *const error_texts[] = {
	[IPC_OK] = "no error",
	[IPC_ERROR_TYPE] = "unknown message type",
	[IPC_ERROR_SHORT] = "message ends before its fields do",
	[IPC_ERROR_TRAILING] = "bytes after the last field",
	[IPC_ERROR_EMPTY] = "empty string",
	[IPC_ERROR_NUL] = "NUL inside a string",
	[IPC_ERROR_TOO_LONG] = "length beyond the field's room",
	[IPC_ERROR_DIRECTION] = "message not allowed in this direction",
	[IPC_ERROR_PHASE] = "message not allowed in this phase",
	[IPC_ERROR_FDS] = "wrong number or kind of descriptors",
	[IPC_ERROR_TRUNCATED] = "message or descriptors truncated",
};

const char *ipc_error_text(enum ipc_error error)
{
	const size_t count = sizeof(error_texts) / sizeof(error_texts[0]);

	return (size_t)error < count ? error_texts[error] : "unknown error";
}
