/* SPDX-License-Identifier: Apache-2.0
 *
 * Text that a client keeps for us: it can neither read nor change it, nor make one. Whether it is
 * still wanted is for what is in it to say; giving it back twice cannot be noticed here.
 */
#ifndef BROKER_MCP_SEALED_H
#define BROKER_MCP_SEALED_H

#include <stdbool.h>
#include <stdint.h>

#include "io/buffer.h"

#define SEALED_KEY_BYTES 32

struct sealed_key {
	uint8_t bytes[SEALED_KEY_BYTES];
};

/* Random, for this process: what was sealed before cannot be opened after a new start. */
void sealed_key_make(struct sealed_key *ret);

/* Append the sealed form of `plain` to `text`: base64url without padding. */
void sealed_close(const struct sealed_key *key, const struct buffer *plain, struct buffer *text);

/* Append what was sealed to `plain`; false, and nothing appended: this is not it. */
bool sealed_open(const struct sealed_key *key, const char *text, size_t size, struct buffer *plain);

#endif
