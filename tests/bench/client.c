/* SPDX-License-Identifier: Apache-2.0
 *
 * client spawn N PROGRAM ARGUMENT...   N at once of a command, begun again when one ends
 * client serve N PROGRAM ARGUMENT...   N sessions of an MCP server, each with one call of /bin/true
 *                                      at a time
 * client bytes N PROGRAM ARGUMENT...   N at once of a command whose output is read and thrown away
 * client namespaces N PROGRAM ARGUMENT...
 *                                      as spawn, each in namespaces of its own and nothing else, by
 *                                      N processes, since who starts one makes its namespaces
 * client rest N                        for each line N more processes in such namespaces, which do
 *                                      nothing until the client ends
 *
 * Each line of its input is a number of milliseconds, 0 for "each once"; it answers with how many
 * ended and in how many nanoseconds, and waits for the next. Each command has the file that
 * CLIENT_FILTER names, newly opened, as descriptor 9: bwrap reads its filter there. A client in
 * python would take a part of the processors that it measures. bench.py compiles it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST 64
#define FILTER_FD 9
#define NAMESPACES                                                                                 \
	(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)
#define INITIALIZE                                                                                 \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" \
	"\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}" \
	"}}\n"
#define CALL                                                                                       \
	"{\"jsonrpc\":\"2.0\",\"id\":%lu,\"method\":\"tools/"                                      \
	"call\",\"params\":{\"name\":\"run_command\","                                             \
	"\"arguments\":{\"argv\":[\"/bin/true\"]}}}\n"

extern char **environ;

struct session {
	int to, from;
	size_t used;
	char answer[65536];
};

static struct session sessions[MOST];
static int count;
static char **command;

static _Noreturn void fail(const char *what)
{
	(void)fprintf(stderr, "client: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* fails for no clock that exists */
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

/* Its input and output are these, or /dev/null where they are -1. */
static void spawn(int input, int output)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	const char *filter = getenv("CLIENT_FILTER");
	int error = posix_spawn_file_actions_init(&actions);

	for (int fd = 0; !error && fd < 2; fd++) {
		const int from = fd == 0 ? input : output;

		error = from >= 0 ? posix_spawn_file_actions_adddup2(&actions, from, fd)
				  : posix_spawn_file_actions_addopen(&actions, fd, "/dev/null",
								     O_RDWR, 0);
	}
	if (!error && filter)
		error = posix_spawn_file_actions_addopen(&actions, FILTER_FD, filter, O_RDONLY, 0);
	if (!error)
		error = posix_spawn(&pid, command[0], &actions, NULL, command, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	errno = error;
	if (error)
		fail(command[0]);
}

static void reap(void)
{
	int status;

	if (waitpid(-1, &status, 0) < 0 || status != 0) {
		errno = ECHILD;
		fail("a command failed");
	}
}

static unsigned long run_spawn(uint64_t end)
{
	unsigned long done = 0;
	int running = 0;

	for (; running < count; running++)
		spawn(-1, -1);
	for (; running > 0; done++) {
		reap();
		if (now_ns() < end)
			spawn(-1, -1);
		else
			running--;
	}
	return done;
}

static void write_all(int fd, const char *text, size_t size)
{
	while (size > 0) {
		const ssize_t put = write(fd, text, size);

		if (put < 0)
			fail("the server's input");
		text += put;
		size -= (size_t)put;
	}
}

/* Reads what is there; true when it is a whole line. */
static bool read_answer(struct session *session)
{
	const ssize_t got = read(session->from, session->answer + session->used,
				 sizeof(session->answer) - 1 - session->used);

	if (got <= 0)
		fail("the server's answer");
	session->used += (size_t)got;
	session->answer[session->used] = '\0';
	return session->answer[session->used - 1] == '\n';
}

static void call(struct session *session)
{
	static unsigned long id;
	char line[256];
	const int size = snprintf(line, sizeof(line), CALL, ++id);

	session->used = 0;
	write_all(session->to, line, (size_t)size);
}

static void start_session(struct session *session)
{
	int input[2], output[2];

	if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0)
		fail("pipe");
	spawn(input[0], output[1]);
	(void)close(input[0]);
	(void)close(output[1]);
	session->to = input[1];
	session->from = output[0];
	write_all(session->to, INITIALIZE, strlen(INITIALIZE));
	while (!read_answer(session)) {
	}
}

