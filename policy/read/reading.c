/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/read/reading.h"

#include "common/limits.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FULL_KEY_MAX (KEY_MAX + 32)

/* Return the full key in the file. */
static const char *full_key(const struct reading *reading, const char *key, char *ret)
{
	if (reading->said == &reading->place.source->root)
		return key;
	(void)snprintf(ret, FULL_KEY_MAX, "profiles[%u].%s", reading->place.index, key);
	return ret;
}

int reading_fail(const struct reading *reading, const char *key, const char *format, ...)
{
	char full[FULL_KEY_MAX];
	va_list arguments;

	va_start(arguments, format);
	source_vfail(reading->place.source, reading->error, full_key(reading, key, full), format,
		     arguments);
	va_end(arguments);
	return -1;
}

struct origin reading_origin(const struct reading *reading, const char *key)
{
	return (struct origin){ reading->place.source->file, node_line(reading->said, key) };
}

bool reading_says(const struct reading *reading, const char *key)
{
	return node_find(reading->said, key) != NULL;
}

uint32_t reading_count(const struct reading *reading, const char *list)
{
	return node_texts(reading->said, list).count;
}

const char *reading_key(char *ret, const char *list, uint32_t index, const char *key)
{
	(void)snprintf(ret, KEY_MAX, "%s[%u]%s%s", list, index, *key != '\0' ? "." : "", key);
	return ret;
}

bool reading_is_path(const char *text)
{
	if (text[0] != '/' || strlen(text) >= IPC_PATH_MAX)
		return false;
	for (const char *part = text; *part == '/'; part += strcspn(part + 1, "/") + 1) {
		const size_t length = strcspn(part + 1, "/");

		if (length == 0 || (length == 1 && part[1] == '.') ||
		    (length == 2 && part[1] == '.' && part[2] == '.'))
			return false;
	}
	return true;
}
