/* SPDX-License-Identifier: Apache-2.0
 *
 * The rig with a state directory, where sandboxes last: the test plays the factory, the inits,
 * msp-layers, and the part of the launcher that stays.
 */
#ifndef UNIT_SUPERVISOR_PERSISTENT_RIG_H
#define UNIT_SUPERVISOR_PERSISTENT_RIG_H

#include "common/ipc/ipc_layers.h"
#include "rig.h"
#include "store_place.h"

struct ipc_execution_start;
struct ipc_workspace_open;

/* A helper that was asked for, with what it was told. */
struct rig_helper {
	uint32_t slot;
	struct channel channel; /* its end */
	int output;
	uint32_t roles[LAYERS_ROLE_COUNT]; /* how many directories came of each */
	uint32_t hosts;                    /* how many workspaces */
	struct ipc_layers_do ask;
	pid_t pid; /* 0: none yet */
};

/* A welcomed frontend, and the launcher's end of its channel, which the supervisor keeps. */
void persistent_open(struct rig *rig, struct channel *launcher);
void persistent_close(struct rig *rig, struct channel *launcher);

/* Answer as the launcher does who has opened it; git names nothing in it. `fd` stays the caller's.
 */
void persistent_open_workspace(const struct channel *launcher,
			       const struct ipc_workspace_open *answer, int fd);

/* Make one, cold and nobody's. */
void persistent_make(const char *name, struct store_meta *meta);

/* Is it nobody's again? */
bool persistent_is_free(const char *name);

/* A request for "true" in the sandbox. Static storage. */
struct ipc_execution_start *persistent_request(uint64_t number, const char *name);

/* Have one begin in a cold sandbox, or in one that `live` is of, and receive what is told of it.
 * The first one's init is there then. */
struct rig_sandbox persistent_begin(const struct rig *rig, uint64_t number, const char *name);
struct rig_sandbox persistent_join(const struct rig *rig, uint64_t number, const char *name,
				   const struct rig_sandbox *live);

/* What persistent_begin() receives, of a request that was sent. `lasts` is as the factory hears it.
 */
struct rig_sandbox persistent_take_begun(const struct rig *rig, uint64_t number, uint32_t lasts);

/* Its spawn as its init got it: the slot of the execution goes to sandbox->slot. */
void persistent_take_spawn(struct rig_sandbox *sandbox, const struct channel *init);

/* The next helper that the factory is asked for, which must be one of msp-layers for this. It is
 * there then, unless it is to fail. */
struct rig_helper persistent_take_helper(const struct rig *rig, uint32_t operation);
void persistent_start_helper(const struct rig *rig, struct rig_helper *helper);

/* It says this, and ends. */
void persistent_finish(struct rig_helper *helper, const struct ipc_layers_done *done);
void persistent_end_helper(struct rig_helper *helper);

/* The note that is due: nothing changed. */
void scan(const struct rig *rig);

#endif
