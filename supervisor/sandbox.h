/* SPDX-License-Identifier: Apache-2.0
 *
 * A sandbox that lives: its init, its cgroup, the executions in it. One that lasts has its files in
 * the store, and is made live by the first execution; an ephemeral one is made for its one
 * execution and ends with it.
 */
#ifndef SUPERVISOR_SANDBOX_H
#define SUPERVISOR_SANDBOX_H

#include <stdbool.h>

#include "state.h"
#include "store.h"

/* Descriptors of a start, which stay the starter's; -1: none. */
struct sandbox_parts {
	int init_end; /* of its channel */
	int cgroup;   /* these: where there are cgroups */
	int leaf;     /* of the execution to come */
};

#define SANDBOX_PARTS_NONE                                                                         \
	{                                                                                          \
		-1, -1, -1                                                                         \
	}

/* One for the execution in `slot`, of the policy in force, of which nothing is made yet. */
struct sandbox *sandbox_ephemeral(uint32_t slot, uint32_t profile);

/* Make the channel to its init and its cgroups. 0 or -errno; either way *ret says what is there. */
int sandbox_make(struct sandbox *sandbox, struct sandbox_parts *ret);

/* Hear what its init will say. 0 or -errno. */
int sandbox_watch(struct sandbox *sandbox);

/* Undo these two. */
void sandbox_unmake(struct sandbox *sandbox, const struct sandbox_parts *parts);

/* Have the factory make its init. What goes wrong its executions are told. */
void sandbox_launch(struct sandbox *sandbox, uint32_t probe, const struct sandbox_parts *parts);

/* What the factory answered. A pidfd becomes the sandbox's. 0, or -EPROTO for a slot that did not
 * ask. */
int sandbox_created(uint32_t slot, int *pidfd);
int sandbox_failed(uint32_t slot, uint32_t stage, uint32_t error);

/* End its init, and with it all that runs in it. */
void sandbox_end(struct sandbox *sandbox);

/* Is its init gone? */
bool sandbox_is_over(const struct sandbox *sandbox);

/* The slot is free: its init is gone, and its cgroups are removed. False: try again. */
bool sandbox_clear(struct sandbox *sandbox);

/* The live or owned sandbox that lasts with this id; NULL: this supervisor does not have it. */
struct sandbox *sandbox_find(const char *id);

/*
 * Own the sandbox `name` (id or name) of `owner`: find it in the store, lock it, and see to it that
 * an interrupted apply is finished first. REFUSAL_NONE with *ret set, or the reason with its
 * detail.
 */
enum refusal sandbox_own(const char *owner, const char *name, struct sandbox **ret,
			 char detail[IPC_LIST_MAX]);

/* Executions that run in it. */
uint32_t sandbox_executions(const struct sandbox *sandbox);

/* End its init and what runs in it; its files stay. What is asked of it next makes it live again.
 * False: its end has to be waited for. */
bool sandbox_stop(struct sandbox *sandbox);

/* Give it back to the store: nobody needs it here any more. */
void sandbox_disown(struct sandbox *sandbox);

/* Ends those that were idle for too long, and destroys those whose time is over. */
void sandbox_expire(void);
uint64_t sandbox_deadline_us(void);

#endif
