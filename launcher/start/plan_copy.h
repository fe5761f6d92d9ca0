/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of a plan for one start: of a copy, which takes its place.
 */
#ifndef LAUNCHER_START_PLAN_COPY_H
#define LAUNCHER_START_PLAN_COPY_H

#include "launcher/start/config.h"

#define PLAN_COPY_ALIGNMENT 8U

/* The copy that grows at its end. */
struct plan_copy {
	_Alignas(PLAN_COPY_ALIGNMENT) uint8_t bytes[PLAN_SIZE_MAX];
	uint32_t used;
};

extern struct plan_copy plan_copy;

/* Begin a copy, in place of the last one. */
void plan_copy_begin(const struct plan *plan);

/* Append bytes. Return their offset; 0: there is no room. */
uint32_t plan_copy_put(const void *bytes, size_t size);

/* Put the copy in the place of the configuration's plan. 0, or the exit code with a line in `text`.
 */
int plan_copy_end(struct config *config, char text[CONFIG_TEXT_MAX]);

/* Put a plan in its place with this path as the source of all records with `flag`. 0, or -1 with a
 * line in `text`. */
int plan_source_put(struct config *config, uint32_t flag, const char *path,
		    char text[CONFIG_TEXT_MAX]);

#endif
