/* SPDX-License-Identifier: Apache-2.0
 *
 * The modules of the initramfs. Their order is that of their names, in which prepare put
 * dependencies first; one that still lacks a symbol is tried again after the others.
 */
#include "guest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static int load_file(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const long result = fd < 0 ? -1 : syscall(SYS_finit_module, fd, "", 0);
	const int error = result == 0 ? 0 : errno;

	if (fd >= 0)
		(void)close(fd);
	return error;
}

static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

void modules_load(const char *directory)
{
	struct dirent **entries = NULL;
	int left = scandir(directory, &entries, is_shown, alphasort);
	int before;

	do {
		int kept = 0;

		before = left;
		for (int i = 0; i < left; i++) {
			char path[512];

			(void)snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
			if (load_file(path) == ENOENT) /* a symbol is not known yet */
				entries[kept++] = entries[i];
		}
		left = kept;
	} while (left > 0 && left < before);
}
