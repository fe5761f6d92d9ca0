/* SPDX-License-Identifier: Apache-2.0
 *
 * A state directory of a test's own, and what a sandbox of it shows: the files of its place, of
 * all layers, as an overlay would.
 */
#ifndef UNIT_STORE_PLACE_H
#define UNIT_STORE_PLACE_H

#include "common/limits.h"
#include "stewards/store/store.h"

#define PLACE "workspace"
#define VIEW_MAX 4096

/* A census that nothing exceeds. */
#define PLACE_NO_LIMITS                                                                            \
	{                                                                                          \
		.sandboxes_max = SANDBOXES_MAX, .bytes_max = UINT64_MAX                            \
	}

/* Make it and have the store take it over; and remove it with all in it. */
void place_make(void);
void place_remove(void);
extern char place_path[];

/* A sandbox of the user's with this name, taken: its directory. */
int place_create(const char *name, struct store_meta *meta);

/* Take it by its name; it must be there. */
int place_take(const char *name, struct store_meta *meta);

/* Destroy it: 0 or store_destroy()'s error. */
int place_destroy(const struct store_meta *meta);

/* Open a directory in a layer, which is made where `is_made`; a descriptor, the caller's. */
int place_open(const struct store_meta *meta, uint32_t layer, const char *name, bool is_made);

/* Make an empty file in the sandbox, as a workload would. */
void place_write(const struct store_meta *meta, const char *file);

/* Is the file shown with this layer at the top? */
bool place_shows(const struct store_meta *meta, uint32_t layer, const char *file);

/* How many names are in a directory of the state directory, and is this one of them? */
int place_count(const char *directory);
bool place_has(const char *directory, const char *name);

/* As msp-layers merges: everything that these layers show, in the new one. */
void place_merge(const struct store_meta *meta, const struct store_merge *merge, int target);

/* All sandboxes in one text, by name: how many checkpoints, which files. Each must be whole, and
 * every layer on disk of one of them once what is left over was swept. */
void place_view(char ret[VIEW_MAX]);
void place_sweep(void);
int place_count_unnamed(void);

/* It was used so long ago. */
void place_age(const char *path, int seconds);

#endif
