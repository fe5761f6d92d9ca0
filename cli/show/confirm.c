/* SPDX-License-Identifier: Apache-2.0 */
#include "show/confirm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

bool confirm_is_possible(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

bool confirm_is_yes(char *line)
{
	line[strcspn(line, "\r\n")] = '\0';
	return strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0;
}

bool confirm(const char *text)
{
	char line[256];
	ssize_t got;

	(void)fflush(stdout);
	(void)fprintf(stderr, "%s [y/N] ", text);
	do
		got = read(STDIN_FILENO, line, sizeof(line) - 1);
	while (got < 0 && errno == EINTR);
	line[got > 0 ? got : 0] = '\0';
	if (got <= 0)
		(void)fputc('\n', stderr);
	return confirm_is_yes(line);
}
