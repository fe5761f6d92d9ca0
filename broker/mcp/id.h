/* SPDX-License-Identifier: Apache-2.0
 *
 * A JSON-RPC request id: echoed exactly as it came, compared by what it means.
 */
#ifndef BROKER_MCP_ID_H
#define BROKER_MCP_ID_H

#include <stdbool.h>
#include <stddef.h>

#include "json/read.h"

/* Echoed, so it is bounded; kept for every request in flight. */
#define RPC_ID_BYTES_MAX 65536U

/* An all-zero struct is "no id". */
struct rpc_id {
	char *raw; /* as it came, quotes included */
	size_t raw_size;
	char *meaning; /* a type letter, then the decoded string or the integer's decimal digits */
	size_t meaning_size;
};

/* A string that nobody has decoded, or an integer that every JSON implementation can hold; the
 * value stays as it is. False, and nothing set, for everything else. On true the id is the
 * caller's, for rpc_id_done(). */
bool rpc_id_read(const struct json_value *value, struct rpc_id *ret);

bool rpc_id_equals(const struct rpc_id *left, const struct rpc_id *right);

void rpc_id_done(struct rpc_id *id);

#endif
