/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandboxes that last, as far as this broker knows of them: what the supervisor said of each
 * when one of their owner's calls was about it. The supervisor has the truth and is asked; what is
 * kept here serves what cannot wait for its answer (lists of resources, subscriptions), what never
 * changes (the profile of an id), and runs by a name, which the supervisor corrects.
 */
#ifndef BROKER_MCP_SANDBOXES_H
#define BROKER_MCP_SANDBOXES_H

#include "mcp/errand.h"
#include "mcp/host.h"

/* An id and the NUL. */
_Static_assert(IPC_ID_MAX == SANDBOX_ID_CHARS + 1, "one form of an id");

/* Known of all principals together, who share it (share.h): beyond its share, those of a principal
 * that were heard of longest ago are forgotten. */
#define SANDBOXES_KNOWN_MAX 1024U

struct known_sandbox {
	struct known_sandbox *next; /* the one heard of before */
	uint32_t principal;
	char id[IPC_ID_MAX];
	char name[IPC_NAME_MAX];
	char profile[IPC_NAME_MAX];
};

/* How the supervisor knows this principal as an owner; "" is the user. Valid during the call. */
const char *sandboxes_owner(const struct host *host, uint32_t principal);

/* What a name is made of; it begins with none of "-.". */
#define SANDBOX_NAME_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

/* Has this text the form of an id? Then it is no name. */
bool sandboxes_is_id(const char *text);

/* The supervisor said that this principal has it; or that it has none of this id any more. */
void sandboxes_learn(struct host *host, uint32_t principal, const struct ipc_sandbox_info *info);
void sandboxes_forget(struct host *host, uint32_t principal, const char *id);
void sandboxes_forget_all(struct host *host);

/* The principal's known one with this id; NULL: not known, or not the principal's. */
const struct known_sandbox *sandboxes_known(const struct host *host, uint32_t principal,
					    const char *id);

/* The id of the principal's known one that is called so, by its id or its name; NULL: not known. */
const char *sandboxes_id_of(const struct host *host, uint32_t principal, const char *called);

/* The principal's next after this one, or its first; NULL at the end. */
const struct known_sandbox *sandboxes_next(const struct host *host, uint32_t principal,
					   const struct known_sandbox *before);

/* The parameter `sandbox` of every tool that has it; room for what it holds is IPC_NAME_MAX. */
#define SANDBOX_PARAM(required, text)                                                              \
	{                                                                                          \
		.name = "sandbox", .kind = PARAM_TEXT, .is_required = (required),                  \
		.bytes_max = IPC_NAME_MAX - 1, .description = (text)                               \
	}
#define SANDBOX_TEXT "Id or name of a persistent sandbox."

/* A checked value of it: its text, which is never empty. False: the call has failed. */
bool sandboxes_take(struct call *call, const struct json_value *value, char ret[IPC_NAME_MAX]);

/* --- looking one up --------------------------------------------------------------------------- */

/* A call that asks the supervisor which sandbox is meant. Part of what the tool makes of it. */
struct sandbox_search {
	struct errand errand; /* first; free for the next request once it was found */
	void (*found)(struct sandbox_search *search);
	char wanted[IPC_NAME_MAX];
	bool is_found;
	struct ipc_sandbox_info info; /* of the one that was found */
};

/*
 * Look for `search->wanted`, then call `search->found`; both are set. If there is none of that id
 * or name, the call fails with the words of the supervisor for one that it does not know. `rules`
 * as for errand_begin(); while it is looked for, its `answered` is sandbox_search_take().
 */
void sandbox_search_begin(struct sandbox_search *search, struct call *call,
			  const struct errand_rules *rules);
void sandbox_search_take(struct errand *errand, const struct supervisor_answer *answer);

#endif
