/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and owners decide. Of a file's content only its beginning is compared: how many directories
 * up it leads. Whether git's data is there git itself finds out, in the sandbox.
 */
#include "ask/repository.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/text/format.h"
#include "launcher/host/account.h"

enum kind {
	KIND_NONE,      /* is no repository's root */
	KIND_DIRECTORY, /* has its data */
	KIND_RELATIVE,  /* its data lies some directories up and down again, as a submodule's */
	KIND_ELSEWHERE, /* its data lies anywhere */
	KIND_END,       /* neither it nor any directory above is asked */
};

/* One directory on the way up. */
struct look {
	enum kind kind;
	uint32_t up; /* RELATIVE: so many directories */
};

static bool is_same(const struct stat *status, const char *path)
{
	struct stat other;

	return path && stat(path, &other) == 0 && other.st_dev == status->st_dev &&
	       other.st_ino == status->st_ino;
}

static bool has_name(int directory, const char *name)
{
	return faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* How many directories the file's path leads up; 0: it is absolute, or leads down. */
static uint32_t count_ups(int directory)
{
	static const char head[] = "gitdir: ";
	char text[IPC_PATH_MAX];
	int fd FD_OWNED = openat(directory, ".git", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	const ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	const char *at = text + sizeof(head) - 1;
	uint32_t ups = 0;

	text[size < 0 ? 0 : size] = '\0';
	if (strncmp(text, head, sizeof(head) - 1) != 0)
		return 0;
	for (; strncmp(at, "../", 3) == 0; at += 3)
		ups++;
	return ups;
}

/* git obeys no repository of another user, who could have more shown by making one. */
static struct look look_at(const char *path, dev_t device)
{
	int directory FD_OWNED = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct look look = { .kind = KIND_END };
	struct stat status;

	if (directory < 0 || fstat(directory, &status) != 0 || status.st_dev != device ||
	    status.st_uid != geteuid() || is_same(&status, getenv("HOME")) ||
	    is_same(&status, account_listed_home(NULL)))
		return look;
	if (fstatat(directory, ".git", &status, AT_SYMLINK_NOFOLLOW) != 0) {
		/* A bare repository, or git's data. */
		if (!has_name(directory, "HEAD") || !has_name(directory, "objects"))
			look.kind = KIND_NONE;
		return look;
	}
	if (status.st_uid != geteuid())
		return look;
	look.up = S_ISREG(status.st_mode) ? count_ups(directory) : 0;
	look.kind = S_ISDIR(status.st_mode) ? KIND_DIRECTORY
		    : look.up > 0           ? KIND_RELATIVE
					    : KIND_ELSEWHERE;
	return look;
}

/* The nearest root, or a directory above it that has the data of all between. */
bool repository_find(char ret[IPC_PATH_MAX], const char **ret_inside)
{
	static char here[IPC_PATH_MAX];
	char path[IPC_PATH_MAX];
	struct stat status;
	size_t nearest = 0;
	uint32_t left = 0; /* directories up to where the data of those below lies */

	if (!getcwd(here, sizeof(here)) || here[0] != '/' || stat(".", &status) != 0)
		return false;
	format_text(path, sizeof(path), "%s", here);
	while (path[0] != '\0') {
		const struct look look = look_at(path, status.st_dev);

		if (look.kind == KIND_END)
			break;
		if (look.kind == KIND_DIRECTORY ? left == 0 || nearest == 0
						: look.kind != KIND_NONE && nearest == 0)
			nearest = strlen(path);
		if (look.kind == KIND_DIRECTORY || look.kind == KIND_ELSEWHERE)
			break;
		if (look.up > left)
			left = look.up;
		left -= left > 0;
		*strrchr(path, '/') = '\0';
	}
	format_text(ret, IPC_PATH_MAX, "%.*s", (int)nearest, here);
	*ret_inside = here + nearest + (here[nearest] == '/');
	return nearest > 0;
}
