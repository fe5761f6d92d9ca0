/* SPDX-License-Identifier: Apache-2.0 */
#include "common/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const errno_texts[] = {
#define ERRNO(name, text) [name] = text " (" #name ")",
#include "common/errno.def"
#undef ERRNO
};

static const char *log_name = "msp";

void log_set_name(const char *name)
{
	log_name = name;
}

/* One write, so that lines of several processes do not mix. */
static void write_line(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));
static void write_line(const char *format, va_list arguments)
{
	char line[1024];
	int used = snprintf(line, sizeof(line), "%s: ", log_name);
	const int room = (int)sizeof(line) - used - 1;
	int text = vsnprintf(line + used, (size_t)room, format, arguments);

	if (text < 0)
		text = 0;
	if (text >= room)
		text = room - 1;
	for (int i = used; i < used + text; i++) {
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	}
	used += text;
	line[used++] = '\n';
	(void)!write(STDERR_FILENO, line, (size_t)used); /* nowhere to complain to */
}

void log_line(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	write_line(format, arguments);
	va_end(arguments);
}

void log_fatal(int code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	write_line(format, arguments);
	va_end(arguments);
	_exit(code);
}

const char *errno_text(int error)
{
	static char other[sizeof("error -2147483648")];

	if (error > 0 && error < (int)(sizeof(errno_texts) / sizeof(errno_texts[0])) &&
	    errno_texts[error])
		return errno_texts[error];
	(void)snprintf(other, sizeof(other), "error %d", error);
	return other;
}
