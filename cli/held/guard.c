/* SPDX-License-Identifier: Apache-2.0 */
#include "held/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"

#define WRITE_MS 500 /* a terminal that is stopped takes nothing */

/* A terminal that others hold too takes at least this when poll(2) says that it takes any. */
#define SMALL_WRITE ((size_t)256)

/* The title of the window is given back; a terminal that did not keep it ignores this. */
#define TITLE_GIVE_BACK "\x1b[23;0t"

enum place { PLACE_ALIVE = 3, PLACE_COUNT };

void guard_write(int to, const char *text, size_t size)
{
	struct pollfd entry = { .fd = to, .events = POLLOUT };

	while (size > 0 && poll(&entry, 1, WRITE_MS) > 0) {
		const ssize_t put = write(to, text, size < SMALL_WRITE ? size : SMALL_WRITE);

		if (put < 0 && errno != EAGAIN && errno != EINTR)
			return;
		text += put > 0 ? put : 0;
		size -= put > 0 ? (size_t)put : 0;
	}
}

void guard_write_reset(int to, const struct modes *modes)
{
	char text[MODES_TEXT_MAX];

	guard_write(to, text, modes_write_reset(modes, text));
	guard_write(to, TITLE_GIVE_BACK, strlen(TITLE_GIVE_BACK));
}

/* Give the terminal back. A shell that has set it up for itself by now keeps that. */
static void restore_terminal(const struct guard_shared *shared)
{
	struct termios now;

	guard_write_reset(STDOUT_FILENO, &shared->modes);
	if (tcgetattr(STDIN_FILENO, &now) == 0 && !(now.c_lflag & (ICANON | ISIG | ECHO)))
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &shared->before); /* it may be gone */
}

/* Be the guard: wait until the other process has ended. */
static void guard_terminal(int alive, const struct guard_shared *shared)
{
	const int fds[PLACE_COUNT] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, alive };
	sigset_t all;
	char byte;

	/* A hang-up or a signal to the group would end both at once; in the background, SIGTTOU
	 * would stop this one. */
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	/* Connections of the other process end with it. */
	if (fd_place(fds, NULL, PLACE_COUNT, 0) != 0)
		_exit(1);
	while (read(PLACE_ALIVE, &byte, 1) < 0 && errno == EINTR)
		;
	if (shared->is_taken)
		restore_terminal(shared);
	_exit(0);
}

void guard_begin(struct guard *guard)
{
	static struct guard_shared own;
	void *shared = mmap(NULL, sizeof(*guard->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ends[2];

	own = (struct guard_shared){ 0 };
	*guard = (struct guard){ .alive = -1, .shared = &own };
	if (shared == MAP_FAILED)
		return;
	guard->is_mapped = true;
	guard->shared = shared;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return;
	guard->pid = fork();
	if (guard->pid == 0)
		guard_terminal(ends[0], shared);
	fd_close(&ends[0]);
	guard->alive = ends[1];
	if (guard->pid < 0)
		guard->pid = 0;
}

void guard_end(struct guard *guard)
{
	fd_close(&guard->alive);
	while (guard->pid > 0 && waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
		;
	guard->pid = 0;
	if (guard->is_mapped)
		(void)munmap(guard->shared, sizeof(*guard->shared)); /* cannot fail: it is ours */
	guard->is_mapped = false;
	guard->shared = NULL;
}
