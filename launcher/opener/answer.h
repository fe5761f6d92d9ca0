/* SPDX-License-Identifier: Apache-2.0
 *
 * The opener itself: it takes the supervisor's messages, opens directories and keeps the list of
 * bridges. What needs more, the starter does.
 */
#ifndef LAUNCHER_OPENER_ANSWER_H
#define LAUNCHER_OPENER_ANSWER_H

#include "launcher/host/protected.h"
#include "launcher/start/opener.h"

/* Confine the process, but for what tells it which directories are protected. */
typedef void opener_confine(const struct protected_set *set);

/* Answer until the supervisor or the starter, at the other end of `starter`, has ended; `plan` is
 * the one in force. `confine` comes first. */
void answer_run(struct opener_start *start, const struct plan *plan, int starter,
		opener_confine *confine);

#endif
