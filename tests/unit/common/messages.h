/* SPDX-License-Identifier: Apache-2.0
 *
 * Pseudo-random messages, and wire bytes made without the encoder under test.
 */
#ifndef UNIT_COMMON_MESSAGES_H
#define UNIT_COMMON_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ipc/ipc.h"

/* Room for a wire message whose one field is longer than allowed. */
#define WIRE_ROOM (2 * IPC_MESSAGE_MAX + 4096)

/* How long the strings and byte ranges of a made message are. */
enum fill {
	FILL_SHORTEST,
	FILL_RANDOM, /* up to 40 bytes */
	FILL_LONGEST,
};

/* Does the field carry a length on the wire? */
bool field_is_sized(const struct ipc_field *field);

/* The most bytes that the field may carry. */
uint32_t field_most(const struct ipc_field *field);

/* Fill the struct of a row; bytes that no field covers are zero. */
void message_fill(const struct ipc_message *row, void *message, enum fill fill, uint32_t *seed);

/*
 * The wire bytes of a message, written without ipc_encode(). Field `field_index` gets `length`
 * bytes of 'x' instead of the struct's value; -1: no field. `wire` has WIRE_ROOM; returns the size.
 */
size_t wire_make(uint32_t type, const void *message, int field_index, uint32_t length,
		 uint8_t *wire);

/* Offset of a field's value (behind its length) in the bytes that wire_make() wrote. */
size_t wire_offset(uint32_t type, const void *message, int field_index);

#endif
