/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_OPENER_BEGIN_H
#define LAUNCHER_OPENER_BEGIN_H

#include <stdbool.h>

#include "launcher/opener/answer.h"
#include "launcher/start/opener.h"

/* Take what the launcher has handed over (launcher/start/opener.h), and check it. False: it is not
 * a launcher's of this version. */
bool opener_take_start(struct opener_start *ret);

/* Begin the starter, a process beside us, and answer until the supervisor or the starter has ended.
 * `confine` comes before the first message. Returns after the starter's end. */
void opener_serve(struct opener_start *start, opener_confine *confine);

#endif
