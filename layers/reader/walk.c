/* SPDX-License-Identifier: Apache-2.0
 *
 * The ref's tree is compared with the one that the host's branch has, whatever the way: a merge, or
 * a commit that the host fetched, brings as much as a new commit. Then each commit that the host's
 * branch lacks is compared with its parents; it changes a path if the path differs from all of
 * them. A changed path is reported even if the host has the content: a known blob under the name of
 * a hook is as dangerous as a new blob.
 */
#include "walk.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "beside.h"
#include "check.h"
#include "refs.h"
#include "tree_names.h"

/* Nested directories; each takes a stack frame. */
#define DEPTH_MAX 512

static int add_waiting(struct walk *walk, const uint8_t id[OBJECT_ID_BYTES])
{
	return ids_append(&walk->waiting, &walk->waiting_count, &walk->waiting_room, id);
}

/* Report an object once, unless the host has it. */
static int bring_object(struct walk *walk, const uint8_t id[OBJECT_ID_BYTES],
			const struct object *object)
{
	const int is_hosts = objects_is_hosts(walk->objects, id);
	int status = is_hosts ? is_hosts : ids_add(&walk->seen, id);

	if (status == 0 &&
	    (walk->seen.count > WALK_OBJECTS_MAX || (walk->bytes += object->size) > WALK_BYTES_MAX))
		return -E2BIG;
	if (status == 0)
		status = check_head(object);
	if (status == 0 && walk->found)
		status = walk->found(walk->context, id, object);
	return status < 0 ? status : 0;
}

/* --- what a commit says ----------------------------------------------------------------------- */

static int parse_commit(const struct object *object, struct commit *ret)
{
	const char *at = (const char *)object->bytes;

	ret->parent_count = 0;
	if (object->type != OBJECT_COMMIT || !refs_take_line(&at, "tree ", ret->tree))
		return -EBADMSG;
	while (strncmp(at, "parent ", 7) == 0) {
		if (ret->parent_count == PARENTS_MAX)
			return -E2BIG;
		if (!refs_take_line(&at, "parent ", ret->parents[ret->parent_count++]))
			return -EBADMSG;
	}
	return strncmp(at, "author ", 7) == 0 ? 0 : -EBADMSG;
}

int walk_read_commit(const struct objects *objects, const uint8_t id[OBJECT_ID_BYTES],
		     struct object *ret_object, struct commit *ret)
{
	struct object object;
	int error = objects_read(objects, id, &object);

	if (error)
		return error;
	error = parse_commit(&object, ret);
	if (error || !ret_object)
		object_free(&object);
	else
		*ret_object = object;
	return error;
}

/* --- trees ------------------------------------------------------------------------------------ */

/* The current directory on all sides. An id is NULL if that side has no such directory. */
struct directory {
	const uint8_t *now;
	const uint8_t *old[PARENTS_MAX];
	size_t old_count;
};

/* Return whether a directory has the name of a file before it, and note the names of files. */
static bool is_twice(struct walk_side *side, const struct tree_entry *before)
{
	const struct tree_entry *entry = &side->entry;
	size_t same = 0;

	while (before && same < entry->name_size && same < before->name_size &&
	       entry->name[same] == before->name[same])
		same++;
	memset(side->is_file + same + 1, 0, NAME_MAX - same);
	if (entry->mode == TREE_DIRECTORY)
		return side->is_file[entry->name_size];
	side->is_file[entry->name_size] = true;
	return false;
}

int walk_next_entry(struct walk_side *side, uint32_t *entries)
{
	const struct tree_entry before = side->entry;
	const bool had_entry = side->has_entry;
	const int status =
		tree_entry_read(&side->at, side->object.bytes + side->object.size, &side->entry);

	side->has_entry = status == 1;
	if (status < 0)
		return status;
	if (++*entries > WALK_ENTRIES_MAX)
		return -E2BIG;
	if (status == 0)
		return 0;
	return (had_entry && tree_entry_compare(&before, &side->entry) >= 0) ||
			       is_twice(side, had_entry ? &before : NULL)
		       ? -EBADMSG
		       : 0;
}

int walk_open_side(const struct objects *objects, const uint8_t *id, uint32_t *entries,
		   struct walk_side *ret)
{
	int error;

