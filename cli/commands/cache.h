/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of `msp cache`.
 */
#ifndef CLI_COMMANDS_CACHE_H
#define CLI_COMMANDS_CACHE_H

#include <stddef.h>

/* Append the names of the tools whose caches can be shared, with a space between them. */
void cache_list_tools(char *text, size_t room);

#endif
