/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/heap/buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/heap/memory.h"

/* Have room for `size` more bytes and the NUL behind them. */
static void make_room(struct buffer *buffer, size_t size)
{
	buffer->bytes = memory_grow_list(buffer->bytes, &buffer->room, buffer->size + size + 1, 1);
}

void buffer_append(struct buffer *buffer, const void *data, size_t size)
{
	make_room(buffer, size);
	if (size > 0)
		memcpy(buffer->bytes + buffer->size, data, size);
	buffer->size += size;
	buffer->bytes[buffer->size] = '\0';
}

void buffer_append_text(struct buffer *buffer, const char *text)
{
	buffer_append(buffer, text, strlen(text));
}

void buffer_vformat(struct buffer *buffer, const char *format, va_list arguments)
{
	va_list again;
	int size;

	make_room(buffer, 0);
	va_copy(again, arguments);
	size = vsnprintf(buffer->bytes + buffer->size, buffer->room - buffer->size, format, again);
	va_end(again);
	if (size < 0)
		bug("a format that cannot be printed");
	if ((size_t)size >= buffer->room - buffer->size) {
		make_room(buffer, (size_t)size);
		(void)vsnprintf(buffer->bytes + buffer->size, (size_t)size + 1, format, arguments);
	}
	buffer->size += (size_t)size;
}

void buffer_format(struct buffer *buffer, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	buffer_vformat(buffer, format, arguments);
	va_end(arguments);
}

void buffer_end_line(struct buffer *buffer)
{
	if (buffer->size > 0 && buffer->bytes[buffer->size - 1] != '\n')
		buffer_append_text(buffer, "\n");
}

void buffer_drop(struct buffer *buffer, size_t size)
{
	if (size > buffer->size)
		bug("more dropped than is there");
	buffer->size -= size;
	if (size > 0)
		memmove(buffer->bytes, buffer->bytes + size, buffer->size + 1);
}

void buffer_done(struct buffer *buffer)
{
	free(buffer->bytes);
	memset(buffer, 0, sizeof(*buffer));
}
