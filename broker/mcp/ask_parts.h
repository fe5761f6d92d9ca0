/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of ask.h share: the questions of a call.
 */
#ifndef BROKER_MCP_ASK_PARTS_H
#define BROKER_MCP_ASK_PARTS_H

#include <inttypes.h>

#include "mcp/ask.h"

/* Ids of our requests: clients have their own, so a name helps who reads a transcript. */
#define ASK_ID_FORMAT "msp-%" PRIu64
#define ASK_ID_ROOM 32

#define ASK_MISFIT "the answer does not have the form that its question asks for"

struct question {
	struct question *next;
	char *key;
	enum ask_kind kind;
	struct buffer params; /* empty: none */
	bool is_open;         /* asked, and not answered */
	bool is_answered;
	uint64_t number;         /* of our request in the legacy era; 0: there is none */
	struct json_tree answer; /* where it is not one of the trees below */
	struct buffer problem;
	struct ask_input input;
};

struct ask {
	const struct asker *asker;
	const void *row;
	struct ask_origin origin;
	struct json_tree arguments; /* empty: none */
	struct json_tree inputs;    /* the answers that came with the request */
	struct ask_state state;     /* and those before, or all zero */
	struct question *questions; /* oldest first */
	unsigned int open_count;
	unsigned int missing; /* what the client was asked for, and cannot */
	const char *misfit;   /* the key whose answer is none to it */
	size_t bytes;         /* its part of the host's ask_bytes */
};

/* The host's room, taken and given back; false: there is none left. */
bool ask_count(struct call *call, size_t bytes);

/* Of what ability it takes, and by what name it goes. */
enum ability ask_ability(enum ask_kind kind);
const char *ask_method(enum ask_kind kind);

/* Has `value` the form of an answer to that? */
bool ask_fits(enum ask_kind kind, const struct json_document *document,
	      const struct json_value *value);

/* The question `key`, or NULL. */
struct question *ask_find(const struct ask *ask, const char *key, size_t size);

/* Close a question with the answer, or with a problem; both are copied. */
void ask_settle(struct call *call, struct question *question, const struct json_document *document,
		const struct json_value *value);
void ask_settle_problem(struct call *call, struct question *question, const char *problem);

#endif
