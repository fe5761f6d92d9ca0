/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that a sandbox lacks and the caller's PATH has: the line that brings it. Toolchains lie
 * in homes, which no sandbox shows unasked.
 */
#ifndef CLI_SHOW_MISSING_PROGRAM_H
#define CLI_SHOW_MISSING_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

struct plan;

#define MISSING_PROGRAM_TEXT_MAX 2048

/* Search the caller's PATH for the program of this name, and write the line. A remedy is named only
 * if it would be accepted. False: the program is not on PATH. */
bool missing_program_describe(const struct plan *plan, const char *profile, const char *name,
			      char text[MISSING_PROGRAM_TEXT_MAX]);

/* Read the name from a shell's line at the end of an error output, such as "sh: 1: node: not
 * found". False: there is no such line. */
bool missing_program_read(const char *tail, size_t size, char *ret, size_t room);

#endif
