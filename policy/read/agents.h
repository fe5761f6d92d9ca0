/* SPDX-License-Identifier: Apache-2.0
 *
 * The agents that `msp agent` knows: the built-in rows (policy/agents/agents.yaml), and the rows of
 * `agents` in the operator's file, each of which adds an agent or replaces keys of a known one.
 */
#ifndef POLICY_READ_AGENTS_H
#define POLICY_READ_AGENTS_H

#include "policy/read/profile.h"
#include "policy/read/source.h"

/* The agents of a file, and all together. */
#define AGENTS_MAX 64U

#define AGENTS_NAME_MAX 24

struct agent {
	const char *name; /* in `row` */
	const char *file; /* its origin; the operator's if that says any key */
	uint32_t index;   /* in the list of that file */
	struct node row;  /* its keys; those of another file have the line of this file's row */
};

struct agents {
	uint32_t count;
	struct agent of[AGENTS_MAX];
};

/* Make the built-in rows. Free them with agents_free(), which returns NULL. NULL with *error set on
 * a mistake in them. */
struct agents *agents_new(struct policy_error *error);
struct agents *agents_free(struct agents *agents);

/* Take over `agents` of a file, whose name must live as long. 0, or -1 with *error set. */
int agents_add(struct agents *agents, const struct source *source, struct policy_error *error);

/* Find an agent by its name, or return NULL. */
const struct agent *agents_find(const struct agents *agents, const char *name);

/* Append the facts of an agent, a line each: a word, a tab and a value. In the text of a file a
 * newline, a tab and a backslash are "\n", "\t" and "\\". */
void agents_print(const struct agent *agent, struct buffer *text);

/* The profile of an agent is "agent.NAME", and "agent.NAME.login" with the hosts of its login. No
 * file can have such a name. */
#define AGENTS_MARK "agent."
#define AGENTS_LOGIN ".login"

/* The one name by which an agent reaches a model on this machine. */
#define AGENTS_MODEL "model.local"

/* Additions to the profile of an agent for one sandbox. */
struct agent_use {
	bool has_login;
	uint32_t model_port;                /* on the loopback of this machine; 0: none */
	const char *keys[PLAN_SECRETS_MAX]; /* the file of each of its keys; NULL: without it */
};

/* Return whether a name is one of a profile of an agent, there or not. */
bool agents_is_profile(const char *name);

/* Find the agent of a profile's name, and set whether that has a login; or return NULL. */
const struct agent *agents_of(const struct agents *agents, const char *name, struct agent_use *ret);

/* Return the index of a key of an agent by its variable, or -1. */
int agents_key(const struct agent *agent, const char *name);

/* Make the profile of an agent as a file would have it. Free it with source_free(). */
struct source *agents_source(const struct agent *agent, const struct agent_use *use);

/* Turn a mistake in that source into one of the agent's row. */
void agents_name_error(const struct agent *agent, struct policy_error *error);

#endif
