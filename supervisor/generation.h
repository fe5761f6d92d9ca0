/* SPDX-License-Identifier: Apache-2.0
 *
 * Generations of the policy. One is in force; an execution keeps the one that it began under. A
 * generation never changes, and is forgotten when nothing runs under it any more.
 */
#ifndef SUPERVISOR_GENERATION_H
#define SUPERVISOR_GENERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/channel.h"
#include "common/plan.h"

/* Does this machine offer what each profile of `plan` requires, and is the default one among them?
 * Else false, after a line that says what is missing and what helps. */
bool generation_is_possible(const struct plan *plan);

/*
 * The first one, of the sealed plan `fd`, which is taken in any case. False after a line.
 */
bool generation_open(int fd);

/* A descriptor that belongs to a record of the next plan: taken from the message; how many there
 * are. */
int generation_take_pin(struct channel_message *message);
uint32_t generation_pins(void);

/* Hand them on to the factory, for the plan in force. 0 or -errno. */
int generation_send_pins(void);

/* One more execution under the one in `slot`, and its end. */
void generation_hold(uint32_t slot);
void generation_release(uint32_t slot);

/* The part of the launcher that stays, on `fd`, which is taken: it compiles the operator's file
 * when it is asked. 0 or -errno. */
int generation_keep_launcher(int fd);

/* Ask it something else, with what the requests of a frontend (NULL: a person's) may name. 0 or
 * -errno. */
struct frontend;
int generation_ask_launcher(const struct frontend *frontend, uint32_t type, const void *message);

/* Ask it. What is wrong is said in a line, and nothing has changed then. */
void generation_reload(void);

#endif
