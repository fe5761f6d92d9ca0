/* SPDX-License-Identifier: Apache-2.0
 *
 * The caller's terminal while a workload has one of its own: raw, and given back as it was.
 */
#ifndef CLI_ASK_TERMINAL_H
#define CLI_ASK_TERMINAL_H

#include <stdbool.h>
#include <termios.h>

struct terminal {
	int fd;
	bool is_raw;
	struct termios before;
};

/* Return whether we may read and change `fd`: false if it is a terminal and we are a background job
 * of its shell, which would be stopped. */
bool terminal_is_ours(int fd);

/* If the terminal is ours and not raw, make it so, and give its size to the terminal `to`. */
void terminal_follow(struct terminal *terminal, int fd, int to);

/* Pass every key through from now on. In the background this stops the process until it is brought
 * to the foreground. 0 or -errno. */
int terminal_make_raw(struct terminal *terminal, int fd);

/* Give it back; safe to call at any time and more than once. */
void terminal_restore(struct terminal *terminal);

/* Tell the terminal `to`, which may be -1, the size of the terminal `from`. */
void terminal_copy_size(int from, int to);

/* An own, non-blocking opening of the terminal behind `fd`, or -errno when we may not open it. */
int terminal_reopen(int fd, int access_mode);

#endif
