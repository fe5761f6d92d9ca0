/* SPDX-License-Identifier: Apache-2.0
 *
 * relay PROGRAM ARGUMENT...: each line of its input starts the command and is answered with a line
 * when that has ended. What the kernel takes for the processes of an execution, when nobody reads a
 * request, checks, records, mounts or confines anything: who reads the line, who decides, who has
 * waited to become the program, and whose child that is. bench.py compiles it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static char **command;

static _Noreturn void fail(const char *what)
{
	(void)fprintf(stderr, "relay: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static _Noreturn void execute(void)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0)
		(void)execv(command[0], command);
	_exit(127);
}

static void await(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		fail(command[0]);
	if (status != 0) {
		(void)fprintf(stderr, "relay: %s: ended with status %#x\n", command[0], status);
		_exit(1);
	}
}

static void pair(int ends[2])
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
		fail("socketpair");
}

/* False at the end of who sends. */
static bool take(int fd)
{
	char byte;

	return read(fd, &byte, 1) == 1;
}

static void pass(int fd)
{
	if (write(fd, "\n", 1) != 1)
		_exit(0); /* the one before us has ended */
}

static bool begin_process(void)
{
	const pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	return pid == 0;
}

/* Has a process wait that becomes the command, as soon as the last one has ended. */
static _Noreturn void be_init(int orders, int ends)
{
	for (;;) {
		const pid_t pid = fork();

		if (pid == 0) {
			if (!take(orders))
				_exit(0);
			execute();
		}
		await(pid);
		pass(ends);
	}
}

static _Noreturn void be_supervisor(int client, int orders, int ends)
{
	while (take(client)) {
		pass(orders);
		if (!take(ends))
			break;
		pass(client);
	}
	_exit(0);
}

static int relay(void)
{
	int client[2], orders[2], ends[2];

	/* Each end has one holder, so that everybody sees the end of who is before. */
	pair(orders);
	pair(ends);
	if (begin_process()) {
		(void)close(orders[0]);
		(void)close(ends[0]);
		be_init(orders[1], ends[1]);
	}
	(void)close(orders[1]);
	(void)close(ends[1]);
	pair(client);
	if (begin_process()) {
		(void)close(client[0]);
		be_supervisor(client[1], orders[0], ends[0]);
	}
	(void)close(client[1]);
	(void)close(orders[0]);
	(void)close(ends[0]);
	while (take(STDIN_FILENO)) {
		pass(client[0]);
		if (!take(client[0]))
			return 1;
		pass(STDOUT_FILENO);
	}
	(void)close(client[0]);
	while (waitpid(-1, NULL, 0) > 0)
		;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 64;
	command = argv + 1;
	return relay();
}
