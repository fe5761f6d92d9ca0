/* SPDX-License-Identifier: Apache-2.0
 *
 * A survey of all sandboxes: their number, the bytes they take, and the layers that metas name, so
 * that the others can go.
 *
 * The file `stamp` keeps its result as an index, so that a request need not read all metas. Whoever
 * gets the lock of the state directory spoils the file and writes it back when he lets go: after a
 * crash in between it counts for nothing, nor does one that an older msp has stamped, one of which
 * a part was lost, or one from before sandboxes/ changed. A refusal is never given by the index
 * alone, and a layer never dropped.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/ipc/ipc_store.h"
#include "inner.h"

/* The beginnings of the layers' ids that some meta names: random bits, which stand for the whole.
 * An open hash, never full. */
#define NAMED_ROOM 32768U
#define NAMED_MOST (NAMED_ROOM / 4 * 3)
static struct {
	uint64_t keys[NAMED_ROOM]; /* 0: free */
	uint32_t count;
} named;

static struct store_meta other; /* scratch: of the sandbox that is looked at */

static uint64_t *find_named(const uint8_t id[STORE_ID_BYTES], uint64_t *ret_key)
{
	size_t at;

	memcpy(ret_key, id, sizeof(*ret_key));
	*ret_key += *ret_key == 0;
	at = *ret_key % NAMED_ROOM;
	while (named.keys[at] && named.keys[at] != *ret_key)
		at = (at + 1) % NAMED_ROOM;
	return &named.keys[at];
}

/* True when it was not there before; it may not be now: when there are NAMED_MOST. */
static bool remember_layer(const uint8_t id[STORE_ID_BYTES])
{
	uint64_t key;
	uint64_t *at = find_named(id, &key);

	if (*at || named.count == NAMED_MOST)
		return *at == 0;
	*at = key;
	named.count++;
	return true;
}

/* --- the index -------------------------------------------------------------------------------- */

static struct known {
	uint64_t sum;            /* hash: all behind it */
	struct timespec changed; /* sandboxes/, when this was written */
	uint64_t count;          /* may be beyond the room, and then it is not kept */
	struct entry {
		uint8_t id[STORE_ID_BYTES];
		char owner[IPC_NAME_MAX], name[IPC_NAME_MAX];
		uint64_t bytes;       /* layers that no entry before it has */
	} entries[SANDBOXES_MAX + 1]; /* the last one is scratch */
} known;

static bool is_known; /* all of it, since the lock was got */

#define KNOWN_BYTES (offsetof(struct known, entries) + known.count * sizeof(struct entry))

/* FNV-1a, of what is in use: a machine's crash loses parts of a file. */
static uint64_t sum_known(void)
{
	uint64_t sum = 14695981039346656037U;

	for (size_t at = offsetof(struct known, changed); at < KNOWN_BYTES; at++)
		sum = (sum ^ ((const uint8_t *)&known)[at]) * 1099511628211U;
	return sum;
}

static bool load_known(void)
{
	const ssize_t size = pread(store_places.stamp, &known, sizeof(known), 0);
	struct stat status;

	return size >= (ssize_t)offsetof(struct known, entries) && known.count <= SANDBOXES_MAX &&
	       known.sum == sum_known() && fstat(store_places.sandboxes, &status) == 0 &&
	       memcmp(&status.st_mtim, &known.changed, sizeof(known.changed)) == 0;
}

static void spoil_known(void)
{
	static const uint64_t nothing;

	(void)pwrite(store_places.stamp, &nothing, sizeof(nothing), 0); /* it could be written */
}

void store_survey_begin(void)
{
	is_known = load_known();
	spoil_known();
}

void store_survey_end(void)
{
	struct stat status;

	if (!is_known || known.count > SANDBOXES_MAX || fstat(store_places.sandboxes, &status) != 0)
		return;
	known.changed = status.st_mtim;
	known.sum = sum_known();
	/* If it fails, all are looked at the next time. */
	(void)pwrite(store_places.stamp, &known, KNOWN_BYTES, 0);
}

