/* SPDX-License-Identifier: Apache-2.0 */
#include "history.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "commits/tree_names.h"
#include "commits/walk.h"

/* A power of two, never half full. */
#define SLOTS (1U << 19)

/* Nested directories, as in a walk. */
#define DEPTH_MAX 512

_Static_assert(SLOTS > 2 * HISTORY_COMMITS_MAX, "an open hash that is never half full");

struct node {
	uint8_t id[OBJECT_ID_BYTES];
	uint32_t child; /* the node from which the search came here */
};

/* The search goes breadth first: `nodes` is its queue, and all that it has met. */
struct search {
	struct node *nodes;
	uint32_t count;
	uint32_t *slots; /* an open hash of nodes, by number + 1 */
};

/* Add a commit once. -E2BIG: there are too many. */
static int add_node(struct search *search, const uint8_t id[OBJECT_ID_BYTES], uint32_t child)
{
	uint32_t slot;

	memcpy(&slot, id, sizeof(slot));
	for (slot &= SLOTS - 1; search->slots[slot] != 0; slot = (slot + 1) & (SLOTS - 1)) {
		if (memcmp(search->nodes[search->slots[slot] - 1].id, id, OBJECT_ID_BYTES) == 0)
			return 0;
	}
	if (search->count == HISTORY_COMMITS_MAX)
		return -E2BIG;
	memcpy(search->nodes[search->count].id, id, OBJECT_ID_BYTES);
	search->nodes[search->count++].child = child;
	search->slots[slot] = search->count;
	return 0;
}

/* Search until `old` is met. Its number is *ret. */
static int find_ancestor(const struct objects *objects, struct search *search,
			 const uint8_t old[OBJECT_ID_BYTES], uint32_t *ret)
{
	static struct commit commit;
	int error = 0;

	for (uint32_t at = 0; at < search->count && !error; at++) {
		struct object object;

		if (memcmp(search->nodes[at].id, old, OBJECT_ID_BYTES) == 0) {
			*ret = at;
			return 0;
		}
		error = walk_read_commit(objects, search->nodes[at].id, &object, &commit);
		if (error)
			return error;
		object_free(&object);
		for (size_t i = 0; i < commit.parent_count && !error; i++)
			error = add_node(search, commit.parents[i], at);
	}
	return error ? error : -ESTALE;
}

int history_chain(const struct objects *objects, const uint8_t old[OBJECT_ID_BYTES],
		  const uint8_t id[OBJECT_ID_BYTES],
		  int (*found)(void *context, const uint8_t id[OBJECT_ID_BYTES],
			       const struct object *object),
		  void *context)
{
	struct search search = { .nodes = calloc(HISTORY_COMMITS_MAX, sizeof(*search.nodes)),
				 .slots = calloc(SLOTS, sizeof(*search.slots)) };
	uint32_t at = 0;
	int error = search.nodes && search.slots ? add_node(&search, id, 0) : -ENOMEM;

	if (!error)
		error = find_ancestor(objects, &search, old, &at);
	while (!error && at != 0) {
		struct object object;

		at = search.nodes[at].child;
		error = objects_read(objects, search.nodes[at].id, &object);
		if (!error)
			error = found(context, search.nodes[at].id, &object);
		object_free(&object);
	}
	free(search.nodes);
	free(search.slots);
	return error;
}

/* --- trees ------------------------------------------------------------------------------------ */

struct comparison {
	const struct objects *objects;
	int (*found)(void *context, const struct history_file *file, const char *path);
	void *context;
	uint32_t entries;
	char path[IPC_PATH_MAX];
};

static int compare_trees(struct comparison *comparison, const uint8_t *old, const uint8_t *now,
			 size_t length, unsigned int depth);

/* Tell of one name; NULL: that side lacks it. Both are directories, or neither is. */
static int compare_entries(struct comparison *comparison, const struct tree_entry *old,
			   const struct tree_entry *now, size_t length, unsigned int depth)
{
	const struct tree_entry *any = now ? now : old;
	const size_t start = length > 0 ? length + 1 : 0;
	struct history_file file = { .old_mode = old ? old->mode : 0,
				     .new_mode = now ? now->mode : 0 };

	if (old && now && old->mode == now->mode && memcmp(old->id, now->id, OBJECT_ID_BYTES) == 0)
		return 0;
	if (start + any->name_size >= sizeof(comparison->path))
		return -ENAMETOOLONG;
	if (start > 0)
		comparison->path[length] = '/';
	memcpy(comparison->path + start, any->name, any->name_size);
	comparison->path[start + any->name_size] = '\0';
	if (any->mode == TREE_DIRECTORY)
		return compare_trees(comparison, old ? old->id : NULL, now ? now->id : NULL,
				     start + any->name_size, depth + 1);
	if (old)
		memcpy(file.old_id, old->id, OBJECT_ID_BYTES);
	if (now)
		memcpy(file.new_id, now->id, OBJECT_ID_BYTES);
	return comparison->found(comparison->context, &file, comparison->path);
}

static int compare_sides(struct comparison *comparison, struct walk_side *old,
			 struct walk_side *now, size_t length, unsigned int depth)
{
	int error = 0;

	while (!error && (old->has_entry || now->has_entry)) {
		const int order = !old->has_entry   ? 1
				  : !now->has_entry ? -1
						    : tree_entry_compare(&old->entry, &now->entry);

		error = compare_entries(comparison, order <= 0 ? &old->entry : NULL,
					order >= 0 ? &now->entry : NULL, length, depth);
		if (!error && order <= 0)
			error = walk_next_entry(old, &comparison->entries);
		if (!error && order >= 0)
			error = walk_next_entry(now, &comparison->entries);
	}
	return error;
}

static int compare_trees(struct comparison *comparison, const uint8_t *old, const uint8_t *now,
			 size_t length, unsigned int depth)
{
	struct walk_side sides[2] = { { .has_entry = false }, { .has_entry = false } };
	int error = depth < DEPTH_MAX ? walk_open_side(comparison->objects, old,
						       &comparison->entries, &sides[0])
				      : -ENAMETOOLONG;

	if (!error)
		error = walk_open_side(comparison->objects, now, &comparison->entries, &sides[1]);
	if (!error)
		error = compare_sides(comparison, &sides[0], &sides[1], length, depth);
	object_free(&sides[0].object);
	object_free(&sides[1].object);
	return error;
}

int history_files(const struct objects *objects, const uint8_t old[OBJECT_ID_BYTES],
		  const uint8_t id[OBJECT_ID_BYTES],
		  int (*found)(void *context, const struct history_file *file, const char *path),
		  void *context)
{
	static struct comparison comparison;
	static struct commit commit;
	uint8_t before[OBJECT_ID_BYTES];
	struct object object;
	int error = walk_read_commit(objects, old, &object, &commit);

	if (error)
		return error;
	object_free(&object);
	memcpy(before, commit.tree, sizeof(before));
	error = walk_read_commit(objects, id, &object, &commit);
	if (error)
		return error;
	object_free(&object);
	comparison = (struct comparison){ .objects = objects, .found = found, .context = context };
	return compare_trees(&comparison, before, commit.tree, 0, 0);
}
