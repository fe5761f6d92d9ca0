/* SPDX-License-Identifier: Apache-2.0 */
#include "ask/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/text/format.h"

int terminal_make_raw(struct terminal *terminal, int fd)
{
	struct termios raw;

	if (tcgetattr(fd, &terminal->before) != 0)
		return -errno;
	raw = terminal->before;
	cfmakeraw(&raw);
	if (tcsetattr(fd, TCSADRAIN, &raw) != 0)
		return -errno;
	terminal->fd = fd;
	terminal->is_raw = true;
	return 0;
}

void terminal_restore(struct terminal *terminal)
{
	sigset_t stop;
	sigset_t before;

	if (!terminal->is_raw)
		return;
	terminal->is_raw = false;
	/* In the background, changing the terminal would stop us half-way through our end. */
	(void)sigemptyset(&stop);
	(void)sigaddset(&stop, SIGTTOU);
	(void)sigprocmask(SIG_BLOCK, &stop, &before);
	(void)tcsetattr(terminal->fd, TCSADRAIN, &terminal->before); /* it may have been hung up */
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
}

bool terminal_is_ours(int fd)
{
	const pid_t group = tcgetpgrp(fd);

	return group < 0 || group == getpgrp();
}

void terminal_follow(struct terminal *terminal, int fd, int to)
{
	if (!terminal->is_raw && terminal_is_ours(fd) && terminal_make_raw(terminal, fd) == 0)
		terminal_copy_size(fd, to);
}

void terminal_copy_size(int from, int to)
{
	struct winsize size;

	if (ioctl(from, TIOCGWINSZ, &size) == 0)
		(void)ioctl(to, TIOCSWINSZ, &size); /* a workload without its size still works */
}

int terminal_reopen(int fd, int access_mode)
{
	char path[32];
	int again;

	format_text(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, access_mode | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return again < 0 ? -errno : again;
}
