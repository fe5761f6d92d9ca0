/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds file trees from the plan's mount records. All of it works on descriptors: a target is
 * resolved with openat2(RESOLVE_IN_ROOT) beneath the tree's own root, a source beneath the host's
 * root, and nothing is built in a tree that a workload has ever run in.
 */
#ifndef CHILD_INIT_MOUNTS_H
#define CHILD_INIT_MOUNTS_H

#include <stdint.h>
#include <sys/stat.h>

#include "common/ipc/ipc_factory.h"
#include "common/limits.h"
#include "common/plan/plan.h"
#include "places.h"

/* Places of the host's root and of the base trees in the factory's mount namespace. */
#define STAGING_HOST "host"
#define STAGING_BASE "base"

/* A path of the plan that the launcher opened. */
struct pin {
	int fd; /* kept open, so that the inode's number is not given to another */
	struct stat meant;
	struct ipc_factory_pin is;
};

/* The files of the host that the operator shows. */
struct shown {
	uint32_t pin_counts[GENERATIONS_MAX];
	struct pin pins[GENERATIONS_MAX][PINS_MAX]; /* by slot of the plan */
};

/*
 * Move the caller's mount namespace onto a staging root: a small tmpfs with the host's tree at
 * /host and room for base trees at /base. Needs CAP_SYS_ADMIN over a mount namespace of its own.
 * Returns an O_PATH descriptor of /host, or -errno.
 */
int mounts_stage(void);

/*
 * Build the base tree of profile number `index` at /base/<number>: everything of phase BASE, the
 * mount points of phase SANDBOX and of the binds, then read-only as a whole but for what the plan
 * lets sandboxes write. 0 or -errno; then nothing is there and *ret_stage says which stage failed.
 */
int mounts_build_base(const struct plan *plan, uint32_t index, int host, const struct shown *shown,
		      uint32_t *ret_stage);

/* Take it away again; copies of it stay. */
void mounts_forget_base(const struct plan *plan, uint32_t index);

/*
 * In a new mount namespace: take a private copy of the base tree, add the records of phase
 * SANDBOX, what lasts of any phase's places, and the binds, make it the root and detach everything
 * else. 0 or -errno; *ret_stage says
 * which stage failed.
 */
int mounts_enter(const struct plan *plan, uint32_t index, const struct shown *shown,
		 const struct places *places, uint32_t *ret_stage);

#endif
