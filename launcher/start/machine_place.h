/* SPDX-License-Identifier: Apache-2.0
 *
 * The virtual machine of this account, for profiles that show it: msp vm prepare made it, in the
 * state directory.
 */
#ifndef LAUNCHER_START_MACHINE_PLACE_H
#define LAUNCHER_START_MACHINE_PLACE_H

#include <stdbool.h>

#include "common/limits.h"

/* The link to the machine that is used, in the directory of machines. */
#define MACHINE_CURRENT "current"

/* Print the path of the machine that is used. False: there is none. */
bool machine_place_find(char ret[IPC_PATH_MAX]);

#endif
