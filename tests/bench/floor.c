/* SPDX-License-Identifier: Apache-2.0
 *
 * floor relay PROGRAM ARGUMENT...         each line of its input starts the command and is answered
 *                                         with a line when that has ended
 * floor namespaces N PROGRAM ARGUMENT...  N at once of a command, each in namespaces of its own,
 *                                         begun again when one ends
 *
 * What the kernel takes for the processes and namespaces of an execution, when nobody reads a
 * request, checks, records, mounts or confines anything. The relay has those that an execution of
 * msp goes through: who reads the line, who decides, who has waited to become the program, and
 * whose child that is. Of the namespaces each line of the input is a number of milliseconds, as of
 * client.c. bench.py compiles it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST 64
#define NAMESPACES                                                                                 \
	(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)

static char **command;

static _Noreturn void fail(const char *what)
{
	(void)fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* fails for no clock that exists */
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static int execute(void *context)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)context;
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
		(void)fprintf(stderr, "floor: %s: ended with status %#x\n", command[0], status);
		_exit(1);
	}
}

static void reap_all(void)
{
	while (waitpid(-1, NULL, 0) > 0)
		;
}

/* --- relay --- */

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
			execute(NULL);
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
	reap_all();
	return 0;
}

/* --- namespaces --- */

static _Noreturn void work(uint64_t end, int done_fd)
{
	static char stack[65536] __attribute__((aligned(16)));
	unsigned long done = 0;

	for (; now_ns() < end; done++)
		await(clone(execute, stack + sizeof(stack),
			    NAMESPACES | CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
	_exit(write(done_fd, &done, sizeof(done)) == (ssize_t)sizeof(done) ? 0 : 1);
}

static unsigned long launch(int count, uint64_t end)
{
	unsigned long all = 0;
	unsigned long one;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		fail("pipe");
	for (int i = 0; i < count; i++) {
		if (begin_process())
			work(end, ends[1]);
	}
	(void)close(ends[1]);
	for (int i = 0; i < count; i++) {
		if (read(ends[0], &one, sizeof(one)) != (ssize_t)sizeof(one))
			_exit(1); /* that one has said why */
		all += one;
	}
	(void)close(ends[0]);
	reap_all();
	return all;
}

static int namespaces(int count)
{
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		const uint64_t start = now_ns();
		const unsigned long done =
			launch(count, start + strtoul(line, NULL, 10) * 1000000U);

		(void)printf("%lu %lu\n", done, now_ns() - start);
		(void)fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const int count = argc >= 4 ? atoi(argv[2]) : 0;

	if (argc >= 3 && strcmp(argv[1], "relay") == 0) {
		command = argv + 2;
		return relay();
	}
	if (argc < 4 || strcmp(argv[1], "namespaces") != 0 || count < 1 || count > MOST)
		return 64;
	command = argv + 3;
	return namespaces(count);
}
