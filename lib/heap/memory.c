/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/heap/memory.h"

#include <stdlib.h>
#include <string.h>

#include "common/limits.h"
#include "common/log.h"
#include "lib/heap/grow.h"

void bug(const char *what)
{
	log_line("bug: %s", what);
	abort();
}

void give_up(const char *missing)
{
	log_fatal(MSP_EXIT_SOFTWARE, "cannot go on without %s: whatever this process runs ends",
		  missing);
}

static void *checked_memory(void *memory)
{
	if (!memory)
		give_up("more memory");
	return memory;
}

void *memory_get(size_t size)
{
	return checked_memory(malloc(size ? size : 1));
}

void *memory_get_zeroed(size_t count, size_t size)
{
	return checked_memory(calloc(count ? count : 1, size ? size : 1));
}

void *memory_resize(void *memory, size_t size)
{
	return checked_memory(realloc(memory, size ? size : 1));
}

void *memory_resize_array(void *memory, size_t count, size_t size)
{
	return checked_memory(reallocarray(memory, count ? count : 1, size ? size : 1));
}

void *memory_grow_list(void *list, size_t *room, size_t count, size_t size)
{
	return checked_memory(grow_list(list, room, count, size));
}

char *memory_text(const char *bytes, size_t size)
{
	char *copy = memory_get(size + 1);

	if (size > 0)
		memcpy(copy, bytes, size);
	copy[size] = '\0';
	return copy;
}
