/* SPDX-License-Identifier: Apache-2.0 */
#include "io/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/memory.h"

#define FORMAT_ROOM 512

void buffer_append(struct buffer *buffer, const void *data, size_t size)
{
	if (size == 0)
		return;
	if (size > buffer->room - buffer->size) {
		size_t room = buffer->room ? buffer->room : 256;

		while (room - buffer->size < size)
			room *= 2;
		buffer->bytes = memory_resize(buffer->bytes, room);
		buffer->room = room;
	}
	memcpy(buffer->bytes + buffer->size, data, size);
	buffer->size += size;
}

void buffer_append_text(struct buffer *buffer, const char *text)
{
	buffer_append(buffer, text, strlen(text));
}

void buffer_format(struct buffer *buffer, const char *format, ...)
{
	char text[FORMAT_ROOM];
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (size < 0)
		bug("a format that cannot be printed");
	if (size >= FORMAT_ROOM)
		size = FORMAT_ROOM - 1;
	buffer_append(buffer, text, (size_t)size);
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
	if (buffer->size > 0)
		memmove(buffer->bytes, buffer->bytes + size, buffer->size);
}

void buffer_done(struct buffer *buffer)
{
	free(buffer->bytes);
	memset(buffer, 0, sizeof(*buffer));
}
