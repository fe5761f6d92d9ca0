/* SPDX-License-Identifier: Apache-2.0
 *
 * Places whose files last: what a sandbox is handed in place of a mount record's own mount. The
 * supervisor opens the directories and says what each is for; none of them has a name inside.
 */
#ifndef CHILD_INIT_PLACES_H
#define CHILD_INIT_PLACES_H

#include <stdbool.h>

#include "common/limits.h"
#include "common/mount.h"
#include "common/plan.h"

struct ipc_sandbox_layer;

/* Each persistent mount has its lowers, upper and work directory, and one below all. */
#define PLACES_LAYERS_MAX (PLACES_MAX * (LAYERS_DEEP_MAX + 3))

/* The directories of one sandbox to come, in the order they came. */
struct places {
	uint32_t count;
	struct place_layer {
		int fd;
		uint32_t mount; /* index of the profile's record */
		uint32_t role;  /* enum layer_role */
	} layers[PLACES_LAYERS_MAX];
};

/* Add one and take its descriptor; the first forgets those of a sandbox that never came. 0, or
 * -EPROTO: there is no such role, there are too many, or it is not the next. */
int places_add(struct places *places, const struct ipc_sandbox_layer *layer, int *fd);

/* Are they all `layers` of the sandbox that comes now, and each of a record that has a place? For
 * one without any, those of a sandbox that never came are forgotten. */
bool places_fit(struct places *places, uint32_t layers, const struct plan *plan,
		const struct plan_profile *profile);

/* Close and forget them. */
void places_clear(struct places *places);

/* Directories that the record is made from: a PLACE_ROLE() for each role; 0: the record says it. */
#define PLACE_ROLE(role) (1U << (role))
uint32_t places_roles(const struct places *places, uint32_t mount);

/*
 * Make the persistent mount, attached nowhere: an overlay with `below` as its lowest layers, or a
 * directory of the host, read-only for now.
 * `host` is the host's tree in this mount namespace. Changes the working directory. Return its
 * descriptor, the caller's, or -errno; -ESTALE when a directory is no longer where it was opened,
 * -EINVAL when the roles make neither.
 */
int places_mount(const struct places *places, uint32_t mount, uint64_t attributes, int host,
		 const struct mount_layer *below, uint32_t below_count);

#endif
