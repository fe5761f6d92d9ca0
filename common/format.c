/* SPDX-License-Identifier: Apache-2.0 */
#include "common/format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

static void put_text(char *text, size_t room, const char *format, va_list arguments)
	__attribute__((format(printf, 3, 0)));
static void put_text(char *text, size_t room, const char *format, va_list arguments)
{
	/* clang-tidy 14 loses sight of the callers' va_start() on x86_64, where va_list is an
	 * array. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
	if (vsnprintf(text, room, format, arguments) < 0)
		text[0] = '\0';
}

void format_text(char *text, size_t room, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	put_text(text, room, format, arguments);
	va_end(arguments);
}

void format_append(char *text, size_t room, const char *format, ...)
{
	const size_t used = strlen(text);
	va_list arguments;

	va_start(arguments, format);
	put_text(text + used, room - used, format, arguments);
	va_end(arguments);
}

void format_hex(const uint8_t *bytes, size_t size, char *ret)
{
	for (size_t i = 0; i < size; i++)
		format_text(ret + 2 * i, 3, "%02x", bytes[i]);
}

int read_text_file(int directory, const char *path, char *text, size_t room)
{
	int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got = 0;

	if (fd < 0)
		return -errno;
	while (used < room - 1) {
		got = read(fd, text + used, room - 1 - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		used += (size_t)got;
	}
	if (got < 0)
		got = -errno;
	fd_close(&fd);
	if (got < 0)
		return (int)got;
	if (used > 0 && text[used - 1] == '\n')
		used--;
	text[used] = '\0';
	return (int)used;
}
