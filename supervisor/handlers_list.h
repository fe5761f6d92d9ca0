/* SPDX-License-Identifier: Apache-2.0
 *
 * What there is of sandboxes that last, and telling of it.
 */
#ifndef SUPERVISOR_HANDLERS_LIST_H
#define SUPERVISOR_HANDLERS_LIST_H

#include "common/dispatch.h"
#include "sandbox.h"
#include "store.h"

struct sight {
	const char *id;
	const struct store_meta *meta; /* NULL: it is damaged */
	const struct sandbox *sandbox; /* NULL: it is not ours */
	uint64_t used_s;
	bool is_taken; /* by another supervisor */
};

/* Look at one, until the next look. 0, or -errno when there is nothing to be told of it. */
int sight_look(const char *id, struct sight *ret);

/* Answer a request with it. 0 or -errno. */
int sight_tell(const struct frontend *frontend, uint64_t request, const struct sight *sight);

/* That it has not this checkpoint, and which it has, for people. */
enum refusal sight_no_checkpoint(const struct store_meta *of, char detail[IPC_LIST_MAX]);

/* store_sweep(), with a record of each that goes. */
int sweep_noted(void);

/* The context is the frontend. */
int handle_sandbox_list(void *context, struct channel_message *message);

/* See to it that what nobody uses any more goes; and when that is due. */
void handlers_list_tick(void);
uint64_t handlers_list_deadline_us(void);

#endif
