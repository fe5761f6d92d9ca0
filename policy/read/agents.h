/* SPDX-License-Identifier: Apache-2.0
 *
 * The agents that `msp agent` knows: the built-in rows (policy/agents/agents.yaml), and the rows of
 * `agents` in the operator's file, each of which adds an agent or replaces keys of a known one.
 */
#ifndef POLICY_READ_AGENTS_H
#define POLICY_READ_AGENTS_H

#include "policy/read/source.h"

/* The agents of a file, and all together. */
#define AGENTS_MAX 64U

/* In the first part of a name that a set extends (policy/read/kept.c): "agent.claude". */
#define AGENTS_MARK "agent."
#define AGENTS_LOGIN ".login"
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

#endif
