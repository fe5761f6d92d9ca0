/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/keys.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "lib/heap/memory.h"
#include "lib/json/read.h"

#define ROOM_FIRST 64U

void json_keys_init(struct json_keys *keys)
{
	/* 16 random bytes from the kernel, so that keys cannot be chosen to collide */
	const unsigned long place = getauxval(AT_RANDOM);
	const void *random = (const void *)place;

	memset(keys, 0, sizeof(*keys));
	if (random)
		memcpy(&keys->seed, random, sizeof(keys->seed));
}

void json_keys_done(struct json_keys *keys)
{
	free(keys->places);
	memset(keys, 0, sizeof(*keys));
}

static uint64_t mix_hash(uint64_t hash)
{
	hash ^= hash >> 32;
	hash *= 0xd6e8feb86659fd93ULL;
	hash ^= hash >> 32;
	return hash;
}

static uint32_t find_key(const struct json_keys *keys, const struct json_value *values,
			 const struct json_value *value)
{
	uint64_t hash = keys->seed ^ value->parent;
	uint32_t at;

	for (uint32_t i = 0; i < value->key_size; i++)
		hash = mix_hash(hash ^ (unsigned char)value->key[i]);
	for (at = (uint32_t)mix_hash(hash); keys->places[at & (keys->room - 1)]; at++) {
		const struct json_value *other = &values[keys->places[at & (keys->room - 1)]];

		if (other->parent == value->parent && other->key_size == value->key_size &&
		    memcmp(other->key, value->key, value->key_size) == 0)
			break;
	}
	return at & (keys->room - 1);
}

static void grow_table(struct json_keys *keys, const struct json_value *values)
{
	struct json_keys larger = { .room = keys->room ? 2 * keys->room : ROOM_FIRST,
				    .count = keys->count,
				    .seed = keys->seed };

	larger.places = memory_get_zeroed(larger.room, sizeof(*larger.places));
	for (uint32_t i = 0; i < keys->room; i++) {
		if (keys->places[i])
			larger.places[find_key(&larger, values, &values[keys->places[i]])] =
				keys->places[i];
	}
	free(keys->places);
	*keys = larger;
}

bool json_keys_add(struct json_keys *keys, const struct json_value *values, uint32_t place)
{
	uint32_t at;

	if (2 * keys->count >= keys->room)
		grow_table(keys, values);
	at = find_key(keys, values, &values[place]);
	if (keys->places[at])
		return false;
	keys->places[at] = place;
	keys->count++;
	return true;
}
