/* SPDX-License-Identifier: Apache-2.0 */
#include "common/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

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

int cgroup_write(int dir, const char *path, const char *value)
{
	int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
	int error;

	if (fd < 0)
		return -errno;
	error = fd_write_all(fd, value, strlen(value));
	fd_close(&fd);
	return error;
}

bool cgroup_remove(int dir, uint32_t slot)
{
	struct text path;

	cgroup_path(&path, slot, CGROUP_LEAF);
	(void)unlinkat(dir, path.bytes, AT_REMOVEDIR); /* the parent's removal tells */
	cgroup_path(&path, slot, "");
	return unlinkat(dir, path.bytes, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

static bool kill_and_remove(int dir, uint32_t slot)
{
	struct text path;

	cgroup_path(&path, slot, "/cgroup.kill");
	(void)cgroup_write(dir, path.bytes, "1"); /* ENOENT: no such sandbox */
	return cgroup_remove(dir, slot);
}

void cgroup_empty(int dir, uint32_t slots)
{
	bool is_empty = false;

	for (int i = 0; i < EMPTY_TRIES && !is_empty; i++) {
		is_empty = true;
		for (uint32_t slot = 0; slot < slots; slot++)
			is_empty = kill_and_remove(dir, slot) && is_empty;
		if (!is_empty)
			(void)poll(NULL, 0, EMPTY_WAIT_MS);
	}
}
