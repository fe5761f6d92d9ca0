/* SPDX-License-Identifier: Apache-2.0
 *
 * A sandbox that lives: its init, its cgroup, the executions in it. One that lasts has its files in
 * the store, and is made live by the first execution; an ephemeral one is made for its one
 * execution and ends with it.
 */
#ifndef SUPERVISOR_RUN_SANDBOX_H
#define SUPERVISOR_RUN_SANDBOX_H

#include <stdbool.h>

#include "base/state.h"
#include "common/ipc/refusal.h"
#include "stewards/store/store.h"

struct ipc_head;
struct ipc_layers_done;
struct ipc_spawn_code;

/* Until a cgroup that is still occupied by dying processes is removed again. */
#define SANDBOX_RETRY_US 2000

/* Descriptors of a start, which stay the starter's; -1: none. */
struct sandbox_parts {
	int init_end; /* the init's end of the channel */
	int cgroup;   /* with its leaf, if there are cgroups */
	int leaf;     /* for the execution to come */
};

#define SANDBOX_PARTS_NONE                                                                         \
	{                                                                                          \
		-1, -1, -1                                                                         \
	}

/* The policy that a sandbox was made under, and its profile in there. */
const struct plan *sandbox_plan(const struct sandbox *sandbox);
const struct plan_profile *sandbox_profile(const struct sandbox *sandbox);

/* Make the slot one of a free sandbox that has nothing. */
struct sandbox *sandbox_reset(uint32_t slot);

/* A free slot for a new one: there are as many as executions and waiting ones can be. */
struct sandbox *sandbox_ephemeral(void);

/* It shall be made, of this profile of the policy in force. */
void sandbox_renew(struct sandbox *sandbox, uint32_t profile);

/* Make the channel to its init and its cgroups. 0 or -errno; either way *ret says what is there. */
int sandbox_make(struct sandbox *sandbox, struct sandbox_parts *ret);

/* Hear what its init will say. 0 or -errno. */
int sandbox_watch(struct sandbox *sandbox);

/* Undo sandbox_make() and sandbox_watch(). */
void sandbox_unmake(struct sandbox *sandbox, const struct sandbox_parts *parts);

/* Have the factory make its init. What goes wrong its executions are told. */
void sandbox_launch(struct sandbox *sandbox, uint32_t probe, const struct sandbox_parts *parts);

/* The pipes of a workload: the frontend's ends (stdin's to write, the others' to read) and the
 * workload's own. 0 or -errno; what is there by then is the caller's to close in any case. */
int sandbox_make_pipes(int ours[3], int workload[3]);

/* Descriptors of a spawn, which stay the caller's; -1: none. */
struct sandbox_given {
	uint32_t slot;    /* the execution's, or STANDBY_SLOT */
	const int *stdio; /* three, the workload's ends */
	int code;         /* sealed, and */
	const struct ipc_spawn_code *where;
	int image;
	int leaf; /* the cgroup leaf */
};

/* Send an init, or a process that waits in its place, what belongs to the next spawn of that slot.
 * 0 or -errno. */
int sandbox_give(const struct channel *init, const struct sandbox_given *given);

/* Have a process wait in it for the next execution, in that leaf of its cgroup (-1: there are
 * none), with pipes as its streams. It is asked in the place of the init then. 0 or -errno. */
int sandbox_ask_standby(struct sandbox *sandbox, int leaf);

/* The frontend's ends of these pipes are the caller's now. */
void sandbox_take_streams(struct sandbox *sandbox, int ret[3]);

/* Close the channel to it, which it does not outlive before its request, and what was not taken. */
void sandbox_forget_standby(struct sandbox *sandbox);

/* Take the factory's answer. 0, or -EPROTO for a slot that did not ask. The first is the handler of
 * its message, whose pidfd becomes the sandbox's. */
int sandbox_created(void *context, struct channel_message *message);
int sandbox_failed(uint32_t slot, uint32_t stage, uint32_t error);

/* End its init, and with it all that runs in it. */
void sandbox_end(struct sandbox *sandbox);

/* Is its init gone? */
bool sandbox_is_over(const struct sandbox *sandbox);

/* Free the slot if the init is gone and the cgroups are removed. False: try again. */
bool sandbox_clear(struct sandbox *sandbox);

/* Does it outlive its executions? */
static inline bool sandbox_lasts(const struct sandbox *sandbox)
{
	return sandbox->persistent.meta != NULL;
}

/*
 * Persistent sandboxes (persistent.c).
 *
 * A sandbox in use is ours: its directory is locked. It is disowned without a call when nothing of
 * it runs, nothing has to be noted of it, and nobody waits for it; so a handler that has done what
 * it wanted does nothing more. A handler that cannot do its work yet returns deferred_add(), and
 * runs again with the same message.
 */

/* Find the sandbox with this id, or, of this owner (NULL: of anybody), with this id or name. NULL:
 * this supervisor does not have it. */
struct sandbox *sandbox_find(const char *owner, const char *name);

/* The id of the owner's sandbox with this id or name, ours or not; false: there is none. */
bool sandbox_look_up(const char *owner, const char *name, char ret[IPC_ID_MAX]);

/* Own the sandbox that a request names: find it in the store and lock it. REFUSAL_NONE with *ret
 * set, or the reason with its detail. */
enum refusal sandbox_own(const struct ipc_head *head, struct sandbox **ret,
			 char detail[IPC_LIST_MAX]);

/* Own a sandbox as sandbox_own() does, if nothing runs in it. */
enum refusal sandbox_own_idle(const struct ipc_head *head, struct sandbox **ret,
			      char detail[IPC_LIST_MAX]);

/* No reason: the request has to wait, and its handler shall return deferred_add(). */
#define REFUSAL_DEFERRED REFUSAL_COUNT

/*
 * May work on its files begin (`execute`: an execution in it), for `frontend`? REFUSAL_NONE,
 * REFUSAL_DEFERRED, or the reason with its detail. The index of its profile in the policy in force
 * goes to *ret_profile. Its workspace is open then, and an apply that was interrupted has been
 * taken care of.
 */
enum refusal sandbox_prepare(struct sandbox *sandbox, struct frontend *frontend, bool execute,
			     uint32_t *ret_profile, char detail[IPC_LIST_MAX]);

/* End its init and what runs in it, and let what has to be noted be noted; its files stay. What is
 * asked of it next makes it live again. False: that has to be waited for. */
bool sandbox_stop(struct sandbox *sandbox);

/* Give it back to the store at once: it was destroyed. Only when sandbox_stop() said true. */
void sandbox_disown(struct sandbox *sandbox);

/* Take what a NOTE found that began then, by the real clock. */
void sandbox_scanned(struct sandbox *sandbox, uint64_t began_us,
		     const struct ipc_layers_done *done);

/* Make sandbox_tick() look again at a persistent sandbox that has changed. A caller that owns it by
 * sandbox_own() need not. */
void sandbox_stir(const struct sandbox *sandbox);

/* Do what is due, and when that is. */
void sandbox_tick(void);
uint64_t sandbox_deadline_us(void);

/* At our own end: true when no persistent sandbox is ours any more. Call until true. */
bool sandbox_end_all(void);

/* Is there work on files that should not be cut short? */
bool sandbox_is_working(void);

/* Return the memory of all sandboxes now, in bytes: measured by the kernel with cgroups; in the
 * fallback, the sum of their profiles' limits. */
uint64_t sandbox_memory_used(void);

#endif
