/* SPDX-License-Identifier: Apache-2.0
 *
 * The words for a runner that could not be executed: a command of its profile never was.
 */
#ifndef FRONTEND_RUNNER_TEXT_H
#define FRONTEND_RUNNER_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/plan/plan.h"

#define RUNNER_TEXT_MAX 1024

/* Print a sentence with the remedy. False: the profile has no runner, or the plan is not known. */
bool runner_print_failure(const struct plan *plan, const char *profile, uint32_t error,
			  char ret[RUNNER_TEXT_MAX]);

#endif
