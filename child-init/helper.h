/* SPDX-License-Identifier: Apache-2.0
 *
 * Starts one of our own helpers (msp-broker, msp-layers) in namespaces and a file tree of its own.
 */
#ifndef CHILD_INIT_HELPER_H
#define CHILD_INIT_HELPER_H

#include "factory.h"

/* The plan's profile that says what a helper's tree holds. */
#define HELPER_PROFILE "_helper"

/* Descriptors as in the message helper_start. Never returns. */
void helper_run(const struct factory *factory, uint32_t profile, const int *fds)
	__attribute__((noreturn));

#endif
