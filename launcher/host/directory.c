/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/text/format.h"

bool directory_is_at(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool directory_find_program(const char *folders, const char *name, char *ret, size_t room)
{
	while (folders && *folders) {
		const size_t size = strcspn(folders, ":");

		format_text(ret, room, "%.*s/%s", (int)size, folders, name);
		if (folders[0] == '/' && access(ret, X_OK) == 0)
			return true;
		folders += size + (folders[size] == ':');
	}
	return false;
}

int directory_remove(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!stream) {
		fd_close(&fd);
		return errno == ENOENT ? 0 : -errno;
	}
	while ((entry = readdir(stream)))
		(void)unlinkat(fd, entry->d_name, 0); /* a file that stays is an error below */
	(void)closedir(stream);
	return unlinkat(parent, name, AT_REMOVEDIR) == 0 ? 0 : -errno;
}
