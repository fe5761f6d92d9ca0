/* SPDX-License-Identifier: Apache-2.0
 *
 * Text that a client keeps for the broker: the client can neither read, change nor forge it. The
 * content itself has to say whether it is still valid; a replay goes unnoticed here.
 */
#ifndef BROKER_MCP_ASKING_SEALED_H
#define BROKER_MCP_ASKING_SEALED_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/heap/buffer.h"

#define SEALED_KEY_BYTES 32

struct sealed_key {
	uint8_t bytes[SEALED_KEY_BYTES];
};

/* Make a random key for this process; texts of earlier processes cannot be opened. */
void sealed_key_make(struct sealed_key *ret);

/* Append the sealed form of `plain` to `text`: base64url without padding. */
void sealed_close(const struct sealed_key *key, const struct buffer *plain, struct buffer *text);

/* Append the content of a sealed text to `plain`. False: the text is not ours, and `plain` is
 * unchanged. */
bool sealed_open(const struct sealed_key *key, const char *text, size_t size, struct buffer *plain);

#endif
