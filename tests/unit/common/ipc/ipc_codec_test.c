/* SPDX-License-Identifier: Apache-2.0
 *
 * The encoder and the decoder, for every row of ipc_messages.def. A row or field that is added
 * later is tested without a change here.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc_all.h"
#include "messages.h"

#define FOR_EACH_TYPE(type) for (uint32_t type = 1; type < IPC_TYPE_COUNT; type++)

static uint8_t wire[WIRE_ROOM];
static uint8_t encoded[WIRE_ROOM];
static union ipc_any message;
static union ipc_any decoded;

static enum ipc_error decode(const uint8_t *bytes, size_t size)
{
	/* A copy of exactly this size, so that the address sanitizer sees a read beyond it. */
	uint8_t *exact = malloc(size + (size == 0));
	uint32_t type = IPC_TYPE_NONE;
	enum ipc_error error;

	cr_assert_not_null(exact);
	memcpy(exact, bytes, size);
	error = ipc_decode(exact, size, &decoded, sizeof(decoded), &type);
	free(exact);
	if (error)
		cr_assert_eq(type, IPC_TYPE_NONE, "the type is untouched after an error");
	return error;
}

static size_t encode(uint32_t type)
{
	size_t size = 0;

	cr_assert_eq(ipc_encode(type, &message, encoded, IPC_MESSAGE_MAX, &size), IPC_OK, "%s",
		     ipc_message(type)->name);
	return size;
}

/* What lies behind the size of each sized field says nothing. */
static void clear_rooms(const struct ipc_message *row, uint8_t *bytes)
{
	for (uint32_t i = 0; i < row->field_count; i++) {
		const struct ipc_field *field = &row->fields[i];
		uint32_t size;

		if (field->kind != IPC_FIELD_BYTES)
			continue;
		memcpy(&size, bytes + field->size_offset, sizeof(size));
		memset(bytes + field->offset + size, 0, field->size - size);
	}
}

Test(ipc_codec, round_trip_keeps_every_byte)
{
	uint32_t seed = 1;

	FOR_EACH_TYPE(type)
	{
		const struct ipc_message *row = ipc_message(type);

		for (int round = 0; round < 60; round++) {
			const enum fill fill = round % 20 == 0   ? FILL_LONGEST
					       : round % 20 == 1 ? FILL_SHORTEST
								 : FILL_RANDOM;

			message_fill(row, &message, fill, &seed);
			const size_t size = encode(type);
			cr_assert_eq(size, wire_make(type, &message, -1, 0, wire), "%s", row->name);
			cr_assert_eq(memcmp(wire, encoded, size), 0, "%s: wire", row->name);
			memset(&decoded, 0xa5, sizeof(decoded));
			cr_assert_eq(decode(encoded, size), IPC_OK, "%s", row->name);
			clear_rooms(row, (uint8_t *)&decoded);
			cr_assert_eq(memcmp(&message, &decoded, row->struct_size), 0, "%s",
				     row->name);
		}
	}
}

Test(ipc_codec, a_cleared_message_is_empty)
{
	static const union ipc_any nothing;

	FOR_EACH_TYPE(type)
	{
		const struct ipc_message *row = ipc_message(type);

		memset(&decoded, 0xa5, sizeof(decoded));
		ipc_clear(type, &decoded);
		clear_rooms(row, (uint8_t *)&decoded);
		cr_assert_eq(memcmp(&nothing, &decoded, row->struct_size), 0, "%s", row->name);
	}
	ipc_clear(IPC_TYPE_COUNT, &decoded); /* which there is not */
}

Test(ipc_codec, every_truncation_is_refused)
{
	uint32_t seed = 2;

	FOR_EACH_TYPE(type)
	{
		message_fill(ipc_message(type), &message, FILL_RANDOM, &seed);
		const size_t size = encode(type);

		for (size_t cut = 0; cut < size; cut++)
			cr_assert_eq(decode(encoded, cut), IPC_ERROR_SHORT, "%s cut to %zu of %zu",
				     ipc_message(type)->name, cut, size);
	}
}

