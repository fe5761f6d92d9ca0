/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of the protocol agree with the structs: no byte is forgotten, none is listed twice.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "common/ipc/ipc_all.h"
#include "messages.h"

static uint8_t covered[sizeof(union ipc_any)];
static uint8_t padded[sizeof(union ipc_any)];

#if !defined(__has_builtin) || !__has_builtin(__builtin_clear_padding)
#error "this test needs a compiler that can tell padding from fields (gcc 11)"
#endif

/* Set every byte of a struct to 1 and let the compiler clear those that are padding. */
#define IPC(name, sender, receiver, phase, fds)                                                    \
	static void mark_fields_##name(uint8_t *bytes)                                             \
	{                                                                                          \
		struct ipc_##name value;                                                           \
                                                                                                   \
		memset(&value, 1, sizeof(value));                                                  \
		__builtin_clear_padding(&value);                                                   \
		memcpy(bytes, &value, sizeof(value));                                              \
	}
#include "common/ipc/ipc_messages.def"
#undef IPC

static void (*const mark_fields[IPC_TYPE_COUNT])(uint8_t *) = {
#define IPC(name, sender, receiver, phase, fds) [IPC_TYPE_##name] = mark_fields_##name,
#include "common/ipc/ipc_messages.def"
#undef IPC
};

static void cover(const struct ipc_message *row, size_t offset, size_t size)
{
	cr_assert_leq(offset + size, row->struct_size, "%s.%zu", row->name, offset);
	for (size_t i = offset; i < offset + size; i++) {
		cr_assert_eq(covered[i], 0, "%s.%zu overlaps another field", row->name, offset);
		covered[i] = 1;
	}
}

Test(ipc_schema, fields_cover_their_struct)
{
	for (uint32_t type = 1; type < IPC_TYPE_COUNT; type++) {
		const struct ipc_message *row = ipc_message(type);

		memset(covered, 0, sizeof(covered));
		for (uint32_t i = 0; i < row->field_count; i++) {
			const struct ipc_field *field = &row->fields[i];

			cover(row, field->offset, field->size);
			if (field->kind == IPC_FIELD_BYTES)
				cover(row, field->size_offset, sizeof(uint32_t));
		}
		mark_fields[type](padded);
		for (size_t i = 0; i < row->struct_size; i++)
			cr_assert_eq(covered[i], padded[i], "%s: byte %zu is %s", row->name, i,
				     covered[i] ? "padding" : "in no field");
	}
}

Test(ipc_schema, sized_fields_come_in_their_structs_order)
{
	for (uint32_t type = 1; type < IPC_TYPE_COUNT; type++) {
		const struct ipc_message *row = ipc_message(type);
		size_t at = 0;

		for (uint32_t i = 0; i < row->field_count; i++) {
			if (row->fields[i].kind != IPC_FIELD_BYTES)
				continue;
			cr_assert_geq(row->fields[i].offset, at, "%s: ipc_clear() relies on it",
				      row->name);
			at = row->fields[i].offset + row->fields[i].size;
		}
	}
}

Test(ipc_schema, field_kinds_fit_their_sizes)
{
	for (uint32_t type = 1; type < IPC_TYPE_COUNT; type++) {
		const struct ipc_message *row = ipc_message(type);

		for (uint32_t i = 0; i < row->field_count; i++) {
			const struct ipc_field *field = &row->fields[i];

			cr_assert_leq(field->kind, (uint32_t)IPC_FIELD_BYTES);
			if (field->kind == IPC_FIELD_U32)
				cr_assert_eq(field->size, 4, "%s.%u", row->name, field->offset);
			if (field->kind == IPC_FIELD_U64)
				cr_assert_eq(field->size, 8, "%s.%u", row->name, field->offset);
			if (field_is_sized(field))
				cr_assert_geq(field->size, 2, "%s.%u", row->name, field->offset);
		}
	}
}

Test(ipc_schema, rows_are_complete)
{
	for (uint32_t type = 1; type < IPC_TYPE_COUNT; type++) {
		const struct ipc_message *row = ipc_message(type);

		cr_assert_str_not_empty(row->name);
		cr_assert_neq(row->sender, row->receiver, "%s", row->name);
		cr_assert_gt(row->field_count, 0, "%s", row->name);
		cr_assert_leq(strlen(row->fds), IPC_FDS_MAX, "%s", row->name);
		cr_assert_eq(strspn(row->fds, "pmfdsiota"), strlen(row->fds), "%s: fds \"%s\"",
			     row->name, row->fds);
	}
}

Test(ipc_schema, the_longest_message_fits)
{
	static union ipc_any message;
	static uint8_t wire[WIRE_ROOM];
	uint32_t seed = 10;
	size_t size = 0;

	for (uint32_t type = 1; type < IPC_TYPE_COUNT; type++) {
		message_fill(ipc_message(type), &message, FILL_LONGEST, &seed);
		cr_assert_eq(ipc_encode(type, &message, wire, IPC_MESSAGE_MAX, &size), IPC_OK, "%s",
			     ipc_message(type)->name);
	}
}

Test(ipc_schema, the_hash_is_there)
{
	static const uint8_t zero[IPC_SCHEMA_BYTES];

	cr_assert_neq(memcmp(ipc_schema_hash, zero, sizeof(zero)), 0);
}
