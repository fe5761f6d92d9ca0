/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void policy_error_tidy(struct policy_error *error)
{
	for (char *at = error->text; *at != '\0'; at++) {
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
	}
}

static void make_room(struct buffer *text, size_t more)
{
	size_t room = text->room == 0 ? 256 : text->room;

	while (room - text->size <= more)
		room *= 2;
	if (room == text->room)
		return;
	text->bytes = realloc(text->bytes, room);
	if (text->bytes == NULL)
		abort();
	text->room = room;
}

void buffer_add(struct buffer *text, const void *data, size_t size)
{
	make_room(text, size);
	if (size > 0)
		memcpy(text->bytes + text->size, data, size);
	text->size += size;
	text->bytes[text->size] = '\0';
}

void buffer_vprintf(struct buffer *text, const char *format, va_list arguments)
{
	va_list again;
	int size;

	va_copy(again, arguments);
	size = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (size < 0)
		abort();
	make_room(text, (size_t)size);
	(void)vsnprintf(text->bytes + text->size, (size_t)size + 1, format, arguments);
	text->size += (size_t)size;
}

void buffer_printf(struct buffer *text, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	buffer_vprintf(text, format, arguments);
	va_end(arguments);
}

void buffer_done(struct buffer *text)
{
	free(text->bytes);
	*text = (struct buffer){ .bytes = NULL };
}

uint32_t bytes_hash(const char *bytes, size_t size)
{
	uint32_t hash = 2166136261U;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (uint8_t)bytes[i]) * 16777619U;
	return hash;
}

void *memory_zeroed(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (memory == NULL)
		abort();
	return memory;
}

void *memory_resized(void *memory, size_t count, size_t size)
{
	void *resized = reallocarray(memory, count, size);

	if (resized == NULL)
		abort();
	return resized;
}

char *memory_text(const char *bytes, size_t size)
{
	char *copy = memory_zeroed(size + 1, 1);

	memcpy(copy, bytes, size);
	return copy;
}
