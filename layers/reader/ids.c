/* SPDX-License-Identifier: Apache-2.0 */
#include "ids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/heap/grow.h"

bool ids_is_zero(const uint8_t id[OBJECT_ID_BYTES])
{
	static const uint8_t zero[OBJECT_ID_BYTES];

	return memcmp(id, zero, sizeof(zero)) == 0;
}

static size_t find_slot(uint8_t (*all)[OBJECT_ID_BYTES], size_t room,
			const uint8_t id[OBJECT_ID_BYTES])
{
	uint64_t start;
	size_t slot;

	memcpy(&start, id, sizeof(start));
	slot = (size_t)start & (room - 1);
	while (!ids_is_zero(all[slot]) && memcmp(all[slot], id, OBJECT_ID_BYTES) != 0)
		slot = (slot + 1) & (room - 1);
	return slot;
}

bool ids_has(const struct ids *ids, const uint8_t id[OBJECT_ID_BYTES])
{
	return ids->count > 0 && !ids_is_zero(ids->all[find_slot(ids->all, ids->room, id)]);
}

static int grow_ids(struct ids *ids)
{
	const size_t room = ids->room ? 2 * ids->room : 1024;
	uint8_t(*all)[OBJECT_ID_BYTES] = calloc(room, OBJECT_ID_BYTES);

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < ids->room; i++) {
		if (!ids_is_zero(ids->all[i]))
			memcpy(all[find_slot(all, room, ids->all[i])], ids->all[i],
			       OBJECT_ID_BYTES);
	}
	free(ids->all);
	ids->all = all;
	ids->room = room;
	return 0;
}

int ids_add(struct ids *ids, const uint8_t id[OBJECT_ID_BYTES])
{
	size_t slot;

	if (2 * (ids->count + 1) > ids->room) {
		const int error = grow_ids(ids);

		if (error)
			return error;
	}
	slot = find_slot(ids->all, ids->room, id);
	if (!ids_is_zero(ids->all[slot]))
		return 1;
	memcpy(ids->all[slot], id, OBJECT_ID_BYTES);
	ids->count++;
	return 0;
}

void ids_free(struct ids *ids)
{
	free(ids->all);
	*ids = (struct ids){ 0 };
}

int ids_append(uint8_t (**list)[OBJECT_ID_BYTES], size_t *count, size_t *room,
	       const uint8_t id[OBJECT_ID_BYTES])
{
	uint8_t *added = grow_item(list, room, count, OBJECT_ID_BYTES);

	if (!added)
		return -ENOMEM;
	memcpy(added, id, OBJECT_ID_BYTES);
	return 0;
}