Test(ipc_codec, truncations_of_the_longest_message_are_refused)
{
	uint32_t seed = 3;

	FOR_EACH_TYPE(type)
	{
		message_fill(ipc_message(type), &message, FILL_LONGEST, &seed);
		const size_t size = encode(type);

		for (size_t cut = 0; cut < size; cut += cut + 200 < size ? 101 : 1)
			cr_assert_eq(decode(encoded, cut), IPC_ERROR_SHORT, "%s cut to %zu",
				     ipc_message(type)->name, cut);
	}
}

Test(ipc_codec, trailing_bytes_are_refused)
{
	uint32_t seed = 4;

	FOR_EACH_TYPE(type)
	{
		message_fill(ipc_message(type), &message, FILL_RANDOM, &seed);
		const size_t size = encode(type);

		for (size_t more = 1; more < 20; more++)
			cr_assert_eq(decode(encoded, size + more), IPC_ERROR_TRAILING, "%s + %zu",
				     ipc_message(type)->name, more);
	}
}

static enum ipc_error decode_with_length(uint32_t type, uint32_t field, uint32_t length)
{
	return decode(wire, wire_make(type, &message, (int)field, length, wire));
}

static void check_lengths(uint32_t type, uint32_t index)
{
	const struct ipc_message *row = ipc_message(type);
	const struct ipc_field *field = &row->fields[index];
	const uint32_t most = field_most(field);
	const enum ipc_error empty = field->kind == IPC_FIELD_STR ? IPC_ERROR_EMPTY : IPC_OK;
	uint32_t huge = UINT32_MAX;

	cr_assert_eq(decode_with_length(type, index, most), IPC_OK, "%s.%u: max", row->name,
		     field->offset);
	cr_assert_eq(decode_with_length(type, index, most + 1), IPC_ERROR_TOO_LONG,
		     "%s.%u: max + 1", row->name, field->offset);
	cr_assert_eq(decode_with_length(type, index, 1), IPC_OK, "%s.%u: 1", row->name,
		     field->offset);
	cr_assert_eq(decode_with_length(type, index, 0), empty, "%s.%u: 0", row->name,
		     field->offset);

	const size_t size = wire_make(type, &message, (int)index, 1, wire);
	for (int bit = 0; bit < 2; bit++, huge = 0x80000000U) {
		memcpy(wire + wire_offset(type, &message, (int)index) - 4, &huge, sizeof(huge));
		cr_assert_eq(decode(wire, size), IPC_ERROR_TOO_LONG, "%s.%u: %x", row->name,
			     field->offset, huge);
	}
}

Test(ipc_codec, lengths_at_and_beyond_the_edge)
{
	uint32_t seed = 5;

	FOR_EACH_TYPE(type)
	{
		message_fill(ipc_message(type), &message, FILL_RANDOM, &seed);
		for (uint32_t i = 0; i < ipc_message(type)->field_count; i++) {
			if (field_is_sized(&ipc_message(type)->fields[i]))
				check_lengths(type, i);
		}
	}
}

static void check_nul(uint32_t type, uint32_t index, uint32_t length, uint32_t at)
{
	const struct ipc_message *row = ipc_message(type);
	const struct ipc_field *field = &row->fields[index];
	const size_t size = wire_make(type, &message, (int)index, length, wire);

	wire[wire_offset(type, &message, (int)index) + at] = '\0';
	cr_assert_eq(decode(wire, size), field->kind == IPC_FIELD_BYTES ? IPC_OK : IPC_ERROR_NUL,
		     "%s.%u: NUL at %u of %u", row->name, field->offset, at, length);
}

Test(ipc_codec, nul_inside_a_string_is_refused)
{
	uint32_t seed = 6;

	FOR_EACH_TYPE(type)
	{
		const struct ipc_message *row = ipc_message(type);

		message_fill(row, &message, FILL_RANDOM, &seed);
		for (uint32_t i = 0; i < row->field_count; i++) {
			if (!field_is_sized(&row->fields[i]))
				continue;
			const uint32_t most = field_most(&row->fields[i]);

			check_nul(type, i, 1, 0);
			check_nul(type, i, most, 0);
			check_nul(type, i, most, most / 2);
			check_nul(type, i, most, most - 1);
		}
	}
}

