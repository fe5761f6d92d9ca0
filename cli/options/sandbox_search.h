/* SPDX-License-Identifier: Apache-2.0
 *
 * Which sandbox a person means by a word that is no name or id of their own: the one whose id
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
	uint32_t found; /* ids that begin with it */
	char id[IPC_ID_MAX];
	char owner[IPC_NAME_MAX];
	char profile[IPC_NAME_MAX];
};

/* False: the word is no beginning of an id. `word` must outlive the search. */
bool sandbox_search_begin(struct sandbox_search *search, const char *word);

/* One of those that there are. */
void sandbox_search_add(struct sandbox_search *search, const struct ipc_sandbox_info *info);

/* Explain a search that found none or several. */
void sandbox_search_explain(const struct sandbox_search *search, struct ipc_execution_refused *ret);

#endif