	memset(ret, 0, sizeof(*ret));
	if (!id)
		return 0;
	error = objects_read(objects, id, &ret->object);
	if (error)
		return error;
	if (ret->object.type != OBJECT_TREE)
		return -EBADMSG;
	ret->at = ret->object.bytes;
	return walk_next_entry(ret, entries);
}

static int compare_directory(struct walk *walk, const struct directory *directory, size_t length,
			     unsigned int depth);

/* Tell of a path once, and again only as a link that leads elsewhere. */
static int tell_leaf(struct walk *walk, const struct tree_entry *entry, const struct object *object)
{
	const char *target = NULL;
	char key[IPC_PATH_MAX + OBJECT_ID_BYTES];
	uint8_t id[OBJECT_ID_BYTES];
	const size_t size = strlen(walk->path) + 1;
	int error;

	if (entry && entry->mode == TREE_LINK && object->bytes) {
		target = (const char *)object->bytes;
		if (object->size == 0 || memchr(target, '\0', object->size))
			return -EBADMSG;
	}
	if (!walk->changed)
		return 0;
	memcpy(key, walk->path, size);
	memset(key + size, 0, OBJECT_ID_BYTES);
	if (target || (entry && entry->mode == TREE_LACKING))
		memcpy(key + size, entry->id, OBJECT_ID_BYTES);
	error = library_hash(OBJECT_BLOB, (const uint8_t *)key, size + OBJECT_ID_BYTES, id);
	if (!error)
		error = ids_add(&walk->told, id);
	if (error)
		return error < 0 ? error : 0;
	return walk->changed(walk->context, walk->path, entry ? entry->mode : 0, target);
}

/* Return whether an entry names what the host lacks beside its objects, and keep the error for the
 * end: the walk goes on, so that all are named. */
static bool is_lacking(struct walk *walk, const struct tree_entry *entry,
		       const struct object *object)
{
	int error = 0;

	if (entry->mode == TREE_COMMIT)
		error = beside_lacks_commit(walk->git, walk->path, entry->id) ? -ENOLINK : 0;
	else if (entry->mode != TREE_LINK && object->bytes)
		error = beside_lacks_content(walk->git, object) ? -ENODATA : 0;
	walk->lacking = walk->lacking ? walk->lacking : error;
	return error != 0;
}

/* Report a file, link or submodule that differs from every parent's, and bring its object. */
static int look_at_leaf(struct walk *walk, const struct tree_entry *entry)
{
	struct object object = { 0 };
	struct tree_entry told = *entry;
	/* A submodule's commit is in its own repository. */
	const int is_known =
		entry->mode == TREE_COMMIT ? 1 : objects_is_hosts(walk->objects, entry->id);
	int error = is_known < 0 ? is_known : 0;

	if (!error && (!is_known || entry->mode == TREE_LINK || entry->special != TREE_PLAIN)) {
		error = objects_read(walk->objects, entry->id, &object);
		if (!error && object.type != OBJECT_BLOB)
			error = -EBADMSG;
		if (!error && entry->mode != TREE_LINK)
			error = check_content(entry->special, &object);
		if (!error)
			error = bring_object(walk, entry->id, &object);
	}
	if (!error && is_lacking(walk, entry, &object))
		told.mode = TREE_LACKING;
	if (!error)
		error = tell_leaf(walk, &told, &object);
	object_free(&object);
	return error;
}

/* Append a name to the path. Return its new length, or -ENAMETOOLONG. */
static int add_name(struct walk *walk, size_t length, const struct tree_entry *entry)
{
	const size_t start = length > 0 ? length + 1 : 0;

	if (start + entry->name_size >= sizeof(walk->path))
		return -ENAMETOOLONG;
	if (start > 0)
		walk->path[start - 1] = '/';
	memcpy(walk->path + start, entry->name, entry->name_size);
	walk->path[start + entry->name_size] = '\0';
	return (int)(start + entry->name_size);
}

static bool is_same_entry(const struct tree_entry *left, const struct tree_entry *right)
{
	return left->mode == right->mode && memcmp(left->id, right->id, OBJECT_ID_BYTES) == 0;
}

