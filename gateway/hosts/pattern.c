/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/hosts/pattern.h"

#include <string.h>

static const char wildcard[] = "*.";
#define WILDCARD_SIZE (sizeof(wildcard) - 1)

enum host_fault host_pattern_read(const char *text, size_t size, char ret[HOST_PATTERN_MAX_SIZE])
{
	const bool is_wildcard =
		size >= WILDCARD_SIZE && memcmp(text, wildcard, WILDCARD_SIZE) == 0;
	const size_t skipped = is_wildcard ? WILDCARD_SIZE : 0;
	char name[HOST_NAME_MAX_SIZE];
	enum host_fault fault;

	if (memchr(text + skipped, '*', size - skipped) != NULL)
		return HOST_WILDCARD;
	fault = host_name_read(text + skipped, size - skipped, name);
	if (fault != HOST_SOUND)
		return fault;
	memcpy(ret, wildcard, skipped);
	memcpy(ret + skipped, name, strlen(name) + 1);
	return HOST_SOUND;
}

const char *host_pattern_parent(const char *pattern)
{
	return pattern[0] == '*' ? pattern + WILDCARD_SIZE : NULL;
}

bool host_pattern_covers(const char *pattern, const char *name)
{
	const char *parent = host_pattern_parent(pattern);
	const char *dot;

	if (parent == NULL)
		return strcmp(pattern, name) == 0;
	dot = strchr(name, '.');
	return dot != NULL && strcmp(dot + 1, parent) == 0;
}
