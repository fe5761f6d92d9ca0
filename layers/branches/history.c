/* SPDX-License-Identifier: Apache-2.0 */
#include "history.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "layers/reader/tree_names.h"
#include "layers/reader/walk.h"

/* A power of two, never half full. */
#define SLOTS (1U << 19)

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

struct telling {
	int (*found)(void *context, const struct history_file *file, const char *path);
	void *context;
};

static int tell_file(void *context, const char *path, const struct tree_entry *old,
		     const struct tree_entry *now)
{
	const struct telling *telling = context;
	struct history_file file = { .old_mode = old ? old->mode : 0,
				     .new_mode = now ? now->mode : 0 };

	if (old)
		memcpy(file.old_id, old->id, OBJECT_ID_BYTES);
	if (now)
		memcpy(file.new_id, now->id, OBJECT_ID_BYTES);
	return telling->found(telling->context, &file, path);
}

int history_files(const struct objects *objects, const uint8_t old[OBJECT_ID_BYTES],
		  const uint8_t id[OBJECT_ID_BYTES], uint32_t *again,
		  int (*found)(void *context, const struct history_file *file, const char *path),
		  void *context)
{
	struct telling telling = { found, context };

	return walk_compare(objects, old, id, again, tell_file, &telling);
}
