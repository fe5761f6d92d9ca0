/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/read/text.h"

#include <stdio.h>

void policy_error_vset(struct policy_error *error, const char *file, uint32_t line,
		       const char *path, const char *format, va_list arguments)
{
	const size_t most = sizeof(error->text) - 1;
	const int size = snprintf(error->text, sizeof(error->text), "%s:%u: %s%s", file, line, path,
				  *path != '\0' ? ": " : "");
	const size_t used = size < 0 ? 0 : (size_t)size < most ? (size_t)size : most;

	(void)vsnprintf(error->text + used, sizeof(error->text) - used, format, arguments);
	for (char *at = error->text; *at != '\0'; at++) {
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
	}
}

int policy_error_set(struct policy_error *error, const char *file, uint32_t line, const char *path,
		     const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	policy_error_vset(error, file, line, path, format, arguments);
	va_end(arguments);
	return -1;
}
