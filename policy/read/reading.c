/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/read/reading.h"

#include "common/limits.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct reading reading_start(const struct profile_place *place, struct profile *profile,
			     struct policy_error *error)
{
	return (struct reading){ .place = *place,
				 .said = source_profile(place->source, place->index),
				 .profile = profile,
				 .error = error };
}

int reading_each(const struct reading *reading, const char *list,
		 int (*read_entry)(const struct reading *entry))
{
	const struct node *node = node_find(reading->said, list);
	struct reading entry = *reading;

	for (uint32_t i = 0; node != NULL && i < node->count; i++) {
		entry.said = &node->items[i];
		entry.first = node->items;
		if (read_entry(&entry) != 0)
			return -1;
	}
	return 0;
}

bool reading_is_again(const struct reading *entry, const char *key)
{
	const char *text = node_text(entry->said, key);

	for (const struct node *other = entry->first; other < entry->said; other++) {
		if (strcmp(node_text(other, key), text) == 0)
			return true;
	}
	return false;
}

int reading_fail(const struct reading *reading, const char *key, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	source_vfail(reading->place.source, reading->error, reading->said, key, format, arguments);
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

const char *reading_key(char *ret, const char *list, uint32_t index, const char *key)
{
	(void)snprintf(ret, KEY_MAX, "%s[%u]%s%s", list, index, *key != '\0' ? "." : "", key);
	return ret;
}

bool reading_is_word(const char *text, const char *allowed, size_t most)
{
	const size_t length = strlen(text);

	return length > 0 && length <= most && strspn(text, allowed) == length;
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