/* Compare one name. `now` NULL: the commit lacks it; `old`: the parents' entries with it. */
static int compare_name(struct walk *walk, const struct tree_entry *now,
			const struct tree_entry *const *old, size_t old_count, size_t length,
			unsigned int depth)
{
	const struct tree_entry *any = now ? now : old[0];
	struct directory below = { .now = now ? now->id : NULL };
	int end;

	for (size_t i = 0; now && i < old_count; i++) {
		if (is_same_entry(now, old[i]))
			return 0; /* the parent's own walk covers it, or the host has it */
	}
	end = add_name(walk, length, any);
	if (end < 0)
		return end;
	if (any->mode != TREE_DIRECTORY && walk->differs)
		return walk->differs(walk->context, walk->path, old_count ? old[0] : NULL, now);
	if (any->mode != TREE_DIRECTORY)
		return now ? look_at_leaf(walk, now) : tell_leaf(walk, NULL, NULL);
	for (size_t i = 0; i < old_count; i++)
		below.old[below.old_count++] = old[i]->id;
	return compare_directory(walk, &below, (size_t)end, depth + 1);
}

/* Find the entry with the first name in order; NULL: no side has more. */
static const struct tree_entry *find_first(const struct walk_side *sides, size_t count)
{
	const struct tree_entry *first = NULL;

	for (size_t i = 0; i < count; i++) {
		if (sides[i].has_entry &&
		    (!first || tree_entry_compare(&sides[i].entry, first) < 0))
			first = &sides[i].entry;
	}
	return first;
}

/* Compare the first name and move on. sides[0] is the commit's, the others are the parents'. */
static int compare_first(struct walk *walk, struct walk_side *sides, size_t count, size_t length,
			 unsigned int depth)
{
	const struct tree_entry *old[PARENTS_MAX];
	const struct tree_entry first = *find_first(sides, count);
	bool has_it[PARENTS_MAX + 1] = { false };
	size_t old_count = 0;
	int error = 0;

	for (size_t i = 0; i < count; i++) {
		has_it[i] = sides[i].has_entry && tree_entry_compare(&sides[i].entry, &first) == 0;
		if (i > 0 && has_it[i])
			old[old_count++] = &sides[i].entry;
	}
	/* If only some parents have the name, a merge chose between two existing states. */
	if (has_it[0] || old_count == count - 1)
		error = compare_name(walk, has_it[0] ? &sides[0].entry : NULL, old, old_count,
				     length, depth);
	walk->path[length] = '\0';
	for (size_t i = 0; i < count && !error; i++)
		error = has_it[i] ? walk_next_entry(&sides[i], &walk->entries) : 0;
	return error;
}

/* Return whether a tree was compared before: 1, 0 or -errno. Its paths are others now, and so they
 * are compared again, within a bound; objects alone are brought once, whatever they were compared
 * with. A tree that is gone has the id of the first old one, inverted. */
static int is_again(struct walk *walk, const struct directory *directory)
{
	const bool has_paths = walk->changed || walk->differs;
	uint32_t none = 0, *again = walk->again ? walk->again : &none;
	const uint8_t *id = directory->now ? directory->now : directory->old[0];
	uint8_t key[OBJECT_ID_BYTES];
	int status;

	if (!id || (!has_paths && !directory->now))
		return 1;
	for (size_t i = 0; i < sizeof(key); i++)
		key[i] = directory->now ? id[i] : (uint8_t)~id[i];
	status = ids_add(&walk->trees, key);
	if (status == 1 && has_paths) {
		walk->again_here += 1 + (uint32_t)directory->old_count;
		*again += 1 + (uint32_t)directory->old_count;
		status = walk->again_here > WALK_AGAIN_MAX || *again > WALK_AGAIN_ALL ? -E2BIG : 0;
	}
	return status;
}

static int compare_directory(struct walk *walk, const struct directory *directory, size_t length,
			     unsigned int depth)
{
	const size_t count = directory->old_count + 1;
	struct walk_side *sides;
	int error = depth < DEPTH_MAX ? is_again(walk, directory) : -ENAMETOOLONG;

	if (error)
		return error < 0 ? error : 0;
	sides = calloc(count, sizeof(*sides));
	if (!sides)
		return -ENOMEM;
	for (size_t i = 0; i < count && !error; i++)
		error = walk_open_side(walk->objects, i ? directory->old[i - 1] : directory->now,
				       &walk->entries, &sides[i]);
	while (!error && find_first(sides, count))
		error = compare_first(walk, sides, count, length, depth);
	if (!error && directory->now && !walk->differs)
		error = bring_object(walk, directory->now, &sides[0].object);
	for (size_t i = 0; i < count; i++)
		object_free(&sides[i].object);
	free(sides);
	return error;
}

