/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/shown.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/kernel.h"
#include "common/text/format.h"
#include "launcher/host/protected_walk.h"

int shown_real_path(int fd, char ret[IPC_PATH_MAX])
{
	struct identity opened = { 0 }, named = { 0 };
	int error = walk_real_name(fd, ret);
	int again FD_OWNED = -1;

	if (error)
		return error;
	again = kernel_openat2(AT_FDCWD, ret, O_PATH | O_CLOEXEC, RESOLVE_NO_SYMLINKS);
	if (again < 0)
		return errno == ENOENT || errno == ELOOP ? -ESTALE : -errno;
	error = walk_identify(fd, &opened);
	if (!error)
		error = walk_identify(again, &named);
	return error || walk_is_same(&opened, &named) ? error : -ESTALE;
}

int shown_check(int fd, const char *path, enum protected_use use, const struct mounts *mounts,
		const struct protected_set *set, char text[SHOWN_TEXT_MAX])
{
	struct protected_answer answer;
	struct stat status;
	const char *mount;

	if (fstat(fd, &status) != 0 || (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)))
		return format_fail(
			-1, text, SHOWN_TEXT_MAX,
			"'%.300s' is refused: only a regular file or a folder can be shown to "
			"a sandbox, never a device, socket or pipe",
			path);
	answer = protected_check(fd, path, use, mounts, set);
	if (answer.verdict != PROTECTED_FREE) {
		protected_describe(&answer, path, set, text);
		return -1;
	}
	mount = mounts_inside(mounts, path);
	if (mount)
		return format_fail(
			-1, text, SHOWN_TEXT_MAX,
			"'%.300s' is refused: another file system is mounted inside it at "
			"%.300s. Name the folders that are needed, each by itself",
			path, mount);
	return 0;
}
