/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/compile.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/kernel.h"
#include "common/log.h"
#include "launch/launch.h"
#include "show/format.h"

#define PROGRAM "msp-policy"
#define PREFIX PROGRAM ": "

/* Longest that compiling may take: a thousand times what it does. */
#define WAIT_MS 10000

#define PLAN_PLACE 3
#define IMAGE_PLACE 4
#define PLAN_WORD "3"

struct child {
	int image;
	int plan;   /* its output, the plan */
	int output; /* its messages */
	int null;
};

/* In the child, until its exec: it runs in our memory. The environment is empty, so that what
 * started us does not decide how a library of its behaves. */
static int become_child(const struct child *child, char *path)
{
	static char program[] = PROGRAM;
	static char command[] = "compile";
	static char config[] = "--config";
	static char fd[] = "--fd";
	static char number[] = PLAN_WORD;
	static const int places[] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, PLAN_PLACE,
				      IMAGE_PLACE };
	const int fds[] = { child->null, child->null, child->output, child->plan, child->image };
	char *const words[] = { program, command, config, path, fd, number, NULL };
	char *const environment[] = { NULL };
	const int error = fd_place(fds, places, 5, 0xf);

	if (error)
		return error;
	(void)kernel_execute(IMAGE_PLACE, words, environment);
	return -errno;
}

static int spawn_compiler(const struct child *child, char *path, pid_t *ret)
{
	volatile int error = 0;
	const pid_t pid = vfork();

	if (pid == 0) {
		error = become_child(child, path);
		_exit(MSP_EXIT_SOFTWARE);
	}
	if (pid < 0)
		return -errno;
	*ret = pid;
	return error;
}

static int64_t now_ms(void)
{
	return (int64_t)(clock_now_us() / 1000);
}

/* Is there something before the deadline? */
static bool await_input(int fd, int64_t deadline_ms)
{
	struct pollfd entry = { .fd = fd, .events = POLLIN };
	int ready;

	do {
		const int64_t left = deadline_ms - now_ms();

		ready = poll(&entry, 1, left > 0 ? (int)left : 0);
	} while (ready < 0 && errno == EINTR);
	return ready > 0;
}

/* Read its messages to their end; text that does not fit is left out. */
static void listen_to(int output, int64_t deadline_ms, char text[CONFIG_TEXT_MAX])
{
	char rest[256] = "";
	size_t used = 0;
	ssize_t size = 1;

	while (size != 0 && await_input(output, deadline_ms)) {
		const size_t room = CONFIG_TEXT_MAX - 1 - used;

		size = read(output, room ? text + used : rest, room ? room : sizeof(rest));
		if (size < 0 && errno != EINTR)
			break;
		if (room && size > 0)
			used += (size_t)size;
	}
	text[used] = '\0';
}

/* Its lines as one of ours: without its name, and without line ends. */
static void make_line(char text[CONFIG_TEXT_MAX])
{
	char line[CONFIG_TEXT_MAX] = "";
	char *rest = text;

	while (rest) {
		char *next = strchr(rest, '\n');

		if (next)
			*next++ = '\0';
		if (strncmp(rest, PREFIX, strlen(PREFIX)) == 0)
			rest += strlen(PREFIX);
		if (*rest)
			format_append(line, sizeof(line), "%s%s", line[0] ? "; " : "", rest);
		rest = next;
	}
	memcpy(text, line, sizeof(line));
}

/* Its exit status as wait(2) gives it, when it ended by itself before the deadline; else -1. */
static int collect_child(pid_t pid, int64_t deadline_ms)
{
	int pidfd = kernel_pidfd_open(pid);
	const bool is_over = pidfd >= 0 && await_input(pidfd, deadline_ms);
	int status = -1;

	fd_close(&pidfd);
	if (!is_over)
		(void)kill(pid, SIGKILL); /* our child, not reaped yet: nobody else's number */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return is_over ? status : -1;
}

static int explain_end(int status, const char *path, char text[CONFIG_TEXT_MAX])
{
	make_line(text);
	if (status == -1)
		format_text(text, CONFIG_TEXT_MAX,
			    "the configuration %.900s cannot be compiled: " PROGRAM
			    " did not end within %d s",
			    path, WAIT_MS / 1000);
	else if (WIFSIGNALED(status))
		format_text(text, CONFIG_TEXT_MAX,
			    "the configuration %.900s cannot be compiled: " PROGRAM
			    " was killed by signal %d",
			    path, WTERMSIG(status));
	else if (!text[0])
		format_text(text, CONFIG_TEXT_MAX,
			    "the configuration %.900s cannot be compiled: " PROGRAM
			    " ended with code %d and said nothing",
			    path, WEXITSTATUS(status));
	return -1;
}

/* Run it to its end. 0 when it says that the plan is complete. */
static int run_compiler(const struct child *child, int output, char *path,
			char text[CONFIG_TEXT_MAX])
{
	const int64_t deadline_ms = now_ms() + WAIT_MS;
	pid_t pid = -1;
	const int error = spawn_compiler(child, path, &pid);
	int writer = child->output;
	int status;

	fd_close(&writer); /* its end is to be seen */
	if (error) {
		format_text(text, CONFIG_TEXT_MAX, PROGRAM " cannot be started: %s",
			    errno_text(-error));
		if (pid > 0)
			(void)collect_child(pid, deadline_ms);
		return -1;
	}
	listen_to(output, deadline_ms, text);
	status = collect_child(pid, deadline_ms);
	return status == 0 ? 0 : explain_end(status, path, text);
}

int compile_config(char *path, char text[CONFIG_TEXT_MAX])
{
	int ends[2] = { -1, -1 };
	struct child child = { .image = launch_open_program(PROGRAM, text),
			       .plan = memfd_create(PROGRAM, MFD_CLOEXEC | MFD_ALLOW_SEALING),
			       .output = -1,
			       .null = open("/dev/null", O_RDWR | O_CLOEXEC) };
	int error = child.image < 0 ? -1 : 0;
	bool is_ready;

	is_ready = !error && child.plan >= 0 && child.null >= 0 && pipe2(ends, O_CLOEXEC) == 0;
	if (is_ready) {
		child.output = ends[1];
		error = run_compiler(&child, ends[0], path, text);
		fd_close(&ends[0]);
	}
	if (!error) {
		error = is_ready ? fd_seal(child.plan) : -errno;
		if (error)
			format_text(text, CONFIG_TEXT_MAX, PROGRAM ": descriptors: %s",
				    errno_text(-error));
	}
	fd_close(&child.image);
	fd_close(&child.null);
	if (error)
		fd_close(&child.plan);
	return child.plan;
}

int compile_become(char *const words[], char text[CONFIG_TEXT_MAX])
{
	char *const environment[] = { NULL };
	const int image = launch_open_program(PROGRAM, text);

	if (image < 0)
		return MSP_EXIT_SOFTWARE;
	(void)kernel_execute(image, words, environment);
	format_text(text, CONFIG_TEXT_MAX, PROGRAM " cannot be started: %s", errno_text(errno));
	return MSP_EXIT_SOFTWARE;
}
