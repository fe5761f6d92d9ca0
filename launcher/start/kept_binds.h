/* SPDX-License-Identifier: Apache-2.0
 *
 * The binds of `msp create --ro` and `msp run -w --ro`. A persistent sandbox names its profile
 * alone, so a set of binds is a profile: "PROFILE+SUFFIX", which msp-policy derives in each plan
 * from a file in `binds` of the state directory. The paths are checked at each start, as those of
 * the operator's file. The suffix is random: a client that may name a profile cannot guess that of
 * another's sandbox.
 */
#ifndef LAUNCHER_START_KEPT_BINDS_H
#define LAUNCHER_START_KEPT_BINDS_H

#include <stdbool.h>

#include "launcher/host/bind.h"
#include "launcher/start/config.h"

/* Keep the binds for sandboxes of `profile`, and write the name of the derived one. A set that is
 * kept already is used again; sets that no sandbox has used for an hour are removed. 0, or the exit
 * code with a line in `text`. */
int kept_binds_add(const char *profile, const struct binds *binds, char ret[IPC_NAME_MAX],
		   bool *ret_is_new, char text[CONFIG_TEXT_MAX]);

#endif
