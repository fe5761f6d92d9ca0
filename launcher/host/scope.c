/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/scope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/text/format.h"
#include "launcher/host/helper.h"

#define ADDRESS "DBUS_SESSION_BUS_ADDRESS"
#define NAME "msp-scope: "

/* Longest that msp-scope may take to answer. */
#define WAIT_MS 7000

/* A slow machine has an answer of a service that has started within so much more time. */
#define STARTED_MS 10000

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

/* Run msp-scope with one argument. 0 when it says so, with its line in `text`; else -1, and the
 * line says why. One that does not answer is left alone: it keeps the scope, should that still
 * come, from being left behind empty, and ends by itself. */
static int ask_helper(int image, const char *argument, char text[SCOPE_TEXT_MAX])
{
	const char *address = getenv(ADDRESS);
	char variable[1024], said[SCOPE_TEXT_MAX] = "";
	const char *const words[] = { "msp-scope", argument, NULL };
	char *const environment[] = { address ? variable : NULL, NULL };
	const struct helper helper = { .image = image,
				       .words = words,
				       .environment = environment, /* all it needs is the bus */
				       .output_of = HELPER_BOTH,
				       .is_left = true };
	struct helper_answer answer;
	const char *line = said;

	text[0] = '\0';
	if (!is_possible(text))
		return -1;
	if (image < 0)
		return format_fail(-1, text, SCOPE_TEXT_MAX,
				   "msp-scope is missing: install all of msp's programs together");
	format_text(variable, sizeof(variable), ADDRESS "=%s", address ? address : "");
	answer = helper_run(&helper, WAIT_MS, said, sizeof(said) - 1);
	said[strcspn(said, "\n")] = '\0';
	if (strncmp(line, NAME, strlen(NAME)) == 0)
		line += strlen(NAME);
	if (answer.end == HELPER_LATE)
		line = "msp-scope did not answer in time";
	else if (answer.end != HELPER_DONE && !line[0])
		line = "msp-scope could not be started";
	return format_fail(answer.end == HELPER_DONE ? 0 : -1, text, SCOPE_TEXT_MAX, "%s", line);
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
