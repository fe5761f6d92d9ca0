/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of msp-opener, one file each, but for the bridges (bridge_hub.h).
 */
#ifndef LAUNCHER_OPENER_PARTS_H
#define LAUNCHER_OPENER_PARTS_H

#include <stdbool.h>

#include "launcher/host/protected.h"
#include "launcher/start/opener.h"

/* Confine the process, but for what tells it which directories are protected. */
typedef void opener_confine(const struct protected_set *set);

/* Take what the launcher has handed over (launcher/start/opener.h), and check it. False: it is not
 * a launcher's of this version. */
bool opener_take_start(struct opener_start *ret);

/* Begin the starter, a process beside us, and answer until the supervisor or the starter has ended.
 * `confine` comes before the first message. Returns after the starter's end. */
void opener_serve(struct opener_start *start, opener_confine *confine);

/* The opener itself: it takes the supervisor's messages, opens directories and keeps the list of
 * bridges. What needs more, the starter does. Answer until the supervisor or the
 * starter, at the other end of `starter`, has ended; `plan` is the one in force. `confine` comes
 * first. */
void answer_run(struct opener_start *start, const struct plan *plan, int starter,
		opener_confine *confine);

/* The starter: it compiles policies, reads secrets, and starts programs. It takes no bytes from
 * another but the path of a directory that was opened, and the numbers of ports. Serve the opener
 * at the other end of `channel`, until it has ended; `plan` is the one in force. */
void starter_run(struct opener_start *start, const struct plan *plan, int channel);

/* Have msp-git-config, from its `image`, find the files of `workspace`, a canonical path, that the
 * host's git configuration names. Return its answer (launcher/git/named.h), a sealed file, or
 * -errno. *ret_data is git's data outside of it (launcher/git/data.h), where `plan` lets it be
 * shown, or -1. */
int git_question_ask(int image, const char *workspace, const struct plan *plan, int *ret_data);

#endif
