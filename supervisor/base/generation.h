/* SPDX-License-Identifier: Apache-2.0
 *
 * Generations of the policy. One is in force; an execution keeps the one that it began under. A
 * generation never changes, and is forgotten when nothing runs under it any more.
 */
#ifndef SUPERVISOR_BASE_GENERATION_H
#define SUPERVISOR_BASE_GENERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/ipc/channel.h"
#include "common/plan/plan.h"

/* Does this machine offer what each profile of `plan` requires, and is the default one among them?
 * Else false, after a line that says what is missing and what helps. */
bool generation_is_possible(const struct plan *plan);

/*
 * The first one, of the sealed plan `fd`, which is taken in any case. False after a line.
 */
bool generation_open(int fd);

/* A descriptor that belongs to a record of the next plan: taken from the message, as a handler
 * does; how many there are. */
int generation_take_pin(void *context, struct channel_message *message);
uint32_t generation_pins(void);

/* Close those that came. */
void generation_drop_pins(void);

/* Hand them on to the factory, for the plan that is kept in `slot`. 0 or -errno. */
int generation_send_pins(uint32_t slot, int flags);

/* One more execution under the one in `slot`, and its end. */
void generation_hold(uint32_t slot);
void generation_release(uint32_t slot);

/* Put the sealed plan `fd` in force, which is taken then, with the pins that came for it. False
 * after a line, and nothing has changed. */
bool generation_replace(int *fd);

/* Say that the policy stays as it is, and why. */
void generation_stay(const char *why);

#endif
