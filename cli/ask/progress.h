/* SPDX-License-Identifier: Apache-2.0
 *
 * The line on stderr that shows the progress of a command, from its second second on. It is there
 * only if stderr is a terminal, msp is in its foreground, and -q was not given. There is one line
 * in a process, and its texts are those of literals.
 */
#ifndef CLI_ASK_PROGRESS_H
#define CLI_ASK_PROGRESS_H

#include <stdint.h>

/* Begin to measure the time of an act, such as "comparing files". NULL: show no line. */
void progress_begin(const char *act);

/* Note the present act, and `done` of `total` files; a `total` of 0 is unknown. */
void progress_note(const char *act, uint64_t done, uint64_t total);

/* Return the milliseconds until the line shall be drawn; -1: never. */
int progress_wait_ms(void);

/* Draw the line if it is time. */
void progress_draw(void);

/* Remove the line before a message on stderr, as main does for those of the log; it comes again. */
void progress_hide(void);

/* Make room for output on stdout: remove the line if that is the terminal too; for good if it is a
 * pipe, whose reader may show it there. */
void progress_yield(void);

/* Remove the line for good. */
void progress_end(void);

#endif
