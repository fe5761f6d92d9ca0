/* SPDX-License-Identifier: Apache-2.0
 *
 * A command that somebody else chose, shown to a person.
 */
#ifndef CLI_SHOW_WORDS_H
#define CLI_SHOW_WORDS_H

#include <stddef.h>

/* Print arguments on stdout as a shell would take them, each in single quotes where it needs them,
 * without anything that a terminal obeys. A NUL is after each; if it is not after the last one,
 * that is cut off, and " ..." follows it. */
void words_print(const char *argv, size_t size);

#endif
