/* SPDX-License-Identifier: Apache-2.0 */
#include "io/random_id.h"

#include <sodium.h>
#include <stddef.h>
#include <stdint.h>

#include "common/limits.h"

#define ID_BYTES 16

void random_id_make(char ret[RANDOM_ID_CHARS + 1])
{
	uint8_t bytes[ID_BYTES];
	unsigned int bits = 0; /* bits not written yet, the newest lowest */
	int count = RANDOM_ID_CHARS * 5 - ID_BYTES * 8;
	size_t at = 0;

	randombytes_buf(bytes, sizeof(bytes));
	for (size_t i = 0; i < RANDOM_ID_CHARS; i++) {
		if (count < 5) {
			bits = bits << 8 | bytes[at++];
			count += 8;
		}
		count -= 5;
		ret[i] = IPC_ID_DIGITS[bits >> count & 31];
	}
	ret[RANDOM_ID_CHARS] = '\0';
}
