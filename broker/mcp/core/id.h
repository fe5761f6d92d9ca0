/* SPDX-License-Identifier: Apache-2.0
 *
 * A JSON-RPC request id: echoed exactly as it came, compared by its meaning.
 */
#ifndef BROKER_MCP_CORE_ID_H
#define BROKER_MCP_CORE_ID_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/json/read.h"

/* Bounded, because it is echoed and kept for every request in flight. */
#define RPC_ID_BYTES_MAX 65536U

/* An all-zero struct is "no id". */
struct rpc_id {
	char *raw; /* as it came, quotes included */
	size_t raw_size;
	char *meaning; /* a type letter, then the decoded string or the integer's decimal digits */
	size_t meaning_size;
};

/* Read an id: a string that is not decoded yet, or an integer in the range of every JSON
 * implementation. The value stays unchanged. False: another value, and nothing is set. The caller
 * frees the id with rpc_id_done(). */
bool rpc_id_read(const struct json_value *value, struct rpc_id *ret);

bool rpc_id_equals(const struct rpc_id *left, const struct rpc_id *right);

void rpc_id_done(struct rpc_id *id);

#endif
