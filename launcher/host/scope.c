/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/format.h"
#include "common/kernel.h"
#include "common/log.h"

#define ADDRESS "DBUS_SESSION_BUS_ADDRESS"
#define NAME "msp-scope: "

/* Longest silence of msp-scope. */
#define WAIT_MS 7000

/* A slow machine has an answer of a service that has started within so much more time. */
#define STARTED_MS 10000

/* The exit code of a child before its exec. */
#define EXIT_NOT_STARTED 127

bool scope_can_help(enum cgroup_problem problem)
{
	return problem == CGROUP_CONTROLLERS || problem == CGROUP_NOT_WRITABLE ||
	       problem == CGROUP_SHARED;
}

/* Most machines without one are told apart without starting a program. */
static bool is_possible(char text[SCOPE_TEXT_MAX])
{
	static const char *const places[] = { "bus", "systemd/private" };
	const char *address = getenv(ADDRESS);
	bool is_there = address && *address;
	char path[64];

	if (access("/run/systemd/system", F_OK) != 0)
		return format_fail(false, text, SCOPE_TEXT_MAX, "systemd does not run here");
	for (size_t i = 0; !is_there && i < sizeof(places) / sizeof(places[0]); i++) {
		format_text(path, sizeof(path), "/run/user/%u/%s", geteuid(), places[i]);
		is_there = access(path, F_OK) == 0;
	}
	if (!is_there)
		format_text(text, SCOPE_TEXT_MAX,
			    "no systemd runs for uid %u: neither /run/user/%u/bus nor "
			    "/run/user/%u/systemd/private is there",
			    geteuid(), geteuid(), geteuid());
	return is_there;
}

/* In the child, until its exec. Everything it needs from the environment is the bus. */
static void become_scope(int image, int output, const char *argument)
{
	static char name[] = "msp-scope";
	static const int places[] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, 3 };
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int fds[] = { null, output, output, image };
	const char *address = getenv(ADDRESS);
	char variable[1024];
	char word[32];
	char *const arguments[] = { name, word, NULL };
	char *const environment[] = { address ? variable : NULL, NULL };

	format_text(word, sizeof(word), "%s", argument);
	format_text(variable, sizeof(variable), ADDRESS "=%s", address ? address : "");
	if (null < 0 || fd_place(fds, places, 4, 1U << 0 | 1U << 1 | 1U << 2) != 0)
		_exit(EXIT_NOT_STARTED);
	(void)kernel_execute(places[3], arguments, environment);
	_exit(EXIT_NOT_STARTED);
}

/* Its first line, without its name; whether it ended in time. */
static bool read_line(int output, char text[SCOPE_TEXT_MAX])
{
	struct pollfd entry = { .fd = output, .events = POLLIN };
	size_t used = 0;
	ssize_t size = 1;
	char *line = text;

	while (size > 0) {
		const int ready = poll(&entry, 1, WAIT_MS);

		if (ready < 0 && errno == EINTR)
			continue;
		size = ready > 0 ? read(output, text + used, SCOPE_TEXT_MAX - 1 - used) : -1;
		used += size > 0 ? (size_t)size : 0;
		if (used == SCOPE_TEXT_MAX - 1)
			break;
	}
	text[used] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (strncmp(line, NAME, strlen(NAME)) == 0)
		memmove(text, line + strlen(NAME), strlen(line + strlen(NAME)) + 1);
	return size >= 0;
}

static int await_child(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Run msp-scope with one argument. 0 when it says so, with its line in `text`; else -1, and the
 * line says why. */
static int ask_helper(int image, const char *argument, char text[SCOPE_TEXT_MAX])
{
	bool is_over;
	int ends[2];
	int code;
	pid_t pid;

	text[0] = '\0';
	if (!is_possible(text))
		return -1;
	if (image < 0)
		return format_fail(-1, text, SCOPE_TEXT_MAX,
				   "msp-scope is missing: install all of msp's programs together");
	if (pipe2(ends, O_CLOEXEC) != 0)
		return format_fail(-1, text, SCOPE_TEXT_MAX, "msp-scope: %s", errno_text(errno));
	pid = fork();
	if (pid == 0)
		become_scope(image, ends[1], argument);
	fd_close(&ends[1]);
	is_over = pid > 0 && read_line(ends[0], text);
	fd_close(&ends[0]);
	/* A helper that does not answer is left alone: it keeps the scope, should that still come,
	 * from being left behind empty, and ends by itself. */
	code = is_over ? await_child(pid) : -1;
	if (is_over && code == 0)
		return 0;
	if (pid > 0 && !is_over)
		format_text(text, SCOPE_TEXT_MAX, "msp-scope did not answer in time");
	else if (!text[0])
		format_text(text, SCOPE_TEXT_MAX, "msp-scope could not be started");
	return -1;
}

int scope_enter(int image, char text[SCOPE_TEXT_MAX])
{
	char argument[32];

	format_text(argument, sizeof(argument), "%d", (int)getpid());
	return ask_helper(image, argument, text);
}

bool scope_parse_manager(char *line, char *version, size_t room, const char **ret_group)
{
	char *space = strchr(line, ' ');

	if (!space || space == line || space[1] != '/' || strstr(space, "/.."))
		return false;
	*space = '\0';
	format_text(version, room, "%s", line);
	*ret_group = space + 1;
	return true;
}

int scope_examine(int image, struct scope_manager *ret, char text[SCOPE_TEXT_MAX])
{
	char line[SCOPE_TEXT_MAX];
	const char *group;

	if (ask_helper(image, "--check", line) != 0)
		return format_fail(-1, text, SCOPE_TEXT_MAX, "%s", line);
	if (scope_parse_manager(line, ret->version, sizeof(ret->version), &group) &&
	    cgroup_read_controllers(group, ret->controllers, sizeof(ret->controllers)))
		return 0;
	return format_fail(-1, text, SCOPE_TEXT_MAX,
			   "the cgroup of the user's systemd cannot be read");
}

bool scope_parse_service(const char *line, struct scope_service *ret)
{
	unsigned long long age_ms;
	int end = 0;

	/* 18 digits fit. NOLINTNEXTLINE(cert-err34-c) */
	if (sscanf(line, "%31[a-z-] %31[a-z-] %18llu%n", ret->state, ret->part, &age_ms, &end) !=
		    3 ||
	    line[end] != '\0')
		return false;
	ret->age_ms = age_ms;
	return true;
}

bool scope_ask_service(int image, struct scope_service *ret)
{
	char line[SCOPE_TEXT_MAX];

	return ask_helper(image, "--service", line) == 0 && scope_parse_service(line, ret);
}

bool scope_is_starting(const struct scope_service *service)
{
	static const struct {
		const char *state;
		const char *part; /* NULL: any other */
		uint64_t most_ms; /* since it began to start; 0: not at all */
	} rows[] = {
		{ "activating", "auto-restart", 0 }, /* it fails time after time */
		{ "activating", "auto-restart-queued", 0 },
		{ "activating", NULL, UINT64_MAX },
		{ "active", NULL, STARTED_MS },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(service->state, rows[i].state) == 0 &&
		    (!rows[i].part || strcmp(service->part, rows[i].part) == 0))
			return service->age_ms < rows[i].most_ms;
	}
	return false;
}
