/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandbox that a person means by a word: the one of this name or id, or else the one whose id
 * begins with it, of whatever owner. The supervisor knows whole ids and names only.
 */
#ifndef CLI_OPTIONS_SANDBOX_SEARCH_H
#define CLI_OPTIONS_SANDBOX_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/limits.h"

struct ipc_execution_refused;
struct ipc_sandbox_info;

/* Is this word "-1", "-2", ... "-99": a kept run, counted from the newest one? */
bool sandbox_is_recent(const char *word, uint32_t *ret_number);

/* Less of an id is rather a name with a slip in it. */
#define SANDBOX_SEARCH_MIN 4

struct sandbox_search {
	const char *word;
	bool is_beginning; /* it may be that of an id */
	bool is_exact;     /* it is a name, or the whole id */
	uint32_t found;    /* ids that begin with it; with is_exact: 1 */
	/* The last one that was found. */
	char id[IPC_ID_MAX];
	char name[IPC_NAME_MAX];
	char owner[IPC_NAME_MAX];
	char profile[IPC_NAME_MAX];
	bool is_live;
};

/* False: the word is no beginning of an id. `word` must outlive the search. */
bool sandbox_search_begin(struct sandbox_search *search, const char *word);

/* Add one of those that there are, by its id alone; or by its id or its name, for a struct
 * sandbox_search. */
void sandbox_search_add(struct sandbox_search *search, const struct ipc_sandbox_info *info);
void sandbox_search_add_named(void *search, const struct ipc_sandbox_info *info);

/* Explain a search that found none or several. */
void sandbox_search_explain(const struct sandbox_search *search, struct ipc_execution_refused *ret);

#endif