void store_survey_forget(void)
{
	is_known = false;
}

void store_survey_add(const struct store_meta *meta, uint64_t bytes)
{
	struct entry *entry =
		&known.entries[known.count < SANDBOXES_MAX ? known.count : SANDBOXES_MAX];

	known.count++;
	memcpy(entry->id, meta->id, sizeof(entry->id));
	memcpy(entry->owner, meta->owner, sizeof(entry->owner));
	memcpy(entry->name, meta->name, sizeof(entry->name));
	entry->bytes = bytes;
}

void store_survey_count(const uint8_t id[STORE_ID_BYTES], uint64_t more)
{
	if (more == 0)
		return;
	if (store_lock() != 0) {
		spoil_known();
		return;
	}
	for (size_t i = 0; i < known.count && i < SANDBOXES_MAX; i++)
		known.entries[i].bytes +=
			memcmp(known.entries[i].id, id, STORE_ID_BYTES) == 0 ? more : 0;
	store_unlock();
}

/* --- what it finds ---------------------------------------------------------------------------- */

static int unknown; /* why not all layers are known that metas name */

static int survey_one(void *context, const char id[IPC_ID_MAX])
{
	const int error = store_peek(id, true, &other);
	uint64_t bytes = 0;

	if (error)
		memset(&other, 0, sizeof(other));
	(void)store_id_bytes(id, other.id); /* it is an id */
	for (uint32_t i = 0; i < other.layer_count; i++)
		bytes += remember_layer(other.layers[i].id) ? other.layers[i].bytes : 0;
	store_survey_add(&other, bytes);
	if (error && error != -ENOENT) /* one without a meta names nothing */
		unknown = error;
	else if (named.count >= NAMED_MOST)
		unknown = -E2BIG;
	return 0;
}

static int survey_all(void)
{
	int error;

	memset(&named, 0, sizeof(named));
	known.count = 0;
	unknown = 0;
	error = store_each(survey_one, NULL);
	is_known = !error;
	return error;
}

/* The name of an owner may hold three times what is left; the user shares with nobody. */
static bool is_full(const char *owner, uint64_t owned, uint64_t used, uint64_t max)
{
	return used >= max || (owner[0] && owned / 3 >= max - used);
}

static int judge_census(struct store_census *census, const char *owner, const char *name)
{
	*census = (struct store_census){ .sandboxes_max = census->sandboxes_max,
					 .sandboxes = (uint32_t)known.count,
					 .bytes_max = census->bytes_max };
	for (size_t i = 0; i < known.count && i < SANDBOXES_MAX; i++) {
		const struct entry *entry = &known.entries[i];
		const bool is_owned = strncmp(entry->owner, owner, sizeof(entry->owner)) == 0;

		census->bytes += entry->bytes;
		census->owned += is_owned;
		census->owned_bytes += is_owned ? entry->bytes : 0;
		if (is_owned && name[0] && strncmp(entry->name, name, sizeof(entry->name)) == 0)
			store_id_text(entry->id, census->id);
	}
	if (census->id[0])
		return -EEXIST;
	if (is_full(owner, census->owned, census->sandboxes, census->sandboxes_max))
		return -EUSERS;
	return is_full(owner, census->owned_bytes, census->bytes, census->bytes_max) ? -EDQUOT : 0;
}

int store_survey(struct store_census *census, const char *owner, const char *name)
{
	int error = is_known ? judge_census(census, owner, name) : -EAGAIN;

	if (!error)
		return 0;
	error = survey_all();
	return error ? error : judge_census(census, owner, name);
}

static int drop_unnamed(void *context, const char *name)
{
	uint8_t id[STORE_ID_BYTES];
	uint64_t key;

	if (store_id_bytes(name, id) && *find_named(id, &key) == 0)
		(void)renameat(store_places.layers, name, store_places.trash, name); /* or later */
	return 0;
}

int store_collect(void)
{
	const int error = survey_all();

	if (error || unknown)
		return error ? error : unknown;
	return store_each_name(store_places.layers, ".", drop_unnamed, NULL);
}
