/* SPDX-License-Identifier: Apache-2.0
 *
 * The paths of this start: directories of the launcher's own, which no compiled plan can know.
 */
#ifndef LAUNCHER_START_PLAN_SOURCE_H
#define LAUNCHER_START_PLAN_SOURCE_H

#include <stdint.h>

#include "launcher/start/config.h"

/* Replace a configuration's plan by one with this path as the source of all records with `flag`. 0,
 * or -1 with a line in `text`. */
int plan_source_put(struct config *config, uint32_t flag, const char *path,
		    char text[CONFIG_TEXT_MAX]);

#endif
