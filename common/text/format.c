/* SPDX-License-Identifier: Apache-2.0 */
#include "common/text/format.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 3, 0))) static void put_text(char *text, size_t room,
							   const char *format, va_list arguments)
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

int format_fail(int code, char *text, size_t room, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	put_text(text, room, format, arguments);
	va_end(arguments);
	return code;
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
