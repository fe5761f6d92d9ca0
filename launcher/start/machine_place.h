/* SPDX-License-Identifier: Apache-2.0
 *
 * The virtual machine of this account, for profiles that show it: msp vm prepare made it, in the
 * state directory.
 */
#ifndef LAUNCHER_START_MACHINE_PLACE_H
#define LAUNCHER_START_MACHINE_PLACE_H

#include <stdbool.h>

#include "common/limits.h"
#include "launcher/start/config.h"

/* The link to the machine that is used, in the directory of machines. */
#define MACHINE_CURRENT "current"

/* Print the path of the machine that is used. False: there is none. */
bool machine_place_find(char ret[IPC_PATH_MAX]);

/* Put its path into the plan's records with PLAN_MACHINE, unless there is none, or the profile that
 * is needed has no such record ("": the default one; NULL: any is). 0, or -1 with a line in `text`.
 */
int machine_place_put(struct config *config, const char *needed, char text[CONFIG_TEXT_MAX]);

#endif
