/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/heap/grow.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 64

void *grow_list(void *list, size_t *room, size_t count, size_t size)
{
	size_t wanted = *room ? *room : FIRST_ROOM;
	void *grown;

	if (list && count <= *room)
		return list;
	while (wanted < count) {
		if (wanted > SIZE_MAX / 2 / size) /* more than an address space */
			return NULL;
		wanted *= 2;
	}
	grown = reallocarray(list, wanted, size);
	if (grown)
		*room = wanted;
	return grown;
}

void *grow_item(void *list, size_t *room, size_t *count, size_t size)
{
	void *items;
	uint8_t *grown;

	memcpy(&items, list, sizeof(items));
	grown = grow_list(items, room, *count + 1, size);
	if (!grown)
		return NULL;
	memcpy(list, &grown, sizeof(grown));
	return memset(grown + (*count)++ * size, 0, size);
}

void *grow_text(void *list, size_t *room, size_t *count, size_t size, const char *text)
{
	char *copy = strdup(text);
	char **item = copy ? grow_item(list, room, count, size) : NULL;

	if (item)
		*item = copy;
	else
		free(copy);
	return item;
}

void list_free(void *list, size_t count, size_t size)
{
	for (size_t i = 0; i < count; i++) {
		void **item = (void *)((uint8_t *)list + i * size);

		free(*item);
	}
	free(list);
}

bool grow_bytes(char **list, size_t *room, size_t *used, const void *bytes, size_t size)
{
	char *grown = grow_list(*list, room, *used + size, 1);

	if (!grown)
		return false;
	*list = grown;
	if (size > 0)
		memcpy(grown + *used, bytes, size);
	*used += size;
	return true;
}

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

void list_sort(void *list, size_t count, size_t size)
{
	if (count > 0)
		qsort(list, count, size, compare_texts);
}

void *list_find(const char *text, void *list, size_t count, size_t size)
{
	return count > 0 ? bsearch(&text, list, count, size, compare_texts) : NULL;
}
