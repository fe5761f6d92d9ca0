/* SPDX-License-Identifier: Apache-2.0
 *
 * Refusals of a supervisor, in one line with the remedy, and as an exit code.
 */
#ifndef CLI_SHOW_REFUSAL_H
#define CLI_SHOW_REFUSAL_H

#include <stdbool.h>

#include "common/ipc.h"

/* The request, as far as the texts need it; NULL: the request has no such word. */
struct refusal_words {
	const char *profile;
	bool is_variable; /* MSP_DEFAULT_PROFILE named it */
	const char *cwd;
	const char *sandbox;
	const char *name; /* a new sandbox's */
	const char *checkpoint;
	const char *workspace;
};

void refusal_explain(const struct ipc_execution_refused *refused,
		     const struct refusal_words *words);

int refusal_exit_code(uint32_t reason);

#endif
