/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of a sandbox's files as a text: a list like git's --stat, then unified diffs, cut to a
 * size. The workload chose all of it, and it is shown as such: names and lines are made showable,
 * and a name stays one line.
 */
#ifndef BROKER_MCP_CORE_CHANGE_PAGE_H
#define BROKER_MCP_CORE_CHANGE_PAGE_H

#include <stdbool.h>

#include "frontend/changes.h"
#include "lib/heap/buffer.h"

struct change_page {
	size_t room;  /* for the list and the diffs together */
	bool is_list; /* without diffs */
	struct buffer list, diffs;
	uint64_t count; /* changes in it, at least one */
	/* Sums over all changes, in the page or not. */
	uint64_t refused;   /* changes that are never applied */
	uint64_t committed; /* changes that come with the commits, and not as files */
	uint64_t held;
	uint64_t conflicts;
	uint64_t added, removed; /* lines of text */
	uint64_t opaque;         /* files without a diff: binary or large */
	unsigned int flags;      /* enum change_flag: true of at least one change in the page */
	bool is_full;            /* further changes go on another page */
	bool is_cut;             /* the diff of its first change is cut */
};

/* Add the next change, if the page has room. */
void change_page_add(struct change_page *page, const struct change *change);

/* Put the list, the meaning of its marks, the diffs. */
void change_page_put(const struct change_page *page, struct buffer *text);

void change_page_done(struct change_page *page);

/* Return true for a change that no apply applies. */
bool change_is_refused(const struct change *change);

#endif
