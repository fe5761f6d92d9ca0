/* SPDX-License-Identifier: Apache-2.0
 *
 * From a command to a supervisor that works for it: the user's service where it answers, else one
 * of its own. What is wrong is said here, once.
 */
#ifndef CLI_ASK_ATTACH_H
#define CLI_ASK_ATTACH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "launcher/host/bind.h"
#include "launcher/host/budget.h"
#include "launcher/host/cgroup.h"
#include "launcher/host/service.h"
#include "launcher/start/config.h"
#include "launcher/start/launch.h"
#include "options/options.h"

struct attach_options {
	const char *config;
	const char *run_as;
	const char *socket;
	uint32_t limits; /* enum limits_mode that is accepted, or LIMITS_UNSAID */
	bool is_standalone;
};

/* The options of every command that needs a supervisor. */
#define ATTACH_ROWS(type, member)                                                                  \
	OPTION_CONFIG(type, member.config),                                                        \
		OPTION_WITH(type, "standalone", NULL, option_set_flag, member.is_standalone,       \
			    "start a supervisor for this command alone, also where the service "   \
			    "answers",                                                             \
			    .is_common = true),                                                    \
		OPTION_WITH(                                                                       \
			type, "socket", "PATH", option_set_socket, member.socket,                  \
			"the service's socket (the default: /run/user/UID/msp/supervisor.sock)",   \
			.is_common = true),                                                        \
		OPTION_RUN_AS_CONFIGURED(type, member.run_as, true)

/* And of those that run a workload. */
#define ATTACH_ROW_LIMITS(type, member)                                                            \
	OPTION_WITH(type, "limits", "required|fallback", option_set_limits, member.limits,         \
		    "'required' (the default, unless the configuration says otherwise): "          \
		    "refuse to start without cgroup v2. 'fallback': use cgroup v2 where it "       \
		    "can be used, and weaker resource limits where it cannot",                     \
		    .is_common = true)

struct attachment {
	/* The request. */
	const struct attach_options *options;
	const struct bind_words *binds; /* NULL: none */
	const char *kept_profile; /* the binds are for persistent sandboxes of this profile (empty:
				   * the default one); NULL: they are for this start alone */
	bool is_piped;            /* the first request is sent with the hello; without a
				   * welcome attach_fall_back() is called */
	bool runs_nothing;        /* no workload will run, so that limits are of no use */
	const char *expected_profile; /* as in struct launch */
	bool no_hosts;                /* and without its hosts */
	bool is_persistent;           /* it is about persistent sandboxes, and directories of the
				       * host that they show */
	/* The result. */
	char kept_name[IPC_NAME_MAX]; /* the profile that shows such binds; empty: none does */
	bool is_kept_new;             /* a service that runs does not know it yet */
	struct images images;
	struct config config;
	uint32_t limits;            /* that are accepted */
	bool is_unlimited;          /* there is no cgroup */
	struct no_cgroup unlimited; /* and why */
	struct cgroup_home home;
	struct budget budget;
	int null;
	struct service service; /* HERE: it is the service; else a supervisor of our own */
	struct launched launched;
	pid_t opener; /* 0: none */
	int channel;  /* to it; -1 for none */
};

#define ATTACHMENT_NONE                                                                            \
	.images = IMAGES_NONE, .config = CONFIG_UNREAD,                                            \
	.home = { .parent = -1, .own = -1, .directory = -1 }, .null = -1,                          \
	.service = { .state = SERVICE_ABSENT, .fd = -1 }, .channel = -1

/* Find the service, or a place for a supervisor of our own. 0, or the exit code. */
int attach_prepare(struct attachment *attachment);

/* Have the channel, on which nothing was said yet as a frontend. `mask`: the signals that a
 * supervisor is started with. 0, or the exit code. */
int attach_open(struct attachment *attachment, const sigset_t *mask);

/* The service did not welcome us, for `reason` (enum client_end_reason, or 0), and closed its end
 * or not: go on with a supervisor of our own, or with the service's weaker limits where they turn
 * out to be accepted. As attach_open(). */
int attach_fall_back(struct attachment *attachment, const sigset_t *mask, uint32_t reason,
		     bool is_closed);

bool attach_is_service(const struct attachment *attachment);

/* Let go of it, and wait for the end of one of our own, whose status is returned as wait(2) gives
 * it: nothing of ours is left then, not even a process that somebody else must reap. */
int attach_close(struct attachment *attachment);

#endif
