/* SPDX-License-Identifier: Apache-2.0
 *
 * What a supervisor refuses, in one line with its remedy, and as an exit code.
 */
#ifndef CLI_SHOW_REFUSAL_H
#define CLI_SHOW_REFUSAL_H

#include <stdbool.h>

#include "common/ipc.h"

/* What was asked for, as far as the texts need it; NULL: that is not of this request. */
struct refusal_words {
	const char *profile;
	bool is_variable; /* MSP_DEFAULT_PROFILE named it */
	const char *cwd;
	const char *sandbox;
	const char *name; /* of a new sandbox */
	const char *checkpoint;
	const char *workspace;
};

void refusal_explain(const struct ipc_execution_refused *refused,
		     const struct refusal_words *words);

int refusal_exit_code(uint32_t reason);

#endif
