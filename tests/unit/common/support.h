/* SPDX-License-Identifier: Apache-2.0
 *
 * What several tests of common/ need: pseudo-random messages, wire bytes made without the encoder
 * under test, descriptors of each kind, counting descriptors.
 */
#ifndef UNIT_COMMON_SUPPORT_H
#define UNIT_COMMON_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ipc.h"

/* Room for a wire message whose one field is longer than allowed. */
#define WIRE_ROOM (2 * IPC_MESSAGE_MAX + 4096)

/* How long the strings and byte ranges of a made message are. */
enum fill {
	FILL_SHORTEST,
	FILL_RANDOM, /* up to 40 bytes */
	FILL_LONGEST,
};

/* The next pseudo-random number; the same sequence from the same seed. */
uint32_t random_next(uint32_t *seed);

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

/* A new descriptor of the kind that a letter of ipc_messages.def means; aborts when it cannot. */
int fd_of_kind(char kind);

/* A memory file of so many bytes, and the mapping of it; aborts when it cannot. */
int fd_of_memory(size_t size, void **ret);

/* How many descriptors this process has open. */
size_t fd_count_open(void);

/* Run `child` in a forked process and return what wait(2) says. `child` ends with its result. */
int run_forked(int (*child)(void *), void *argument);

#endif