Test(ipc_codec, unknown_types_are_refused)
{
	const uint32_t types[] = { IPC_TYPE_NONE, IPC_TYPE_COUNT, IPC_TYPE_COUNT + 1, 0x80000000U,
				   UINT32_MAX };
	size_t size = 77;

	memset(wire, 0, sizeof(wire));
	memset(&message, 0, sizeof(message));
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		cr_assert_null(ipc_message(types[i]));
		memcpy(wire, &types[i], sizeof(types[i]));
		cr_assert_eq(decode(wire, 64), IPC_ERROR_TYPE, "%u", types[i]);
		cr_assert_eq(ipc_encode(types[i], &message, wire, sizeof(wire), &size),
			     IPC_ERROR_TYPE);
		cr_assert_eq(size, 77, "the size is untouched after an error");
	}
}

Test(ipc_codec, a_struct_that_does_not_fit_is_refused)
{
	uint32_t seed = 7;
	uint32_t ret_type;

	FOR_EACH_TYPE(type)
	{
		const struct ipc_message *row = ipc_message(type);

		message_fill(row, &message, FILL_RANDOM, &seed);
		const size_t size = encode(type);
		cr_assert_eq(ipc_decode(encoded, size, &decoded, row->struct_size - 1, &ret_type),
			     IPC_ERROR_TYPE, "%s", row->name);
		cr_assert_eq(ipc_decode(encoded, size, &decoded, row->struct_size, &ret_type),
			     IPC_OK, "%s", row->name);
	}
}

Test(ipc_codec, the_encoder_stays_in_its_room)
{
	uint32_t seed = 8;

	FOR_EACH_TYPE(type)
	{
		message_fill(ipc_message(type), &message, FILL_RANDOM, &seed);
		const size_t size = encode(type);

		for (size_t room = 0; room < size; room++) {
			size_t ret_size = 77;

			memset(wire, 0xee, size + 8);
			cr_assert_neq(ipc_encode(type, &message, wire, room, &ret_size), IPC_OK);
			cr_assert_eq(ret_size, 77);
			for (size_t i = room; i < size + 8; i++)
				cr_assert_eq(wire[i], 0xee, "%s: wrote beyond its room",
					     ipc_message(type)->name);
		}
	}
}

static void check_encoder_refusals(uint32_t type, const struct ipc_field *field)
{
	uint8_t *bytes = (uint8_t *)&message;
	const uint32_t too_long = field->size + 1;
	size_t size = 77;

	if (field->kind == IPC_FIELD_BYTES) {
		memcpy(bytes + field->size_offset, &too_long, sizeof(too_long));
		cr_assert_eq(ipc_encode(type, &message, encoded, sizeof(encoded), &size),
			     IPC_ERROR_TOO_LONG, "%u", field->offset);
		return;
	}
	memset(bytes + field->offset, 'x', field->size);
	cr_assert_eq(ipc_encode(type, &message, encoded, sizeof(encoded), &size),
		     IPC_ERROR_TOO_LONG, "%u without its NUL", field->offset);
	memset(bytes + field->offset, 0, field->size);
	cr_assert_eq(ipc_encode(type, &message, encoded, sizeof(encoded), &size),
		     field->kind == IPC_FIELD_STR ? IPC_ERROR_EMPTY : IPC_OK, "%u", field->offset);
}

Test(ipc_codec, the_encoder_refuses_what_the_decoder_would)
{
	uint32_t seed = 9;

	FOR_EACH_TYPE(type)
	{
		const struct ipc_message *row = ipc_message(type);

		for (uint32_t i = 0; i < row->field_count; i++) {
			if (!field_is_sized(&row->fields[i]))
				continue;
			message_fill(row, &message, FILL_RANDOM, &seed);
			check_encoder_refusals(type, &row->fields[i]);
		}
	}
}

Test(ipc_codec, every_error_has_a_text_of_its_own)
{
	for (int i = IPC_OK; i <= IPC_ERROR_TRUNCATED; i++) {
		cr_assert_str_not_empty(ipc_error_text((enum ipc_error)i));
		for (int k = IPC_OK; k < i; k++)
			cr_assert_str_neq(ipc_error_text((enum ipc_error)i),
					  ipc_error_text((enum ipc_error)k));
	}
	cr_assert_str_eq(ipc_error_text((enum ipc_error)(IPC_ERROR_TRUNCATED + 1)),
			 "unknown error");
}
