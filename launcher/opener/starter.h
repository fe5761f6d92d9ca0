/* SPDX-License-Identifier: Apache-2.0
 *
 * The starter: it compiles policies, reads secrets, and starts programs. It takes no bytes from
 * another but the path of a directory that was opened, and the numbers of ports.
 */
#ifndef LAUNCHER_OPENER_STARTER_H
#define LAUNCHER_OPENER_STARTER_H

#include "launcher/start/opener.h"

/* Serve the opener at the other end of `channel`, until it has ended; `plan` is the one in force.
 */
void starter_run(struct opener_start *start, const struct plan *plan, int channel);

#endif
