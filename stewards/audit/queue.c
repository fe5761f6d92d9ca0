/* SPDX-License-Identifier: Apache-2.0 */
#include "queue.h"

#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc_audit.h"

/* An entry has the texts of its record and no more. */
#define ALIGNMENT sizeof(uint64_t)

static _Alignas(ALIGNMENT) uint8_t bytes[QUEUE_BYTES];
static size_t begin, end;

bool queue_has_room(void)
{
	return sizeof(bytes) - (end - begin) >= sizeof(struct queued);
}

static size_t size_of(const struct ipc_audit_record *record)
{
	const size_t size = offsetof(struct queued, record) +
			    offsetof(struct ipc_audit_record, texts) + record->texts_size;

	return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

void queue_put(const struct ipc_audit_record *record, uint64_t deadline_us)
{
	const size_t size = size_of(record);
	struct queued *entry;

	if (!queue_has_room())
		abort();
	if (sizeof(bytes) - end < sizeof(struct queued)) {
		memmove(bytes, bytes + begin, end - begin);
		end -= begin;
		begin = 0;
	}
	entry = (struct queued *)(void *)(bytes + end);
	entry->size = (uint32_t)size;
	entry->is_dropped = false;
	entry->deadline_us = deadline_us;
	memcpy(&entry->record, record,
	       offsetof(struct ipc_audit_record, texts) + record->texts_size);
	end += size;
}

struct queued *queue_first(void)
{
	return begin < end ? (struct queued *)(void *)(bytes + begin) : NULL;
}

struct queued *queue_next(struct queued *entry)
{
	uint8_t *next = (uint8_t *)entry + entry->size;

	return next < bytes + end ? (struct queued *)(void *)next : NULL;
}

void queue_remove(void)
{
	begin += ((const struct queued *)(const void *)(bytes + begin))->size;
	if (begin == end)
		begin = end = 0;
}
