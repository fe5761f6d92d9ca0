/* SPDX-License-Identifier: Apache-2.0
 *
 * A survey of all sandboxes: their number, the bytes they take, and the layers that metas name, so
 * that the others can go.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/ipc_store.h"
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

/* The place of the key, or where it belongs. */
static uint64_t *find_key(uint64_t *keys, size_t room, uint64_t key)
{
	size_t at = key % room;

	while (keys[at] && keys[at] != key)
		at = (at + 1) % room;
	return &keys[at];
}

static uint64_t *find_named(const uint8_t id[STORE_ID_BYTES], uint64_t *ret_key)
{
	memcpy(ret_key, id, sizeof(*ret_key));
	*ret_key += *ret_key == 0;
	return find_key(named.keys, NAMED_ROOM, *ret_key);
}

/* True when it was not there before; it may not be now: when there are NAMED_MOST. */
static bool remember_layer(const uint8_t id[STORE_ID_BYTES])
{
	uint64_t key;
	uint64_t *at = find_named(id, &key);
	const bool is_new = *at == 0;

	if (is_new && named.count < NAMED_MOST) {
		*at = key;
		named.count++;
	}
	return is_new;
}

/* --- what is known of the last survey --------------------------------------------------------- */

/* How long: what sandboxes take others may count meanwhile, as often as that. */
#define KNOWN_S 2

#define NAMES_ROOM ((size_t)2 * SANDBOXES_MAX)
static struct {
	bool is_valid;
	uint64_t stamp; /* that we left with the lock */
	uint64_t since_s;
	uint32_t sandboxes;
	uint64_t bytes;
	uint64_t names[NAMES_ROOM]; /* hashes of owner and name; 0: free. An open hash */
} known;

void store_survey_forget(void)
{
	known.is_valid = false;
}

void store_survey_begin(void)
{
	uint64_t found;
	uint64_t next = 0;

	if (pread(store_places.stamp, &found, sizeof(found), 0) != sizeof(found) ||
	    found != known.stamp || store_now_s() - known.since_s >= KNOWN_S)
		known.is_valid = false;
	if (getrandom(&next, sizeof(next), 0) != sizeof(next) ||
	    pwrite(store_places.stamp, &next, sizeof(next), 0) != sizeof(next))
		known.is_valid = false;
	known.stamp = next;
}

/* There are fewer names than places. */
static uint64_t *find_name(const char *owner, const char *name, uint64_t *ret_key)
{
	const char *const texts[] = { owner, name };
	uint64_t key = 14695981039346656037U; /* FNV-1a; two alike cost a survey */

	for (size_t i = 0; i < 2; i++) {
		const char *text = texts[i];

		do
			key = (key ^ (uint8_t)*text) * 1099511628211U;
		while (*text++);
	}
	*ret_key = key + (key == 0);
	return find_key(known.names, NAMES_ROOM, *ret_key);
}

void store_survey_add(const struct store_meta *meta)
{
	uint64_t key;
	uint64_t *at = find_name(meta->owner, meta->name, &key);

	if (++known.sandboxes >= SANDBOXES_MAX)
		known.is_valid = false;
	else if (meta->name[0])
		*at = key;
}

void store_survey_count(uint64_t before, uint64_t bytes)
{
	known.bytes += bytes - before;
}

/* --- what it finds ---------------------------------------------------------------------------- */

struct survey {
	struct store_census *census;
	const char *owner, *name;
};

static int survey_one(void *context, const char id[IPC_ID_MAX])
{
	const struct survey *survey = context;
	struct store_census *census = survey->census;
	const int error = store_peek(id, false, &other);
	const uint64_t before = census->bytes;

	census->sandboxes++;
	if (error)
		return 0;
	store_survey_add(&other);
	for (uint32_t i = 0; i < other.layer_count; i++)
		census->bytes += remember_layer(other.layers[i].id) ? other.layers[i].bytes : 0;
	if (strcmp(other.owner, survey->owner) != 0)
		return 0;
	census->owned++;
	census->owned_bytes += census->bytes - before;
	if (survey->name[0] && strcmp(other.name, survey->name) == 0)
		memcpy(census->id, id, IPC_ID_MAX);
	return 0;
}

static int survey_all(struct store_census *census, const char *owner, const char *name)
{
	int error;

	memset(&named, 0, sizeof(named));
	memset(&known.names, 0, sizeof(known.names));
	known.sandboxes = 0;
	known.is_valid = true;
	*census = (struct store_census){ .sandboxes_max = census->sandboxes_max,
					 .bytes_max = census->bytes_max };
	error = store_each(survey_one, &(struct survey){ census, owner, name });
	known.is_valid = known.is_valid && !error;
	known.since_s = store_now_s();
	known.sandboxes = census->sandboxes;
	known.bytes = census->bytes;
	return error;
}

/* The name of an owner may hold three times what is left; the user shares with nobody. */
static bool is_full(const char *owner, uint64_t owned, uint64_t used, uint64_t max)
{
	return used >= max || (owner[0] && owned / 3 >= max - used);
}

int store_survey(struct store_census *census, const char *owner, const char *name)
{
	uint64_t key;
	int error = 0;

	census->id[0] = '\0';
	if (owner[0] || !known.is_valid || (name[0] && *find_name(owner, name, &key) != 0))
		error = survey_all(census, owner, name);
	if (error || census->id[0])
		return error ? error : -EEXIST;
	census->sandboxes = known.sandboxes;
	census->bytes = known.bytes;
	if (is_full(owner, census->owned, census->sandboxes, census->sandboxes_max))
		return -EUSERS;
	return is_full(owner, census->owned_bytes, census->bytes, census->bytes_max) ? -EDQUOT : 0;
}

static int name_layers(void *context, const char id[IPC_ID_MAX])
{
	const int error = store_peek(id, true, &other);

	if (error) /* one without a meta names nothing */
		return error == -ENOENT ? 0 : error;
	for (uint32_t i = 0; i < other.layer_count; i++)
		(void)remember_layer(other.layers[i].id); /* it may be there already */
	return named.count < NAMED_MOST ? 0 : -E2BIG;
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
	int error;

	memset(&named, 0, sizeof(named));
	error = store_each(name_layers, NULL);
	return error ? error : store_each_name(store_places.layers, ".", drop_unnamed, NULL);
}