/* --- the history of the host ------------------------------------------------------------------ */

static void begin_known(const struct walk *walk)
{
	struct walk_known *known = walk->known;
	const uint32_t read = known->read;

	if (memcmp(known->bases, walk->bases, sizeof(known->bases)) == 0)
		return;
	walk_forget(known);
	known->read = read;
	memcpy(known->bases, walk->bases, sizeof(known->bases));
}

void walk_forget(struct walk_known *known)
{
	ids_free(&known->ids);
	free(known->queue);
	*known = (struct walk_known){ 0 };
}

static int add_known(struct walk_known *known, const uint8_t id[OBJECT_ID_BYTES])
{
	const int status = ids_is_zero(id) ? 1 : ids_add(&known->ids, id);

	return status ? status : ids_append(&known->queue, &known->count, &known->room, id);
}

/* Return whether the history of a base has this commit of the host: 1, 0 or -errno. The search goes
 * breadth first; commits that it does not reach count as foreign. */
static int is_in_history(const struct walk *walk, const uint8_t id[OBJECT_ID_BYTES])
{
	static struct commit commit;
	struct walk_known *known = walk->known;
	int status = 0;

	for (size_t i = 0; i < 2 && status >= 0; i++)
		status = add_known(known, known->bases[i]);
	while (status >= 0 && !ids_has(&known->ids, id) && known->next < known->count &&
	       known->count < WALK_KNOWN_MAX && known->read < WALK_READ_ALL) {
		known->read++;
		/* A shallow history ends with commits whose parents are missing. */
		if (walk_read_commit(walk->objects, known->queue[known->next++], NULL, &commit))
			continue;
		for (size_t i = 0; i < commit.parent_count && status >= 0; i++)
			status = add_known(known, commit.parents[i]);
	}
	return status < 0 ? status : ids_has(&known->ids, id);
}

/* Return whether a walk ends at a commit: 1, 0 or -errno. */
static int is_end(const struct walk *walk, const uint8_t id[OBJECT_ID_BYTES])
{
	const int is_hosts = objects_is_hosts(walk->objects, id);

	return is_hosts == 1 && walk->changed ? is_in_history(walk, id) : is_hosts;
}

/* --- commits ---------------------------------------------------------------------------------- */

/* Read the id of a commit's tree. */
static int read_tree(const struct objects *objects, const uint8_t id[OBJECT_ID_BYTES],
		     uint8_t ret[OBJECT_ID_BYTES])
{
	static struct commit commit;
	const int error = walk_read_commit(objects, id, NULL, &commit);

	if (!error)
		memcpy(ret, commit.tree, OBJECT_ID_BYTES);
	return error;
}

/* Compare a tree with the one of the host's branch; without a branch, with an empty one. */
static int compare_with_base(struct walk *walk, const uint8_t tree[OBJECT_ID_BYTES])
{
	uint8_t base[OBJECT_ID_BYTES];
	const bool has_base = !ids_is_zero(walk->bases[0]);
	struct directory directory = { .now = tree, .old = { base }, .old_count = has_base };
	const int error = has_base ? read_tree(walk->objects, walk->bases[0], base) : 0;

	if (error || (has_base && memcmp(base, tree, sizeof(base)) == 0))
		return error;
	walk->path[0] = '\0';
	return compare_directory(walk, &directory, 0, 0);
}

static int compare_commit(struct walk *walk, const uint8_t id[OBJECT_ID_BYTES],
			  struct commit *commit)
{
	struct directory directory = { .now = commit->tree, .old_count = commit->parent_count };
	static uint8_t trees[PARENTS_MAX][OBJECT_ID_BYTES];

	for (size_t i = 0; i < commit->parent_count; i++) {
		const int error = read_tree(walk->objects, commit->parents[i], trees[i]);

		if (error == -ENOENT && objects_is_hosts(walk->objects, id) == 1) {
			commit->parent_count = 0; /* the host's history is shallow */
			return compare_with_base(walk, commit->tree);
		}
		if (error)
			return error;
		if (memcmp(trees[i], commit->tree, OBJECT_ID_BYTES) == 0)
			return 0;
		directory.old[i] = trees[i];
	}
	walk->path[0] = '\0';
	return compare_directory(walk, &directory, 0, 0);
}

