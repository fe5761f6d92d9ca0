/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of persistent sandboxes, for frontends.
 */
#ifndef SUPERVISOR_FRONT_HANDLERS_LIST_H
#define SUPERVISOR_FRONT_HANDLERS_LIST_H

#include "common/ipc/dispatch.h"
#include "common/ipc/refusal.h"
#include "run/sandbox.h"
#include "stewards/store/store.h"

struct sight {
	const char *id;
	const struct store_meta *meta; /* NULL: it is damaged */
	const struct sandbox *sandbox; /* NULL: it is not ours */
	uint64_t used_s;
	bool is_taken; /* by another supervisor */
};

/* Look at a sandbox; *ret is valid until the next look. 0, or -errno if it cannot be described. */
int sight_look(const char *id, struct sight *ret);

/* Answer a request with it. 0 or -errno. */
int sight_tell(const struct frontend *frontend, uint64_t request, const struct sight *sight);

/* Refuse a request for an unknown checkpoint; `detail` lists the sandbox's own, for people. */
enum refusal sight_no_checkpoint(const struct store_meta *of, char detail[IPC_LIST_MAX]);

/* Destroy sandboxes that are no longer used, with an audit record of each. Return their number, or
 * -errno. */
int sweep_expired(void);

/* The context is the frontend. */
int handle_sandbox_list(void *context, struct channel_message *message);

/* Sweep sandboxes that are no longer used; the second function returns when that is due. */
void handlers_list_tick(void);
uint64_t handlers_list_deadline_us(void);

#endif
