/* SPDX-License-Identifier: Apache-2.0 */
#include "held_links.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "beneath.h"
#include "common/fd.h"
#include "held.h"

/* Names that are looked at in all, in one directory, and how deep: settings and hooks are few, and
 * a directory with more of them holds data (.svn, .hg/store). */
#define LOOKS_MAX 4096
#define NAMES_MAX 256
#define DEPTH_MAX 4

static struct {
	bool is_read;
	bool is_lost; /* for want of memory */
	size_t looks;
	char *targets; /* NUL after each */
	size_t size;
} links;

bool held_links_join(const char *path, const char *target, char ret[IPC_PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t used = target[0] == '/' || !slash ? 0 : (size_t)(slash - path);

	memcpy(ret, path, used);
	for (const char *name = target; *name;) {
		const size_t size = strcspn(name, "/");

		if (used + size + 2 > IPC_PATH_MAX)
			return false;
		if (size == 2 && strncmp(name, "..", 2) == 0) {
			while (used > 0 && ret[--used] != '/')
				;
		} else if (size > 0 && !(size == 1 && name[0] == '.')) {
			if (used > 0)
				ret[used++] = '/';
			memcpy(ret + used, name, size);
			used += size;
		}
		name += size + (name[size] == '/');
	}
	ret[used] = '\0';
	return true;
}

static bool is_held(const struct job *job, const char *path)
{
	return held_is_path(path, (const char *)job->ask->held, job->ask->held_size);
}

/* An absolute one leads somewhere that only the host knows. */
static void add_link(const struct job *job, const char *path)
{
	char target[IPC_PATH_MAX], joined[IPC_PATH_MAX];
	const int size = beneath_link(job->directories.host, path, target);
	size_t length;
	char *grown;

	if (size <= 0 || target[0] == '/' || !held_links_join(path, target, joined) || !joined[0])
		return;
	length = strlen(joined) + 1;
	grown = realloc(links.targets, links.size + length);
	if (!grown) {
		links.is_lost = true;
		return;
	}
	memcpy(grown + links.size, joined, length);
	links.targets = grown;
	links.size += length;
}

static void look_into(const struct job *job, const char *path, int depth);

static void look_at(const struct job *job, const char *path, int depth)
{
	struct stat status;

	if (!is_held(job, path))
		return;
	if (++links.looks > LOOKS_MAX)
		return;
	if (beneath_look(job->directories.host, path, &status) != 0)
		return;
	if (S_ISLNK(status.st_mode))
		add_link(job, path);
	else if (S_ISDIR(status.st_mode) && depth < DEPTH_MAX)
		look_into(job, path, depth + 1);
}

static void look_into(const struct job *job, const char *path, int depth)
{
	struct beneath_names names = { 0 };
	int directory = beneath_directory(job->directories.host, path);
	const size_t size = strlen(path);
	char below[IPC_PATH_MAX];

	if (directory >= 0 && beneath_names_add(&names, directory) == 0 &&
	    beneath_names_sort(&names) == 0 && (size == 0 || names.count <= NAMES_MAX)) {
		for (size_t i = 0; i < names.count; i++) {
			const int length = snprintf(below, sizeof(below), "%s%s%s", path,
						    size > 0 ? "/" : "", names.names[i]);

			if (length < 0 || (size_t)length >= sizeof(below))
				continue;
			look_at(job, below, depth);
		}
	}
	beneath_names_free(&names);
	fd_close(&directory);
}

bool held_links_lead_to(const struct job *job, const char *path)
{
	if (!links.is_read && job->directories.host >= 0)
		look_into(job, "", 0);
	links.is_read = true;
	for (size_t at = 0; at < links.size; at += strlen(links.targets + at) + 1) {
		const char *target = links.targets + at;
		const size_t size = strlen(target);

		if (strncmp(path, target, size) == 0 && (path[size] == '\0' || path[size] == '/'))
			return true;
	}
	return links.is_lost;
}

void held_links_forget(void)
{
	free(links.targets);
	memset(&links, 0, sizeof(links));
}
