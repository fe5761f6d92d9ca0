/* SPDX-License-Identifier: Apache-2.0
 *
 * The argument `paths` of the tools about changes.
 */
#ifndef BROKER_MCP_CORE_CHOSEN_PATHS_H
#define BROKER_MCP_CORE_CHOSEN_PATHS_H

#include "frontend/changes.h"
#include "json/copy.h"

struct call;
struct chosen_path;

/* The argument `paths` of a call: relative, inside the workspace. An all-zero struct chooses all
 * changes. */
struct chosen_paths {
	struct json_tree tree;
	struct chosen_path *sorted; /* each path once; NULL without chosen_paths_watch() */
	size_t count;
	size_t unmet_count;
};

/* Check an argument `paths` (NULL: none). False: the call has failed. */
bool chosen_paths_check(struct call *call, const struct json_document *document,
			const struct json_value *paths);

/* Copy a checked argument (NULL: none). */
void chosen_paths_take(struct chosen_paths *ret, const struct json_document *document,
		       const struct json_value *paths);
void chosen_paths_done(struct chosen_paths *paths);

/* Watch for paths at which there is no change: begin anew, take a change, append the problem as
 * a sentence. Returns true if there is such a path. */
void chosen_paths_watch(struct chosen_paths *paths);
void chosen_paths_meet(struct chosen_paths *paths, const struct change *change);
bool chosen_paths_put_unmet(const struct chosen_paths *paths, struct buffer *text);

/* Seal the paths for msp-layers, with a NUL after each; no paths stand for all changes. Returns a
 * descriptor or -errno. */
int chosen_paths_seal(const struct chosen_paths *paths);

/* Room for all paths of a request. */
#define CHOSEN_PATHS_BYTES (256U << 10)

#endif
