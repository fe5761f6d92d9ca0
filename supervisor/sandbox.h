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
