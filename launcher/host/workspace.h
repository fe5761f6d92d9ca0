/* SPDX-License-Identifier: Apache-2.0
 *
 * Directories of the host that a sandbox works on: which of them a request may name, and opening
 * the one that it names. What a model wrote is a path at most; what is opened is what was checked.
 *
 * A person may name what is not protected and, where the operator's file has `workspaces`, lies in
 * one of them. A request of a broker may come from a model: it has to lie in one of the
 * `workspaces` too and, where `msp serve --workspace` named directories, in one of those. Where
 * nobody named any, there is the directory that `msp serve` was started in, unless something of it
 * is protected.
 */
#ifndef LAUNCHER_HOST_WORKSPACE_H
#define LAUNCHER_HOST_WORKSPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/limits.h"
#include "common/plan/plan.h"

struct workspace_words {
	uint32_t count;
	const char *words[CLIENT_WORKSPACES_MAX];
};

/* struct workspace_words, appended. */
const char *workspace_set_word(void *member, const char *value);

/* Directories that requests of a client may name, beside those of the operator's file. */
struct workspaces {
	uint32_t count;
	bool is_start;                   /* the one is where msp was started; nobody named it */
	int list[CLIENT_WORKSPACES_MAX]; /* O_PATH */
};

#define WORKSPACE_TEXT_MAX IPC_LIST_MAX

/*
 * Open what was given or, when nothing was, the working directory (which may fail: then there is
 * none). 0 with the descriptors in *ret, the caller's; -1 with a line in `text`, and nothing open.
 */
int workspaces_open(const struct workspace_words *words, struct workspaces *ret,
		    char text[WORKSPACE_TEXT_MAX]);

/* May all of those that were given be shown under this plan? 0, or -1 with a line in `text`. */
int workspaces_check(const struct workspaces *workspaces, const struct plan *plan,
		     char text[WORKSPACE_TEXT_MAX]);

void workspaces_close(struct workspaces *workspaces);

/*
 * Open the directory that a request names. A descriptor (O_PATH), the caller's, with its canonical
 * path in `ret`; or -1 with one line in `text`: the path, the rule and what helps. What a model
 * asks for in vain tells it nothing of what there is outside of the directories that are open to
 * it.
 */
int workspace_open(const char *path, bool is_person, const struct plan *plan,
		   const struct workspaces *workspaces, char ret[IPC_PATH_MAX],
		   char text[WORKSPACE_TEXT_MAX]);

#endif
