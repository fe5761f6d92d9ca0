/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/kernel.h"
#include "common/limits.h"
#include "common/log.h"

#define FIRST_PLACE 3

/* A few lines. */
#define ERRORS_BYTES 4096

/* Let the child end with us, since nobody would read its answer. An exec keeps that. */
static int follow_parent(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
		return -errno;
	return getppid() == parent ? 0 : -ECHILD; /* we have ended before */
}

/* In the child, until its exec: it runs in our memory. */
static int become_helper(const struct helper *helper, pid_t parent, int null, int output)
{
	int fds[FIRST_PLACE + HELPER_FDS_MAX + 1] = {
		null,
		helper->output_of == STDERR_FILENO ? null : output,
		helper->output_of != STDOUT_FILENO ? output
		: helper->errors                   ? helper->errors
						   : STDERR_FILENO,
	};
	char *const *words = (char *const *)(uintptr_t)helper->words; /* an exec writes none */
	char *const nothing[] = { NULL };
	char *const *environment = helper->environment ? helper->environment : nothing;
	const size_t count = FIRST_PLACE + helper->fd_count;
	const bool has_image = helper->image >= 0;
	int error = helper->is_left ? 0 : follow_parent(parent);

	memcpy(fds + FIRST_PLACE, helper->fds, helper->fd_count * sizeof(fds[0]));
	fds[count] = helper->image;
	if (!error)
		error = fd_place(fds, NULL, count + has_image, (1U << count) - 1);
	if (error)
		return error;
	if (has_image)
		(void)kernel_execute((int)count, words, environment);
	else
		(void)execve(words[0], words, environment);
	return -errno;
}

static int spawn_helper(const struct helper *helper, int null, int output, pid_t *ret)
{
	const pid_t parent = getpid();
	volatile int error = 0;
	const pid_t pid = vfork();

	if (pid == 0) {
		error = become_helper(helper, parent, null, output);
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

/* Return whether there is something before the deadline. */
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

/* Read the output to its end; bytes that do not fit are left out. */
static size_t read_output(int output, int64_t deadline_ms, char *bytes, size_t room)
{
	char rest[256] = "";
	size_t used = 0;
	ssize_t size = 1;

	while (size != 0 && await_input(output, deadline_ms)) {
		const size_t left = room - used;

		size = read(output, left ? bytes + used : rest, left ? left : sizeof(rest));
		if (size < 0 && errno != EINTR)
			break;
		if (left && size > 0)
			used += (size_t)size;
	}
	return used;
}

static void collect_helper(pid_t pid, bool is_left, int64_t deadline_ms, struct helper_answer *ret)
{
	int pidfd = kernel_pidfd_open(pid);
	const bool is_over = pidfd >= 0 && await_input(pidfd, deadline_ms);

	fd_close(&pidfd);
	ret->end = HELPER_LATE;
	if (!is_over && is_left)
		return;
	if (!is_over)
		(void)kill(pid, SIGKILL); /* our child, not reaped yet: nobody else's number */
	while (waitpid(pid, &ret->status, 0) < 0 && errno == EINTR)
		;
	if (is_over)
		ret->end = ret->status == 0 ? HELPER_DONE : HELPER_ENDED;
}

struct helper_answer helper_run(const struct helper *helper, int wait_ms, void *output, size_t room)
{
	struct helper_answer answer = { .end = HELPER_FAILED };
	const int64_t deadline_ms = now_ms() + wait_ms;
	int null FD_OWNED = open("/dev/null", O_RDWR | O_CLOEXEC);
	int ends[2] = { -1, -1 };
	pid_t pid = -1;
	int error = null < 0 || pipe2(ends, O_CLOEXEC) != 0 ? -errno : 0;

	if (!error)
		error = spawn_helper(helper, null, ends[1], &pid);
	fd_close(&ends[1]); /* its end is to be seen */
	if (!error)
		answer.size = read_output(ends[0], deadline_ms, output, room);
	if (pid > 0)
		collect_helper(pid, helper->is_left, deadline_ms, &answer);
	if (error)
		answer = (struct helper_answer){ .end = HELPER_FAILED, .status = error };
	fd_close(&ends[0]);
	return answer;
}

int helper_errors(void)
{
	int fd = memfd_create("errors", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const bool is_made = fd >= 0 && ftruncate(fd, ERRORS_BYTES) == 0 &&
			     fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) == 0;
	const int error = is_made ? 0 : -errno;

	return fd_unless(error, fd);
}

void helper_log_errors(int *errors)
{
	char text[ERRORS_BYTES + 1] = "";
	char *rest = text;

	if (pread(*errors, text, ERRORS_BYTES, 0) > 0) {
		for (const char *line; (line = strsep(&rest, "\n"));) {
			if (line[0])
				log_line("%s", line);
		}
	}
	fd_close(errors);
}

int helper_explain_end(const char *program, const struct helper_answer *answer, int wait_ms)
{
	const int status = answer->status;

	if (answer->end == HELPER_FAILED)
		log_line("%s cannot be started: %s", program, errno_text(-status));
	else if (answer->end == HELPER_LATE)
		log_line("%s took more than %d minutes", program, wait_ms / 60000);
	else if (WIFSIGNALED(status))
		log_line("%s was killed by signal %d%s", program, WTERMSIG(status),
			 WTERMSIG(status) == SIGSYS ? ": a system call that it must not use" : "");
	else
		log_line("%s ended with code %d: its lines before this one say why", program,
			 WEXITSTATUS(status));
	return MSP_EXIT_SOFTWARE;
}
