/* SPDX-License-Identifier: Apache-2.0
 *
 * Places whose files last: what a sandbox is handed in place of a mount record's own mount. The
 * supervisor names layers and says what each is for. The init opens them beneath the state
 * directory, which the launcher gave, so that nobody else's word makes another directory a layer.
 * A workspace comes as the path opener's descriptor. None of them has a name inside.
 */
#ifndef CHILD_INIT_PLACES_H
#define CHILD_INIT_PLACES_H

#include <stdbool.h>

#include "common/confine/mount.h"
#include "common/limits.h"
#include "common/plan/plan.h"

struct ipc_sandbox_layer;

/* The state directory, which the launcher gives the factory, and every sandbox inherits. */
#define STATE_FD 4

/* Each persistent mount has its lowers, upper and work directory, and a workspace below all. */
#define PLACES_LAYERS_MAX (PLACES_MAX * (LAYERS_DEEP_MAX + 3))

/* The directories of one sandbox to come, in the order they came. */
struct places {
	int hosts[2]; /* O_PATH of the workspace and git's data, as the path opener opened them; -1
		       */
	uint32_t count;
	struct place_layer {
		uint32_t mount;      /* index of the profile's record */
		uint32_t role;       /* enum layer_role */
		char id[IPC_ID_MAX]; /* empty: the workspace */
	} layers[PLACES_LAYERS_MAX];
};

/* Add one; the first forgets those of a sandbox that never came. 0, or -EPROTO: there is no such
 * role, its id is none, there are too many, or it is not the next. */
int places_add(struct places *places, const struct ipc_sandbox_layer *layer);

/* Are they all `layers` of the sandbox that comes now, and each of a record that has a place? For
 * one without any, those of a sandbox that never came are forgotten. */
bool places_fit(struct places *places, uint32_t layers, const struct plan *plan,
		const struct plan_profile *profile);

/* Forget them, and close the workspace. */
void places_clear(struct places *places);

/* Directories that the record is made from: a PLACE_ROLE() for each role; 0: the record says it. */
#define PLACE_ROLE(role) (1U << (role))
uint32_t places_roles(const struct places *places, uint32_t mount);

/*
 * Make the persistent mount: an overlay of the directories `place` in its layers, with `below` as
 * its lowest, mounted over the path `at`; or a directory of the host, read-only for now and
 * attached nowhere. In the upper, `place` and its work directory are made. `host` is the host's
 * tree in this mount namespace. Changes the working directory. Return its descriptor, the caller's,
 * or -errno; -ESTALE when a layer is missing or a directory is no longer where it was opened,
 * -ELOOP when a link stands in the place of `place`, -EINVAL when the roles make neither.
 */
int places_mount(const struct places *places, uint32_t mount, const char *place,
		 uint64_t attributes, int host, const char *at, const int *below,
		 uint32_t below_count);

#endif
