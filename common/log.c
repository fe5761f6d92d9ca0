/* SPDX-License-Identifier: Apache-2.0 */
#include "common/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const errno_texts[] = {
#define ERRNO(name, text) [name] = text " (" #name ")",
#include "common/text/errno.def"
#undef ERRNO
};

static const char *log_name = "msp";

void log_set_name(const char *name)
{
	log_name = name;
}

static void hide_controls(char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
	}
}

void (*log_make_line)(char *text) = hide_controls;

/* One write, so that lines of several processes do not mix. */
__attribute__((format(printf, 1, 0))) static void write_line(const char *format, va_list arguments)
{
	char line[1024] = "";
	size_t used = (size_t)snprintf(line, sizeof(line), "%s: ", log_name);

	(void)vsnprintf(line + used, sizeof(line) - used - 1, format, arguments);
	log_make_line(line + used);
	used = strlen(line);
	line[used++] = '\n';
	(void)!write(STDERR_FILENO, line, used); /* nowhere to complain to */
}

void log_line(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	write_line(format, arguments);
	va_end(arguments);
}

int log_fail(int code, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	write_line(format, arguments);
	va_end(arguments);
	return code;
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
