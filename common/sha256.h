/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-256 (FIPS 180-4), for the static programs that no library is there for.
 */
#ifndef COMMON_SHA256_H
#define COMMON_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32

/* Its digits, with the NUL. */
#define SHA256_TEXT_MAX (2 * SHA256_BYTES + 1)

/* In pieces: begin, add as often as there is more, end. */
struct sha256 {
	uint32_t h[8];
	uint64_t size; /* bytes that were added */
	uint8_t block[64];
};

void sha256_begin(struct sha256 *state);
void sha256_add(struct sha256 *state, const void *data, size_t size);
void sha256_end(struct sha256 *state, uint8_t ret[SHA256_BYTES]);

/* All at once. */
void sha256(const void *data, size_t size, uint8_t ret[SHA256_BYTES]);

/* Write the digits of a hash. */
void sha256_text(const uint8_t hash[SHA256_BYTES], char ret[SHA256_TEXT_MAX]);

#endif
