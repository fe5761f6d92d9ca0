/* SPDX-License-Identifier: Apache-2.0 */
#include "common/confine/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/limits.h"

/* Killed processes leave a cgroup when they are scheduled to. */
#define EMPTY_TRIES 50
#define EMPTY_WAIT_MS 2

void cgroup_path(struct text *path, uint32_t slot, const char *suffix)
{
	path->used = 0;
	text_add(path, "s");
	text_add_number(path, slot);
	text_add(path, suffix);
}

void cgroup_leaf_path(struct text *path, uint32_t slot, uint32_t leaf, const char *suffix)
{
	cgroup_path(path, slot, "/e");
	text_add_number(path, leaf);
	text_add(path, suffix);
}

uint32_t cgroup_count(int dir, uint32_t slot, uint32_t leaf)
{
	struct text path;
	char list[4096]; /* a line for each, the last one without its end */
	uint32_t count;

	cgroup_leaf_path(&path, slot, leaf, "/cgroup.procs");
	count = text_read_file(dir, path.bytes, list, sizeof(list)) > 0;
	for (const char *at = list; count > 0 && (at = strchr(at, '\n')); at++)
		count++;
	return count;
}

bool cgroup_remove(int dir, uint32_t slot)
{
	struct text path;

	cgroup_path(&path, slot, CGROUP_LEAF);
	(void)unlinkat(dir, path.bytes, AT_REMOVEDIR); /* the parent's removal tells */
	cgroup_path(&path, slot, "");
	return unlinkat(dir, path.bytes, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

static void kill_and_remove(int dir, uint32_t slot)
{
	struct text path;

	cgroup_path(&path, slot, "/cgroup.kill");
	if (text_write_file(dir, path.bytes, "1") == -ENOENT) /* no such sandbox */
		return;
	for (uint32_t leaf = 1; leaf < SANDBOX_EXECUTIONS_MAX; leaf++) {
		cgroup_leaf_path(&path, slot, leaf, "");
		(void)unlinkat(dir, path.bytes, AT_REMOVEDIR); /* the parent's removal tells */
	}
	(void)cgroup_remove(dir, slot); /* as the next look tells */
}

/* A directory has a link for each that is in it, and two. */
static bool is_empty(int dir)
{
	struct stat is;

	return fstat(dir, &is) == 0 && is.st_nlink == 2;
}

void cgroup_empty(int dir, uint32_t slots)
{
	for (int i = 0; i < EMPTY_TRIES && !is_empty(dir); i++) {
		if (i > 0)
			(void)poll(NULL, 0, EMPTY_WAIT_MS);
		for (uint32_t slot = 0; slot < slots; slot++)
			kill_and_remove(dir, slot);
	}
}
