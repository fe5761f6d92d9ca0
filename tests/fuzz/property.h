/* SPDX-License-Identifier: Apache-2.0
 *
 * What the fuzz targets claim, and what several of them need.
 */
#ifndef TESTS_FUZZ_PROPERTY_H
#define TESTS_FUZZ_PROPERTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A finding when `claim` is false: its line says more than a stack without one. */
#define must(claim) property_must((claim), __FILE__, __LINE__, #claim)
void property_must(bool claim, const char *file, int line, const char *text);

/* The lowest free descriptor: higher after than before means that one was left open. */
int property_free_fd(void);

/* Copy bytes to the heap, exactly as many: a read beyond them is seen. The caller's to free. */
void *property_copy(const void *bytes, size_t size);

/* The kinds of descriptors of ipc_messages.def, but "a", which is any. */
#define FUZZ_KINDS 8
extern const char fuzz_kinds[FUZZ_KINDS + 1];

/* The input's bytes as numbers and texts, for targets that make messages of them. */
struct input {
	const uint8_t *bytes;
	size_t size;
};

/* The next byte, 0 at the end. */
uint8_t input_byte(struct input *input);

/* The next part: a byte says how long it is, and it ends with the input. Sets *ret_size. */
const uint8_t *input_part(struct input *input, size_t *ret_size);

#endif
