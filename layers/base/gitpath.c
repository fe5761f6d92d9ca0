/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/base/gitpath.h"

#include <string.h>

#include "layers/base/held.h"

static const char *const patterns[] = {
#define DATA(pattern, reason) pattern,
#include "layers/base/git_data.def"
#undef DATA
};

size_t gitpath_repository(const char *path)
{
	for (const char *name = path;; name++) {
		const size_t size = strcspn(name, "/");

		if (held_is_called(name, size, ".git"))
			return (size_t)(name - path) + size;
		name += size;
		if (*name == '\0')
			return 0;
	}
}

static bool is_data(const char *name)
{
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		if (held_is_below(patterns[i], name))
			return true;
	}
	return false;
}

bool gitpath_is_data(const char *path)
{
	const size_t repository = gitpath_repository(path);
	const char *name = path + repository;

	if (repository == 0 || *name == '\0')
		return false;
	if (is_data(name + 1))
		return true;
	/* A submodule's name has any number of parts. */
	if (strncmp(name, "/modules/", 9) != 0 && strncmp(name, "/worktrees/", 11) != 0)
		return false;
	do {
		name = strchr(name + 1, '/');
	} while (name && !is_data(name + 1));
	return name != NULL;
}

bool gitpath_is_object(const char *path)
{
	return strncmp(path, ".git/objects/", 13) == 0;
}

bool gitpath_is_last(const char *path)
{
	return strcmp(path, ".git/index") == 0 || strncmp(path, ".git/logs/", 10) == 0 ||
	       strncmp(path, ".git/refs/heads/", 16) == 0;
}
