/* SPDX-License-Identifier: Apache-2.0 */
#include "common/confine/identity.h"

#include <errno.h>
#include <fcntl.h>

#include "common/fd.h"
#include "common/text/text.h"

static int write_map(int proc, const char *path, uint64_t inside, uint64_t outside)
{
	struct text line = { .used = 0 };

	text_add_number(&line, inside);
	text_add(&line, " ");
	text_add_number(&line, outside);
	text_add(&line, " 1\n");
	return text_write_file(proc, path, line.bytes);
}

static int write_share(int proc, const char *path, const char *whole, unsigned int share)
{
	struct text line = { .used = 0 };

	text_add_number(&line, text_read_number(proc, whole, "") / share);
	return text_write_file(proc, path, line.bytes);
}

int identity_map(const char *path, bool is_below, uid_t inside, uid_t outside_uid,
		 gid_t outside_gid)
{
	const unsigned int share = is_below ? 4 : 2;
	int proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int error = proc < 0 ? -errno : 0;

	if (!error && !is_below)
		error = text_write_file(proc, "self/setgroups", "deny");
	if (!error)
		error = write_map(proc, "self/uid_map", inside, outside_uid);
	if (!error)
		error = write_map(proc, "self/gid_map", inside, outside_gid);
	if (!error)
		error = write_share(proc, "sys/user/max_inotify_instances",
				    "sys/fs/inotify/max_user_instances", share);
	if (!error)
		error = write_share(proc, "sys/user/max_inotify_watches",
				    "sys/fs/inotify/max_user_watches", share);
	fd_close(&proc);
	return error;
}
