/* SPDX-License-Identifier: Apache-2.0
 *
 * The binds of `msp create --ro`, `msp run -w --ro` and `msp agent`. A persistent sandbox names its
 * profile alone, so a set of binds is a profile: "PROFILE+SUFFIX", which msp-policy derives in each
 * plan from a file in `binds` of the state directory. The paths are checked at each start, as those
 * of the operator's file. The suffix is random: a client that may name a profile cannot guess that
 * of another's sandbox.
 */
#ifndef LAUNCHER_START_KEPT_BINDS_H
#define LAUNCHER_START_KEPT_BINDS_H

#include <stdbool.h>

#include "launcher/host/bind.h"
#include "launcher/start/config.h"

/* A pair of a set that is no bind: the absolute path of a file and "=KEY" for a key of an agent, or
 * KEPT_MODEL with ":PORT" and KEPT_OWN_PORT for a model on the loopback of this machine. */
struct kept_pair {
	const char *first, *second;
};
#define KEPT_MODEL "model.local"
#define KEPT_OWN_PORT "=@host"

struct kept_wish {
	const char *asker;   /* the begin of messages: "--ro", "msp agent" */
	const char *profile; /* one of the plan, or "agent.NAME" or "agent.NAME.login" of an agent
			      * (policy/read/agents.h), and PLAN_NARROWED behind it for one without
			      * hosts */
	const struct binds *binds;
	const struct kept_pair *pairs; /* for an agent alone */
	uint32_t pair_count;
};

/* Keep a set for sandboxes of a profile, and write the name of the derived one. A set that is kept
 * already is used again; sets that no sandbox has used for an hour are removed. Where the set
 * cannot be used, the next plan lacks the profile. 0, or the exit code with a line in `text`. */
int kept_binds_add(const struct kept_wish *wish, char ret[IPC_NAME_MAX], bool *ret_is_new,
		   char text[CONFIG_TEXT_MAX]);

/* Replace the set of the derived profile `name`, whose sandboxes show other paths from their next
 * start on: an agent was installed anew, or has another key. As above. */
int kept_binds_renew(const struct kept_wish *wish, const char *name, char text[CONFIG_TEXT_MAX]);

#endif
