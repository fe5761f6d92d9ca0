/* SPDX-License-Identifier: Apache-2.0
 *
 * Layers: what becomes one, what is built on it, and when nobody needs it any more. Each change is
 * made on a copy of the meta; what is saved becomes the meta.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/ipc/ipc_store.h"
#include "inner.h"

#define BASE_NAME "base"    /* layers/base/base.h */
#define WORK_PREFIX "work-" /* an init makes the work directories (child-init/places.c) */
#define MERGE_NAME "merge"

static struct store_meta next; /* the meta to be */

static bool is_place(const char *name)
{
	return name[0] != '\0' && name[0] != '.' && strcmp(name, BASE_NAME) != 0 &&
	       strncmp(name, WORK_PREFIX, strlen(WORK_PREFIX)) != 0 && !strchr(name, '/');
}

/* Open the directory `name` of `dir` after making it, or when it is there. */
static int open_made(int dir, const char *name, mode_t mode)
{
	int fd;

	if (mode && mkdirat(dir, name, mode) != 0 && errno != EEXIST)
		return -errno;
	fd = openat(dir, name, STORE_DIRECTORY);
	return fd < 0 ? -errno : fd;
}

static int open_layer(const uint8_t id[STORE_ID_BYTES])
{
	char text[IPC_ID_MAX];

	store_id_text(id, text);
	return open_made(store_places.layers, text, 0);
}

int store_layer(const struct store_meta *meta, uint32_t layer)
{
	return layer < meta->layer_count ? open_layer(meta->layers[layer].id) : -ENOENT;
}

int store_journal(int sandbox)
{
	return open_made(sandbox, "journal", S_IRWXU);
}

/* --- what becomes a layer --------------------------------------------------------------------- */

/* An unreadable directory was closed by a workload; a name that is no directory is no place. */
static bool has_other(const int *layer, const char *directory, const char *but)
{
	const int result = store_has_any(*layer, directory, but);

	return result != 0 && result != -ENOENT && (but || result != -ENOTDIR);
}

static int found_in_place(void *context, const char *name)
{
	return is_place(name) && has_other(context, name, NULL);
}

/* The user's name for git, which msp puts into a new sandbox, does not count
 * (layers/foreign/prepare.c).
 */
static int found_in_used(void *context, const char *name)
{
	return strcmp(name, "home") != 0
		       ? found_in_place(context, name)
		       : has_other(context, "home", ".config") ||
				 has_other(context, "home/.config", "git") ||
				 has_other(context, "home/.config/git", "config") ||
				 has_other(context, "home/.config/git/config", NULL);
}

static bool is_upper_without(const struct store_meta *meta,
			     int (*found)(void *context, const char *name))
{
	int layer = open_layer(meta->layers[meta->upper].id);
	const bool is_empty = layer >= 0 && store_each_name(layer, ".", found, &layer) == 0;

	fd_close(&layer);
	return is_empty;
}

bool store_is_empty(const struct store_meta *meta)
{
	return meta->layer_count == 1 && meta->checkpoint_count == 0 &&
	       is_upper_without(meta, found_in_used);
}

int store_trash(void)
{
	const int result = store_has_any(store_places.trash, ".", NULL);

	return result == 1 ? open_made(store_places.trash, ".", 0) : result ? result : -ENOENT;
}

/* Make the upper a read-only layer and put a new upper on top of it; an empty upper stays as it
 * is. 1: there is a new one, 0: there is not; or -errno. */
static int freeze_upper(struct store_meta *meta)
{
	int error;

	if (is_upper_without(meta, found_in_place))
		return 0;
	error = store_add_layer(meta, meta->upper);
	if (error)
		return error;
	meta->upper = meta->layer_count - 1;
	return 1;
}

/* `next` is the meta from now on; else a new layer is not needed. */
static int commit_meta(int sandbox, struct store_meta *meta, bool has_new_upper)
{
	int error;

	store_sum_all(&next);
	error = store_save(sandbox, &next);
	if (!error) {
		if (next.disk_bytes != meta->disk_bytes)
			store_survey_forget();
		*meta = next;
		store_write_count(sandbox, meta);
	} else if (has_new_upper) {
		store_remove_layer(next.layers[next.upper].id);
	}
	return error;
}

