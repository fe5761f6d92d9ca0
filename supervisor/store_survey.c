/* SPDX-License-Identifier: Apache-2.0
 *
 * What all sandboxes together have: how many they are, what they take, and which layers somebody
 * names, so that the others can go.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "store_inner.h"

/* The beginnings of the layers' ids that some meta names: random bits, which stand for the whole.
 * An open hash, never full. */
#define NAMED_ROOM 32768U
#define NAMED_MOST (NAMED_ROOM / 4 * 3)
static struct {
	uint64_t keys[NAMED_ROOM]; /* 0: free */
	uint32_t count;
} named;

static struct store_meta other; /* of whoever is looked at */

static uint64_t *find_named(const uint8_t id[STORE_ID_BYTES], uint64_t *ret_key)
{
	uint32_t at;

	memcpy(ret_key, id, sizeof(*ret_key));
	*ret_key += *ret_key == 0;
	at = (uint32_t)*ret_key % NAMED_ROOM;
	while (named.keys[at] && named.keys[at] != *ret_key)
		at = (at + 1) % NAMED_ROOM;
	return &named.keys[at];
}

/* True when it was not there before; it may not be now: when there are NAMED_MOST. */
static bool remember(const uint8_t id[STORE_ID_BYTES])
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

struct survey {
	struct store_census *census;
	const char *owner, *name;
};

static int survey_one(void *context, const char id[IPC_ID_MAX])
{
	const struct survey *survey = context;
	struct store_census *census = survey->census;
	const int error = store_peek(id, false, &other);

	census->sandboxes++;
	if (error)
		return 0;
	for (uint32_t i = 0; i < other.layer_count; i++)
		census->bytes += remember(other.layers[i].id) ? other.layers[i].bytes : 0;
	if (survey->name[0] && strcmp(other.name, survey->name) == 0 &&
	    strcmp(other.owner, survey->owner) == 0)
		memcpy(census->id, id, IPC_ID_MAX);
	return 0;
}

int store_survey(struct store_census *census, const char *owner, const char *name)
{
	int error;

	memset(&named, 0, sizeof(named));
	census->sandboxes = 0;
	census->bytes = 0;
	census->id[0] = '\0';
	error = store_each(survey_one, &(struct survey){ census, owner, name });
	if (error)
		return error;
	if (census->id[0])
		return -EEXIST;
	if (census->sandboxes >= census->sandboxes_max)
		return -EUSERS;
	return census->bytes >= census->bytes_max ? -EDQUOT : 0;
}

static int name_layers(void *context, const char id[IPC_ID_MAX])
{
	const int error = store_peek(id, true, &other);

	if (error) /* one without a meta names nothing */
		return error == -ENOENT ? 0 : error;
	for (uint32_t i = 0; i < other.layer_count; i++)
		(void)remember(other.layers[i].id); /* it may be there already */
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
