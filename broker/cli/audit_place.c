/* SPDX-License-Identifier: Apache-2.0 */
#include "audit_place.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "format.h"

#define SYSTEM_PLACE "/var/lib/msp"
#define IN_HOME "/.local/state/msp"
#define FOLDER "/audit"
#define OTHERS (S_IRWXG | S_IRWXO)

static bool is_folder_of(const char *path, uid_t uid)
{
	struct stat status;

	return path && path[0] == '/' && stat(path, &status) == 0 && S_ISDIR(status.st_mode) &&
	       status.st_uid == uid;
}

/* The environment's home counts if it is ours: root's is not that of the account it became. */
static const char *find_home(void)
{
	const char *home = getenv("HOME");
	const struct passwd *entry;

	if (is_folder_of(home, geteuid()))
		return home;
	entry = getpwuid(geteuid());
	return entry && is_folder_of(entry->pw_dir, geteuid()) ? entry->pw_dir : NULL;
}

bool audit_place_find(char ret[IPC_PATH_MAX], char text[AUDIT_PLACE_TEXT_MAX])
{
	const char *state = getenv("MSP_STATE_DIR");
	const bool is_named = state && state[0] != '\0';
	const char *home = is_named ? NULL : find_home();
	const char *base = is_named ? state : home ? home : SYSTEM_PLACE;

	if (is_named && state[0] != '/') {
		format_text(text, AUDIT_PLACE_TEXT_MAX, "MSP_STATE_DIR=%.300s is no absolute path",
			    state);
		return false;
	}
	if (strlen(base) >= IPC_PATH_MAX - sizeof(IN_HOME FOLDER)) {
		format_text(text, AUDIT_PLACE_TEXT_MAX, "the path of its directory is too long");
		return false;
	}
	if (!is_named && !home && !is_folder_of(base, geteuid())) {
		format_text(text, AUDIT_PLACE_TEXT_MAX,
			    "user %u has neither a home directory of its own nor " SYSTEM_PLACE,
			    geteuid());
		return false;
	}
	format_text(ret, IPC_PATH_MAX, "%s%s" FOLDER, base, home ? IN_HOME : "");
	return true;
}

/* What is missing on the way, each for us alone. */
static int make_all(const char *path)
{
	char part[IPC_PATH_MAX];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		format_text(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (mkdir(part, S_IRWXU) != 0 && errno != EEXIST && access(part, F_OK) != 0)
			return -errno;
	}
	return mkdir(path, S_IRWXU) == 0 || errno == EEXIST ? 0 : -errno;
}

/* Somebody else could change what is in it, or knows what we do. */
static int check(const char *path, int fd, char text[AUDIT_PLACE_TEXT_MAX])
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return -errno;
	if (status.st_uid != geteuid()) {
		format_text(text, AUDIT_PLACE_TEXT_MAX,
			    "%.500s belongs to user %u, and must be ours (user %u)", path,
			    status.st_uid, geteuid());
		return -EPERM;
	}
	if ((status.st_mode & OTHERS) != 0) {
		format_text(text, AUDIT_PLACE_TEXT_MAX,
			    "%.400s has mode %04o, and must be ours alone: 'chmod 700 %.400s'",
			    path, status.st_mode & 07777, path);
		return -EPERM;
	}
	return 0;
}

int audit_place_open(const char *path, bool is_made, char text[AUDIT_PLACE_TEXT_MAX])
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int error = fd < 0 ? -errno : 0;

	if (error == -ENOENT && is_made) {
		error = make_all(path);
		if (!error) {
			fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			error = fd < 0 ? -errno : 0;
		}
	}
	if (error == -ELOOP || error == -ENOTDIR)
		format_text(text, AUDIT_PLACE_TEXT_MAX,
			    "%.500s is no directory, or a symbolic link to one", path);
	else if (error)
		format_text(text, AUDIT_PLACE_TEXT_MAX, "%.500s cannot be %s: %s", path,
			    is_made ? "made" : "opened", strerror(-error));
	else
		error = check(path, fd, text);
	if (error)
		fd_close(&fd);
	return error ? error : fd;
}

void audit_place_prepare(uid_t uid, gid_t gid, const char *home)
{
	int fd;

	if (is_folder_of(home, uid) || mkdir(SYSTEM_PLACE, S_IRWXU) != 0)
		return; /* one that is there is as somebody made it */
	fd = open(SYSTEM_PLACE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		(void)!fchown(fd, uid, gid); /* else it stays root's, and is no place */
	fd_close(&fd);
}