/* Under the lock; the time is that of the file that says it. */
static int checkpoint_upper(int sandbox, struct store_meta *meta, const char *name)
{
	struct store_checkpoint *at = &next.checkpoints[meta->checkpoint_count];
	int made;

	next = *meta;
	made = freeze_upper(&next);
	if (made < 0)
		return made;
	*at = (struct store_checkpoint){ .number = next.next_checkpoint++,
					 .layer = next.layers[next.upper].parent,
					 .created_s = clock_real_us() / 1000000 };
	strncpy(at->name, name, sizeof(at->name) - 1);
	next.checkpoint_count++;
	return commit_meta(sandbox, meta, made == 1);
}

int store_checkpoint(int sandbox, struct store_meta *meta, const char *name,
		     struct store_checkpoint *ret)
{
	int error = meta->checkpoint_count == CHECKPOINTS_MAX ? -E2BIG : store_lock();

	if (error)
		return error;
	error = checkpoint_upper(sandbox, meta, name);
	store_unlock();
	if (!error)
		*ret = meta->checkpoints[meta->checkpoint_count - 1];
	return error;
}

/* --- back, and away --------------------------------------------------------------------------- */

static void throw_away(const uint8_t id[STORE_ID_BYTES])
{
	char text[IPC_ID_MAX];

	store_id_text(id, text);
	(void)renameat(store_places.layers, text, store_places.trash, text); /* or left over */
}

/* An upper belongs to one sandbox: to drop it, no other meta need be read. */
static int roll_back_to(int sandbox, struct store_meta *meta, uint32_t layer)
{
	const struct store_layer old = meta->layers[meta->upper];
	uint32_t pruned;
	int error;

	next = *meta;
	if (old.parent == layer && is_upper_without(&next, found_in_place))
		return 0;
	next.upper = STORE_NO_LAYER;
	pruned = store_prune(&next);
	layer = layer == STORE_NO_LAYER ? layer : store_layer_find(&next, meta->layers[layer].id);
	error = store_add_layer(&next, layer);
	if (error)
		return error;
	next.upper = next.layer_count - 1;
	error = commit_meta(sandbox, meta, true);
	if (error)
		return error;
	throw_away(old.id);
	if (pruned > 1)
		(void)store_collect(); /* or the next one does */
	return 0;
}

int store_rollback(int sandbox, struct store_meta *meta, uint32_t number)
{
	const struct store_checkpoint *at = store_checkpoint_find(meta, number);
	int error = at ? store_lock() : -ENOENT;

	if (error)
		return error;
	error = roll_back_to(sandbox, meta, at->layer);
	store_unlock();
	return error;
}

int store_forget(int sandbox, struct store_meta *meta, uint32_t number)
{
	const struct store_checkpoint *at = store_checkpoint_find(meta, number);
	struct store_checkpoint *to;
	uint32_t pruned;
	int error = at ? store_lock() : -ENOENT;

	if (error)
		return error;
	next = *meta;
	to = &next.checkpoints[at - meta->checkpoints];
	memmove(to, to + 1,
		sizeof(*to) * (size_t)(next.checkpoints + --next.checkpoint_count - to));
	memset(&next.checkpoints[next.checkpoint_count], 0, sizeof(*to));
	pruned = store_prune(&next);
	error = commit_meta(sandbox, meta, false);
	if (!error && pruned > 0)
		(void)store_collect(); /* or the next one does */
	store_unlock();
	return error;
}

/* --- forks ------------------------------------------------------------------------------------ */

/* The layers from `layer` down, the lowest first. */
static void copy_stack(struct store_meta *to, const struct store_meta *from, uint32_t layer)
{
	to->layer_count = store_depth(from, layer);
	for (uint32_t i = to->layer_count; i-- > 0; layer = from->layers[layer].parent) {
		to->layers[i] = from->layers[layer];
		to->layers[i].parent = i == 0 ? STORE_NO_LAYER : i - 1;
	}
}

static int fork_at(int sandbox, const struct store_meta *meta, uint32_t layer, const char *name,
		   struct store_meta *ret)
{
	const uint32_t depth = store_depth(meta, layer);

