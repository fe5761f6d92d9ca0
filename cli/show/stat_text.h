/* SPDX-License-Identifier: Apache-2.0
 *
 * How much each file changed, in the way of `git diff --stat`.
 */
#ifndef CLI_SHOW_STAT_TEXT_H
#define CLI_SHOW_STAT_TEXT_H

#include "frontend/changes.h"

/* Lines that are aligned with one another: what is kept in memory, however many there are. */
#define STAT_BATCH 1000

struct stat_text;

/* For lines of `columns`. */
struct stat_text *stat_text_new(unsigned int columns);

void stat_text_add(struct stat_text *stat, const struct change *change);

/* The last lines and the sum, on stdout; frees it. */
void stat_text_finish(struct stat_text *stat);

#endif
