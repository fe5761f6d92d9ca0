/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/git/home.h"

#include <pwd.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "common/text/format.h"

static const char *own_home;

void home_set_own(const char *path)
{
	own_home = path[0] ? path : NULL;
}

const char *home_listed(const char *name)
{
	static char found[4096];
	FILE *file = name ? fopen("/etc/passwd", "re") : NULL;
	const struct passwd *entry = NULL;

	if (!name)
		return own_home;
	do {
		entry = file ? fgetpwent(file) : NULL;
	} while (entry && strcmp(entry->pw_name, name) != 0);
	if (entry)
		(void)snprintf(found, sizeof(found), "%s", entry->pw_dir);
	if (file)
		(void)fclose(file);
	return entry ? found : NULL;
}

bool path_join(char ret[PATH_MAX], const char *directory, const char *path)
{
	if (path[0] == '/')
		directory = "";
	if (strlen(directory) + strlen(path) + 2 > PATH_MAX)
		return false;
	format_text(ret, PATH_MAX, "%s%s%s", directory, path[0] == '/' ? "" : "/", path);
	return true;
}

bool path_join_beside(char ret[PATH_MAX], const char *file, const char *path)
{
	const char *end = strrchr(file, '/');
	char directory[PATH_MAX] = ".";

	if (end)
		format_text(directory, sizeof(directory), "%.*s", (int)(end - file), file);
	return path_join(ret, directory, path);
}
