/* SPDX-License-Identifier: Apache-2.0
 *
 * The factory role: clones inits and helpers for the supervisor until its channel ends.
 */
#ifndef CHILD_INIT_FACTORY_H
#define CHILD_INIT_FACTORY_H

#include <stdbool.h>

#include "common/ipc/channel.h"
#include "common/ipc/limits_mode.h"
#include "common/plan/plan.h"
#include "common/text/names.h"
#include "places.h"

struct shown;

/* The channel of each role; and behind STATE_FD the images of helpers, by enum helper_kind, which
 * the launcher gives the factory. /dev/null stands for what is missing. Factory and init close them
 * at each exec. Descriptors above are closed: the image of this program is the last. */
#define CHANNEL_FD 3
#define HELPER_FD 5

/* The user's uid and gid, as the factory's namespace and every sandbox's know them. */
#define WORKLOAD_ID 1000

/* Which namespaces a process is in, such as "net:[4026531840]". */
struct probe_namespaces {
	char links[POSTURE_NAMESPACE_COUNT][32];
};

/* The factory's state, which every init and helper inherits as its own copy. */
struct factory {
	struct channel channel;
	struct plan plan;
	enum limits_mode limits;
	int host;        /* O_PATH of the host's tree */
	int cgroup;      /* directory of all sandbox cgroups, or -1 */
	int next_cgroup; /* for the next sandbox_create, or -1 */
	int base[2];     /* pipe that tells a child that its base is there; -1: it was before */
	uint32_t cgroup_slots;
	struct probe_namespaces namespaces; /* its own: no sandbox may have one of them */
	bool is_probed;                     /* the next sandbox shall note which it has */
	uint32_t lasts;                     /* the next sandbox's value of sandbox_create */
	bool is_last;                       /* it is the last one, of everything */
	uint32_t helper;                    /* enum helper_kind of the next one */
	struct places places;               /* for the next sandbox */
	const struct shown *shown;
	bool is_built[GENERATIONS_MAX][PLAN_PROFILES_MAX];
	struct plan plans[GENERATIONS_MAX]; /* `plan` is the one that is being started from */
	uint32_t newest;
};

/* Is a sandbox at its disk limit? Then files in it can go, and none can grow. */
static inline bool factory_is_full(const struct factory *factory)
{
	return factory->lasts > 1;
}

/* Serve the channel; returns the exit status. Inits and helpers do not return from it. */
int factory_run(void);

#endif