/* Count a commit that is to be compared, if the host has it. 0 or -errno. */
static int count_hosts(const struct walk *walk, const uint8_t id[OBJECT_ID_BYTES])
{
	const int is_hosts = walk->changed ? objects_is_hosts(walk->objects, id) : 0;

	if (is_hosts <= 0)
		return is_hosts;
	if (walk->known->read >= WALK_READ_ALL)
		return -E2BIG;
	walk->known->read += WALK_READ_COMPARED;
	return 0;
}

static int look_at_commit(struct walk *walk, const uint8_t id[OBJECT_ID_BYTES])
{
	static struct commit commit;
	struct object object;
	int error = count_hosts(walk, id);

	if (!error)
		error = walk_read_commit(walk->objects, id, &object, &commit);
	if (error)
		return error;
	error = compare_commit(walk, id, &commit);
	if (!error)
		error = bring_object(walk, id, &object);
	if (!error)
		error = ids_add(&walk->seen, id);
	object_free(&object);
	walk->commits++;
	for (size_t i = 0; i < commit.parent_count && error >= 0; i++) {
		error = is_end(walk, commit.parents[i]);
		if (error == 0)
			error = add_waiting(walk, commit.parents[i]);
	}
	return error < 0 ? error : 0;
}

/* Replace a tag's id by its object's id until that is no tag; bring the tags. */
static int peel_tags(struct walk *walk, uint8_t id[OBJECT_ID_BYTES])
{
	struct object tag = { 0 };
	int error;

	for (;;) {
		struct object object;
		const char *at;

		error = objects_read(walk->objects, id, &object);
		if (!error && tag.bytes)
			error = check_tagged(&tag, object.type);
		object_free(&tag);
		if (error || object.type != OBJECT_TAG) {
			error = error ? error : object.type == OBJECT_COMMIT ? 0 : -ENOTSUP;
			object_free(&object);
			return error;
		}
		error = bring_object(walk, id, &object);
		at = (const char *)object.bytes;
		if (!error && !refs_take_line(&at, "object ", id))
			error = -EBADMSG;
		tag = object;
		if (error)
			break;
	}
	object_free(&tag);
	return error;
}

/* Compare the tree in which all ends. */
static int compare_end(struct walk *walk, const uint8_t id[OBJECT_ID_BYTES])
{
	uint8_t tree[OBJECT_ID_BYTES];
	int error;

	if (!walk->changed)
		return 0;
	begin_known(walk);
	error = read_tree(walk->objects, id, tree);
	if (!error)
		error = compare_with_base(walk, tree);
	ids_free(&walk->trees); /* the commits may say the same of the same places */
	return error;
}

int walk_run(struct walk *walk, const uint8_t id[OBJECT_ID_BYTES])
{
	uint8_t next[OBJECT_ID_BYTES];
	int error;

	memcpy(next, id, sizeof(next));
	error = peel_tags(walk, next);
	if (!error)
		error = compare_end(walk, next);
	if (!error)
		error = is_end(walk, next);
	if (error == 0)
		error = add_waiting(walk, next);
	while (walk->waiting_count > 0 && error == 0) {
		memcpy(next, walk->waiting[--walk->waiting_count], sizeof(next));
		/* A commit of two children was added twice. */
		if (!ids_has(&walk->seen, next))
			error = look_at_commit(walk, next);
	}
	ids_free(&walk->seen);
	ids_free(&walk->trees);
	ids_free(&walk->told);
	free(walk->waiting);
	walk->waiting = NULL;
	walk->waiting_count = walk->waiting_room = 0;
	if (error < 0)
		return error;
	return walk->lacking;
}

int walk_compare(const struct objects *objects, const uint8_t old[OBJECT_ID_BYTES],
		 const uint8_t now[OBJECT_ID_BYTES], uint32_t *again,
		 int (*differs)(void *context, const char *path, const struct tree_entry *old,
				const struct tree_entry *now),
		 void *context)
{
	static struct walk walk;
	uint8_t tree[OBJECT_ID_BYTES];
	int error = read_tree(objects, now, tree);

	walk = (struct walk){
		.objects = objects, .context = context, .differs = differs, .again = again
	};
	memcpy(walk.bases[0], old, OBJECT_ID_BYTES);
	if (!error)
		error = compare_with_base(&walk, tree);
	ids_free(&walk.trees);
	return error;
}
