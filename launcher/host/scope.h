/* SPDX-License-Identifier: Apache-2.0
 *
 * A delegated cgroup from the user's systemd, where ours is none or is shared: a transient scope.
 * The program msp-scope asks for it, so that libsystemd is in a process of its own that ends before
 * there is a supervisor.
 */
#ifndef LAUNCHER_HOST_SCOPE_H
#define LAUNCHER_HOST_SCOPE_H

#include "launcher/host/cgroup.h"

#define SCOPE_TEXT_MAX 512

/* The user's systemd, as it says. */
struct scope_manager {
	char version[64];
	char controllers[256]; /* cgroup.controllers of its cgroup: what it can delegate */
};

/* The unit of the user's service, as its systemd says. */
struct scope_service {
	char state[32];  /* ActiveState */
	char part[32];   /* SubState */
	uint64_t age_ms; /* since it began to start */
};

/* Can a scope help against this problem? */
bool scope_can_help(enum cgroup_problem problem);

/*
 * Have this process moved into a scope of its own. `image` is msp-scope. 0, or -1 with a line in
 * `text`: what was tried, and what happened.
 */
int scope_enter(int image, char text[SCOPE_TEXT_MAX]);

/* Could scope_enter() work? Changes nothing. 0, or -1 with the same line. */
int scope_examine(int image, struct scope_manager *ret, char text[SCOPE_TEXT_MAX]);

/* Ask how the unit of the user's service is. False: nobody says it. */
bool scope_ask_service(int image, struct scope_service *ret);

/* Return whether the unit is starting, or has started so recently that a slow machine may still
 * have no answer of it. */
bool scope_is_starting(const struct scope_service *service);

/* The pieces, for the tests. */

/* Take "STATE SUBSTATE MS" apart; false when it is not that. */
bool scope_parse_service(const char *line, struct scope_service *ret);

/* Take "VERSION CGROUP" apart; false when it is not that. `group` is cut off `line`. */
bool scope_parse_manager(char *line, char *version, size_t room, const char **ret_group);

#endif
