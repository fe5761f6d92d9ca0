/* SPDX-License-Identifier: Apache-2.0 */
#include "common/confine/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "common/fd.h"
#include "common/text.h"

static int write_file(int dir, const char *path, const char *content)
{
	int fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
	int error;

	if (fd < 0)
		return -errno;
	error = fd_write_all(fd, content, strlen(content));
	fd_close(&fd);
	return error;
}

static int write_map(int proc, const char *path, uint64_t inside, uint64_t outside)
{
	struct text line = { .used = 0 };

	text_add_number(&line, inside);
	text_add(&line, " ");
	text_add_number(&line, outside);
	text_add(&line, " 1\n");
	return write_file(proc, path, line.bytes);
}

int identity_map(const char *path, bool denies, uid_t inside, uid_t outside_uid, gid_t outside_gid)
{
	int proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int error = proc < 0 ? -errno : 0;

	if (!error && !denies)
		error = write_file(proc, "self/setgroups", "deny");
	if (!error)
		error = write_map(proc, "self/uid_map", inside, outside_uid);
	if (!error)
		error = write_map(proc, "self/gid_map", inside, outside_gid);
	fd_close(&proc);
	return error;
}
