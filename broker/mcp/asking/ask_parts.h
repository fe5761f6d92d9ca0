/* SPDX-License-Identifier: Apache-2.0
 *
 * The questions of a call, shared by the files of ask.h.
 */
#ifndef BROKER_MCP_ASKING_ASK_PARTS_H
#define BROKER_MCP_ASKING_ASK_PARTS_H

#include <inttypes.h>

#include "mcp/asking/ask.h"

/* Ids of our requests: clients have ids of their own, so the name helps readers of a transcript. */
#define ASK_ID_FORMAT "msp-%" PRIu64
#define ASK_ID_ROOM 32

#define ASK_MISFIT "the answer does not match the form of its question"

struct question {
	struct question *next;
	char *key;
	enum ask_kind kind;
	struct buffer params; /* empty: none */
	bool is_open;         /* asked, and not answered */
	bool is_answered;
	uint64_t number;         /* number of our request in the legacy era; 0: there is none */
	struct json_tree answer; /* set unless the answer is in one of the trees below */
	struct buffer problem;
	struct ask_input input;
};

struct ask {
	const struct asker *asker;
	const void *row;
	struct ask_origin origin;
	struct json_tree arguments; /* empty: none */
	struct json_tree inputs;    /* the answers that came with the request */
	struct ask_state state;     /* the state of earlier rounds, or all zero */
	struct question *questions; /* oldest first */
	unsigned int open_count;
	unsigned int missing; /* abilities that the questions need and the client lacks */
	const char *misfit;   /* key of an answer that does not fit its question */
	size_t bytes;         /* its part of the host's ask_bytes */
};

/* Take bytes of the host's bound, or give them back. False: none are left. */
bool ask_count(struct call *call, size_t bytes);

/* Return the ability that a question of this kind needs, and its method. */
enum ability ask_ability(enum ask_kind kind);
const char *ask_method(enum ask_kind kind);

/* Return true if `value` has the form of an answer to that kind. */
bool ask_fits(enum ask_kind kind, const struct json_document *document,
	      const struct json_value *value);

/* Find the question `key`, or NULL. */
struct question *ask_find(const struct ask *ask, const char *key, size_t size);

#endif
