/* SPDX-License-Identifier: Apache-2.0 */
#include "http/replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/heap/memory.h"

void replay_drop_oldest(struct replay *replay)
{
	struct replay_event *first = replay->first;

	replay->first = first->next;
	if (!replay->first)
		replay->last = NULL;
	replay->bytes -= first->size;
	replay->count--;
	free(first);
}

void replay_keep(struct replay *replay, const struct replay_id *id, const struct buffer *message)
{
	struct replay_event *event;

	if (message->size > REPLAY_BYTES_MAX)
		return;
	while (replay->bytes + message->size > REPLAY_BYTES_MAX ||
	       replay->count == REPLAY_EVENTS_MAX)
		replay_drop_oldest(replay);
	event = memory_get(sizeof(*event) + message->size);
	event->next = NULL;
	event->id = *id;
	event->size = message->size;
	memcpy(event->bytes, message->bytes, message->size);
	if (replay->last)
		replay->last->next = event;
	else
		replay->first = event;
	replay->last = event;
	replay->bytes += event->size;
	replay->count++;
}

void replay_done(struct replay *replay)
{
	while (replay->first)
		replay_drop_oldest(replay);
}

const struct replay_event *replay_after(const struct replay *replay, const struct replay_id *id)
{
	const struct replay_event *event = replay->first;

	while (event && (event->id.stream != id->stream || event->id.number <= id->number))
		event = event->next;
	return event;
}

/* Read decimal digits without leading zeros; *text moves behind them. */
static bool read_number(const char **text, uint64_t *ret)
{
	const char *digits = *text;
	const size_t size = strspn(digits, "0123456789");

	if (size == 0 || size > 18 || (size > 1 && digits[0] == '0'))
		return false;
	*ret = 0;
	for (size_t i = 0; i < size; i++)
		*ret = *ret * 10 + (uint64_t)(digits[i] - '0');
	*text += size;
	return true;
}

bool replay_read_id(const char *text, struct replay_id *ret)
{
	return read_number(&text, &ret->stream) && *text++ == '-' &&
	       read_number(&text, &ret->number) && *text == '\0';
}

void event_append(struct buffer *out, const struct replay_id *id, const char *bytes, size_t size)
{
	if (id)
		buffer_format(out, "id: %" PRIu64 "-%" PRIu64 "\n", id->stream, id->number);
	buffer_append_text(out, size > 0 ? "data: " : "data:");
	buffer_append(out, bytes, size);
	buffer_append_text(out, "\n\n");
}
