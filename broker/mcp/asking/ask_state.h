/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a call whose client repeats its request with answers (`requestState`): the client
 * keeps it, sealed. It may come back more than once until it expires: it records earlier answers,
 * and grants no right beyond those of the request itself.
 */
#ifndef BROKER_MCP_ASKING_ASK_STATE_H
#define BROKER_MCP_ASKING_ASK_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/heap/buffer.h"
#include "json/copy.h"

struct host;

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

#define ASK_STATE_MS INT64_C(600000) /* ten minutes */

/* Bounds of a handler's own state, and of all answers together. */
#define ASK_KEPT_MAX 4096U
#define ASK_INPUTS_MAX 65536U

#define ASK_DIGEST_BYTES 32

/* The request that the state belongs to. */
struct ask_origin {
	uint32_t principal;
	uint8_t digest[ASK_DIGEST_BYTES]; /* hash of the method, name and arguments */
};

struct ask_state {
	unsigned int round; /* rounds of questions so far */
	struct buffer kept;
	struct json_tree tree;
	struct json_value *inputs; /* in the tree: an object, the answers by key */
};

/* Make an origin. `name` as requested; `arguments` an object, NULL: none. Its strings become
 * decoded. */
void ask_origin_make(struct ask_origin *ret, uint32_t principal, const char *method,
		     const struct json_value *name, const struct json_document *document,
		     const struct json_value *arguments);

/* Append the sealed state; `inputs` is a JSON object of at most ASK_INPUTS_MAX bytes. */
void ask_state_close(const struct sealed_key *key, const struct ask_origin *origin, int64_t now_ms,
		     const struct ask_state *state, const struct buffer *inputs,
		     struct buffer *text);

/* Open a sealed state. NULL: success, and the caller frees *ret with ask_state_done(); otherwise
 * the problem, and *ret is empty. */
const char *ask_state_open(const struct sealed_key *key, const struct ask_origin *origin,
			   int64_t now_ms, const struct json_value *text, struct ask_state *ret);

void ask_state_done(struct ask_state *state);

/* Return the key of this process; state that an earlier process sealed cannot be opened. */
const struct sealed_key *ask_state_key(struct host *host);

/* Free the key. */
void ask_done(struct host *host);

#endif