	memset(ret, 0, sizeof(*ret));
	memcpy(ret->owner, meta->owner, sizeof(ret->owner));
	memcpy(ret->profile, meta->profile, sizeof(ret->profile));
	memcpy(ret->workspace, meta->workspace, sizeof(ret->workspace));
	strncpy(ret->name, name, sizeof(ret->name) - 1);
	ret->workspace_device = meta->workspace_device;
	ret->workspace_inode = meta->workspace_inode;
	ret->workspace_mode = meta->workspace_mode;
	ret->is_persons = meta->is_persons;
	ret->ttl_s = meta->ttl_s;
	copy_stack(ret, meta, layer);
	store_sum_all(ret);
	return store_plant(ret, depth == 0 ? STORE_NO_LAYER : depth - 1, sandbox);
}

/* Make the upper a layer, as a fork of the present needs. Nothing is lost by that if the fork then
 * fails. */
static int freeze_present(int sandbox, struct store_meta *meta, uint32_t *ret_layer)
{
	int error;

	next = *meta;
	error = freeze_upper(&next);
	if (error == 1)
		error = commit_meta(sandbox, meta, true);
	*ret_layer = meta->layers[meta->upper].parent;
	return error;
}

int store_fork(int sandbox, struct store_meta *meta, uint32_t number, const char *name,
	       struct store_census *census, struct store_meta *ret)
{
	const struct store_checkpoint *at = store_checkpoint_find(meta, number);
	uint32_t layer = at ? at->layer : STORE_NO_LAYER;
	int result = at || number == 0 ? store_lock() : -ENOENT;

	if (result)
		return result;
	result = store_survey(census, meta->owner, name);
	if (!result && number == 0)
		result = freeze_present(sandbox, meta, &layer);
	if (!result)
		result = fork_at(sandbox, meta, layer, name, ret);
	store_unlock();
	return result;
}

/* --- one of many ------------------------------------------------------------------------------ */

/* Move what is there of the sandbox to trash/, under a new name. */
static int drop_merge(int sandbox)
{
	uint8_t id[STORE_ID_BYTES];
	char text[IPC_ID_MAX];
	int error = store_random(id);

	store_id_text(id, text);
	if (!error && renameat(sandbox, MERGE_NAME, store_places.trash, text) != 0)
		error = errno == ENOENT ? 0 : -errno;
	return error;
}

int store_merge_target(int sandbox)
{
	const int error = drop_merge(sandbox);

	return error ? error : open_made(sandbox, MERGE_NAME, S_IRWXU);
}

/* Index of the highest, or STORE_NO_LAYER when they do not stand below one another any more; and
 * what the lowest stands on. */
static uint32_t find_stack(const struct store_meta *meta, const struct store_merge *merge,
			   uint32_t *ret_below)
{
	const uint32_t top = store_layer_find(meta, merge->ids[0]);
	uint32_t layer = top;

	for (uint32_t i = 0; i < merge->count; i++) {
		if (layer == STORE_NO_LAYER ||
		    memcmp(meta->layers[layer].id, merge->ids[i], STORE_ID_BYTES) != 0)
			return STORE_NO_LAYER;
		layer = meta->layers[layer].parent;
	}
	*ret_below = layer;
	return top;
}

/* In place of the highest, so that what was based on that is based on it. */
static int put_top(int sandbox, struct store_meta *meta, uint32_t top, const struct store_layer *by)
{
	char text[IPC_ID_MAX];
	int error;

	store_id_text(by->id, text);
	if (renameat(sandbox, MERGE_NAME, store_places.layers, text) != 0)
		return -errno;
	next = *meta;
	next.layers[top] = *by;
	(void)store_prune(&next); /* the highest is gone in any case */
	error = fsync(store_places.layers) == 0 ? commit_meta(sandbox, meta, false) : -errno;
	if (error) {
		throw_away(by->id);
		return error;
	}
	(void)store_collect(); /* or the next one does */
	return 0;
}

int store_merge_done(int sandbox, struct store_meta *meta, const struct store_merge *merge,
		     uint64_t bytes, uint64_t inodes)
{
	struct store_layer merged = { .bytes = bytes, .inodes = inodes };
	const uint32_t top = find_stack(meta, merge, &merged.parent);
	int error = store_random(merged.id);

	if (top == STORE_NO_LAYER) {
		(void)drop_merge(sandbox); /* or the next plan does */
		return -ESTALE;
	}
	error = error ? error : store_lock();
	if (error)
		return error;
	error = put_top(sandbox, meta, top, &merged);
	store_unlock();
	return error;
}
