/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/packages/frames.h"

#include "common/text/format.h"

#include <errno.h>
#include <fts.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A frame costs the memory of its directories. What lies deeper than this, or behind so many,
 * cannot be changed. */
#define DEPTH_MAX 10
#define DIRECTORIES_MAX 32768U

/* Profiles show the same few directories; more are brought up to date for each. */
#define FRAMES_MAX 16

/* Return whether the host has a directory there that everybody may use. */
static bool is_shared(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && (status.st_mode & 05) == 05;
}

/* Call for each directory of a tree, before or behind what is in it. */
static int each_directory(const char *tree, int when,
			  int (*act)(const char *below, const char *other), const char *other)
{
	char root[IPC_PATH_MAX];
	char *const roots[] = { root, NULL };
	uint32_t count = 0;
	int error = 0;

	format_text(root, sizeof(root), "%s", tree);
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT | FTS_XDEV, NULL);

	if (walk == NULL)
		return -errno;
	for (FTSENT *entry; error == 0 && (entry = fts_read(walk)) != NULL;) {
		if (entry->fts_info == when && entry->fts_level > 0)
			error = act(entry->fts_path + strlen(root), other);
		if (entry->fts_info == FTS_D &&
		    (error > 0 || entry->fts_level == DEPTH_MAX || ++count > DIRECTORIES_MAX))
			(void)fts_set(walk, entry, FTS_SKIP);
		error = error > 0 ? 0 : error;
	}
	(void)fts_close(walk);
	return error;
}

static char frame[IPC_PATH_MAX]; /* the one under work */

/* 1: nothing below it is used either. */
static int make_one(const char *below, const char *source)
{
	char path[2 * IPC_PATH_MAX];

	format_text(path, sizeof(path), "%s%s", source, below);
	if (!is_shared(path))
		return 1;
	format_text(path, sizeof(path), "%s%s", frame, below);
	return mkdir(path, 0755) == 0 || errno == EEXIST ? 0 : -errno;
}

/* A directory that the host has no longer would hide what it has in its place. */
static int drop_one(const char *below, const char *source)
{
	char path[2 * IPC_PATH_MAX];

	format_text(path, sizeof(path), "%s%s", source, below);
	if (is_shared(path))
		return 0;
	format_text(path, sizeof(path), "%s%s", frame, below);
	(void)rmdir(path);
	return 0;
}

/* Make the directories of a path below `place`: each can be the root of a frame. */
static int make_root(const char *place, const char *source)
{
	const char *name = source != NULL ? source + 1 : "none";
	size_t used;

	format_text(frame, sizeof(frame), "%s/" FRAMES_TREE, place);
	if (mkdir(frame, 0755) != 0 && errno != EEXIST)
		return -errno;
	/* One name for each frame: none lies in another. */
	used = strlen(frame);
	if (used + strlen(name) + 2 > sizeof(frame))
		return -ENAMETOOLONG;
	format_text(frame + used, sizeof(frame) - used, "/%s", name);
	for (char *slash = frame + used + 1; (slash = strchr(slash, '/')) != NULL;)
		*slash = '-';
	return mkdir(frame, 0755) == 0 || errno == EEXIST ? 0 : -errno;
}

int frames_make(const char *place, const char *source, char ret[IPC_PATH_MAX])
{
	static char made[FRAMES_MAX][IPC_PATH_MAX]; /* by this process */
	static uint32_t count;
	int error = make_root(place, source);

	format_text(ret, IPC_PATH_MAX, "%s", frame);
	for (uint32_t i = 0; i < count && source != NULL; i++) {
		if (strcmp(made[i], frame) == 0)
			return error;
	}
	if (error != 0 || source == NULL)
		return error;
	error = each_directory(frame, FTS_DP, drop_one, source);
	if (error == 0)
		error = each_directory(source, FTS_D, make_one, source);
	if (error == 0 && count < FRAMES_MAX)
		format_text(made[count++], sizeof(made[0]), "%s", frame);
	return error;
}
