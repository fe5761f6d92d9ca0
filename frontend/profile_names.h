/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FRONTEND_PROFILE_NAMES_H
#define FRONTEND_PROFILE_NAMES_H

#include <stddef.h>

struct plan;

/* Between two names. */
#define PROFILE_NAMES_SEPARATOR ", "

/* Room for the names in a line for people. */
#define PROFILE_NAMES_SHOWN 1024

/* Write the names of the profiles that a request may name into `ret`, of `size` bytes: as many as
 * fit. */
void profile_names(const struct plan *plan, char *ret, size_t size);

#endif
