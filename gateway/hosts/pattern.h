/* SPDX-License-Identifier: Apache-2.0
 *
 * Patterns of host names: a name, or "*." and a name. The asterisk stands for exactly one label, as
 * in certificates, so a host below an allowed one is named by itself.
 */
#ifndef GATEWAY_HOSTS_PATTERN_H
#define GATEWAY_HOSTS_PATTERN_H

#include "gateway/hosts/name.h"

#include <stdbool.h>

#define HOST_PATTERN_MAX_SIZE 256U /* with its NUL */

/* Read `size` bytes as a pattern. On HOST_SOUND `ret` has its one spelling; else it is unchanged.
 */
enum host_fault host_pattern_read(const char *text, size_t size, char ret[HOST_PATTERN_MAX_SIZE]);

/* Return whether a pattern that was read covers a name that was read. */
bool host_pattern_covers(const char *pattern, const char *name);

/* Return the name below which a wildcard covers, or NULL: the pattern is a name. */
const char *host_pattern_parent(const char *pattern);

#endif