static unsigned long run_calls(uint64_t end)
{
	struct pollfd polls[MOST];
	unsigned long done = 0;
	int running = count;

	for (int i = 0; i < count; i++) {
		polls[i] = (struct pollfd){ .fd = sessions[i].from, .events = POLLIN };
		call(&sessions[i]);
	}
	while (running > 0) {
		if (poll(polls, (nfds_t)count, -1) < 0)
			fail("poll");
		for (int i = 0; i < count; i++) {
			if (polls[i].revents == 0 || !read_answer(&sessions[i]))
				continue;
			if (!strstr(sessions[i].answer, "exit 0")) {
				errno = EPROTO;
				fail(sessions[i].answer);
			}
			done++;
			if (now_ns() < end) {
				call(&sessions[i]);
			} else {
				polls[i].fd = -1;
				running--;
			}
		}
	}
	return done;
}

/* Each once, whatever the time. */
static unsigned long run_bytes(uint64_t end)
{
	static char buffer[1 << 18];
	struct pollfd polls[MOST];
	int running = count;

	(void)end;
	for (int i = 0; i < count; i++) {
		int output[2];

		if (pipe2(output, O_CLOEXEC) != 0)
			fail("pipe");
		spawn(-1, output[1]);
		(void)close(output[1]);
		polls[i] = (struct pollfd){ .fd = output[0], .events = POLLIN };
	}
	while (running > 0) {
		if (poll(polls, (nfds_t)count, -1) < 0)
			fail("poll");
		for (int i = 0; i < count; i++) {
			if (polls[i].fd < 0 || polls[i].revents == 0)
				continue;
			if (read(polls[i].fd, buffer, sizeof(buffer)) > 0)
				continue;
			(void)close(polls[i].fd);
			polls[i].fd = -1;
			running--;
		}
	}
	for (int i = 0; i < count; i++)
		reap();
	return (unsigned long)count;
}

static int execute(void *context)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)context;
	if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0)
		(void)execv(command[0], command);
	_exit(127);
}

static _Noreturn void work(uint64_t end, int to)
{
	static char stack[65536] __attribute__((aligned(16)));
	unsigned long done = 0;

	do {
		if (clone(execute, stack + sizeof(stack),
			  NAMESPACES | CLONE_VM | CLONE_VFORK | SIGCHLD, NULL) < 0)
			fail(command[0]);
		reap();
		done++;
	} while (now_ns() < end);
	_exit(write(to, &done, sizeof(done)) == (ssize_t)sizeof(done) ? 0 : 1);
}

static unsigned long run_namespaces(uint64_t end)
{
	unsigned long done = 0;
	unsigned long one;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		fail("pipe");
	for (int i = 0; i < count; i++) {
		const pid_t pid = fork();

		if (pid < 0)
			fail("fork");
		if (pid == 0)
			work(end, ends[1]);
	}
	(void)close(ends[1]);
	for (; read(ends[0], &one, sizeof(one)) == (ssize_t)sizeof(one); done += one) {
	}
	(void)close(ends[0]);
	for (int i = 0; i < count; i++)
		reap();
	return done;
}

static unsigned long run_rest(uint64_t end)
{
	(void)end;
	for (int i = 0; i < count; i++) {
		const long pid = syscall(SYS_clone, NAMESPACES | SIGCHLD, NULL, NULL, NULL, 0UL);

		if (pid < 0)
			fail("clone");
		if (pid == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
			(void)pause();
		if (pid == 0)
			_exit(1);
	}
	return (unsigned long)count;
}

static const struct mode {
	const char *name;
	bool has_sessions;
	int arguments;
	unsigned long (*run)(uint64_t end);
} modes[] = {
	{ "spawn", false, 4, run_spawn }, { "serve", true, 4, run_calls },
	{ "bytes", false, 4, run_bytes }, { "namespaces", false, 4, run_namespaces },
	{ "rest", false, 3, run_rest },
};

int main(int argc, char **argv)
{
	const struct mode *mode = NULL;
	char line[64];

	for (size_t i = 0; argc >= 3 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(argv[1], modes[i].name) == 0)
			mode = &modes[i];
	count = mode && argc >= mode->arguments ? atoi(argv[2]) : 0;
	if (count < 1 || count > MOST)
		return 64;
	command = argv + 3;
	for (int i = 0; mode->has_sessions && i < count; i++)
		start_session(&sessions[i]);
	while (fgets(line, sizeof(line), stdin)) {
		const uint64_t start = now_ns();
		const unsigned long done = mode->run(start + strtoul(line, NULL, 10) * 1000000U);

		(void)printf("%lu %lu\n", done, now_ns() - start);
		(void)fflush(stdout);
	}
	return 0;
}
