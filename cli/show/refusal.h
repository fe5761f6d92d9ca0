/* SPDX-License-Identifier: Apache-2.0
 *
 * Refusals of a supervisor, in one line with the remedy.
 */
#ifndef CLI_SHOW_REFUSAL_H
#define CLI_SHOW_REFUSAL_H

#include "frontend/refusal_text.h"

struct ipc_execution_refused;

/* Environment variable that names the default profile, for refusal_words. */
#define PROFILE_VARIABLE "MSP_DEFAULT_PROFILE"

/* Say on stderr why the supervisor refused, with the words of the request. `plan` is the one in
 * force, sealed; -1: it is not known. */
void refusal_explain(const struct ipc_execution_refused *refused, const struct refusal_words *words,
		     int plan);

#endif
