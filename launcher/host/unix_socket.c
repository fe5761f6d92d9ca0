/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/unix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/text/format.h"

/* Beside the socket: held while one that nobody listens on is replaced. */
#define LOCK_SUFFIX ".lock"

int unix_socket_open_folder(const char *path, char text[UNIX_SOCKET_TEXT_MAX])
{
	struct stat status = { 0 };
	int folder = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int error = folder < 0 || fstat(folder, &status) != 0 ? -errno : 0;

	if (error == -ENOTDIR)
		format_text(text, UNIX_SOCKET_TEXT_MAX, "%.500s is no folder, or a symbolic link",
			    path);
	else if (error)
		format_text(text, UNIX_SOCKET_TEXT_MAX, "%.500s: %s", path, errno_text(-error));
	else if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
		format_text(text, UNIX_SOCKET_TEXT_MAX,
			    "the folder of the socket, %.500s, belongs to user %u with mode %04o: "
			    "it must be ours (user %u) and writable by nobody else",
			    path, status.st_uid, status.st_mode & 07777, geteuid());
		error = -EPERM;
	}
	return fd_unless(error, folder);
}

void unix_socket_address(int folder, const char *name, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	format_text(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%s", folder, name);
}

static int open_lock(int folder, const char *name)
{
	char lock_name[UNIX_SOCKET_NAME_MAX + sizeof(LOCK_SUFFIX)];
	int lock;

	format_text(lock_name, sizeof(lock_name), "%s" LOCK_SUFFIX, name);
	lock = openat(folder, lock_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (lock < 0)
		return -errno;
	/* A holder has it for a moment: starting takes it, serving does not. */
	while (flock(lock, LOCK_EX) != 0) {
		if (errno != EINTR)
			return fd_unless(-errno, lock);
	}
	return lock;
}

/* A socket nobody listens on is what a killed process left. Anything else of that name stays. */
static int remove_dead(int folder, const char *name)
{
	struct stat status;

	if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(status.st_mode))
		return -EEXIST;
	return unlinkat(folder, name, 0) == 0 ? 0 : -errno;
}

static int bind_in(int folder, const char *name, const struct unix_socket_kind *kind)
{
	struct sockaddr_un address;
	int fd = socket(AF_UNIX, kind->type | SOCK_CLOEXEC, 0);
	int error = fd < 0 ? -errno : 0;

	unix_socket_address(folder, name, &address);
	/* On the socket itself fchmod() says what mode bind() gives the file. */
	if (!error && (fchmod(fd, S_IRUSR | S_IWUSR) != 0 ||
		       bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
		       listen(fd, kind->backlog) != 0))
		error = -errno;
	return fd_unless(error, fd);
}

/* With the lock held nobody else replaces the socket; once it listens, everybody sees that it
 * lives, for as long as anybody holds it. */
int unix_socket_listen(int folder, const char *name, const struct unix_socket_kind *kind)
{
	int lock FD_OWNED = open_lock(folder, name);
	int error;

	if (lock < 0)
		return lock;
	error = kind->is_free(kind->context) ? remove_dead(folder, name) : -EADDRINUSE;
	return error ? error : bind_in(folder, name, kind);
}
