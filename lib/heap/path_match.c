/* SPDX-License-Identifier: Apache-2.0 */
#include "path_match.h"

#include <fnmatch.h>
#include <string.h>

#define LOOKS_MAX 1000

bool path_match_name(const char *pattern, size_t size, const char *name, size_t length, int flags)
{
	char left[256], right[256];

	if (size >= sizeof(left) || length >= sizeof(right))
		return false;
	memcpy(left, pattern, size);
	left[size] = '\0';
	memcpy(right, name, length);
	right[length] = '\0';
	return fnmatch(left, right, flags) == 0;
}

static bool match_names(const char *pattern, const char *path, int flags, unsigned int *budget)
{
	while (*budget > 0) {
		const size_t size = strcspn(pattern, "/");
		const size_t length = strcspn(path, "/");

		--*budget;
		if (size == 2 && strncmp(pattern, "**", 2) == 0) {
			if (pattern[size] == '\0')
				return *path != '\0';
			if (match_names(pattern + 3, path, flags, budget))
				return true;
			if (path[length] == '\0')
				return false;
			path += length + 1;
			continue;
		}
		if (!path_match_name(pattern, size, path, length, flags))
			return false;
		if (pattern[size] == '\0' || path[length] == '\0')
			return pattern[size] == path[length];
		pattern += size + 1;
		path += length + 1;
	}
	return false;
}

bool path_match(const char *pattern, const char *path, int flags, unsigned int budget)
{
	return match_names(pattern, path, flags, &budget);
}

bool path_match_rule(const char *pattern, const char *path)
{
	const char *slash = strchr(pattern, '/') ? NULL : strrchr(path, '/');

	return path_match(pattern + (*pattern == '/'), slash ? slash + 1 : path, 0, LOOKS_MAX);
}
