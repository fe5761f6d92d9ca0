/* SPDX-License-Identifier: Apache-2.0 */
#include "show/print.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void print_wrapped(const char *text, int column, int width)
{
	int at = column;

	while (*text != '\0') {
		const int size = (int)strcspn(text, " ");

		if (at > column && at + 1 + size > width) {
			(void)printf("\n%*s", column, "");
			at = column;
		} else if (at > column) {
			(void)putchar(' ');
			at++;
		}
		(void)printf("%.*s", size, text);
		at += size;
		text += size;
		text += strspn(text, " ");
	}
	(void)putchar('\n');
}

bool print_is_unread(int wait_ms)
{
	struct pollfd entry = { .fd = STDOUT_FILENO };

	return poll(&entry, 1, wait_ms) > 0 && (entry.revents & (POLLERR | POLLHUP)) != 0;
}

int print_flush(void)
{
	struct pollfd entry = { .fd = STDOUT_FILENO };
	const int error = fflush(stdout) == 0 ? 0 : errno;

	if (!error && !ferror(stdout))
		return 0;
	/* An earlier write has failed: its error is not known. */
	if (poll(&entry, 1, 0) == 1 && (entry.revents & POLLERR))
		return -EPIPE;
	return error ? -error : -EIO;
}
