/* SPDX-License-Identifier: Apache-2.0
 *
 * A question to the person at the terminal.
 */
#ifndef CLI_SHOW_CONFIRM_H
#define CLI_SHOW_CONFIRM_H

#include <stdbool.h>

/* Are standard input and output a terminal, so that a person can answer? */
bool confirm_is_possible(void);

/* Is this line of a terminal, which is changed, a yes? */
bool confirm_is_yes(char *line);

/* Ask on standard error and read the answer; false at the end of the input. Ctrl-C ends msp. */
bool confirm(const char *text);

#endif
