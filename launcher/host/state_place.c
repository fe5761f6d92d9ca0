/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/state_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/account.h"

#define SYSTEM_PLACE "/var/lib/msp"
#define IN_HOME "/.local/state/msp"
#define OTHERS (S_IRWXG | S_IRWXO)

/* Find the directory that root made for the account. */
static void find_system_place(uid_t uid, char ret[sizeof(SYSTEM_PLACE) + 16])
{
	format_text(ret, sizeof(SYSTEM_PLACE) + 16, SYSTEM_PLACE "/%u", uid);
}

/* Find the directory that it is in or is itself, or NULL with a phrase in `text`. */
static const char *find_base(const char **ret_below, char text[STATE_PLACE_TEXT_MAX])
{
	static char place[sizeof(SYSTEM_PLACE) + 16];
	const char *state = getenv("MSP_STATE_DIR");
	const char *home = account_home();

	*ret_below = home && (!state || state[0] == '\0') ? IN_HOME : "";
	if (state && state[0] == '/')
		return state;
	if (state && state[0] != '\0') {
		format_text(text, STATE_PLACE_TEXT_MAX, "MSP_STATE_DIR=%.300s is no absolute path",
			    state);
		return NULL;
	}
	if (home)
		return home;
	find_system_place(geteuid(), place);
	if (account_owns_folder(place, geteuid()))
		return place;
	format_text(text, STATE_PLACE_TEXT_MAX,
		    "user %u has neither a home directory of its own nor %s", geteuid(), place);
	return NULL;
}

bool state_place_find(const char *which, char ret[IPC_PATH_MAX], char text[STATE_PLACE_TEXT_MAX])
{
	const char *below;
	const char *base = find_base(&below, text);

	if (!base)
		return false;
	if (strlen(base) >= IPC_PATH_MAX - sizeof(IN_HOME STATE_PLACE_SANDBOXES))
		return format_fail(false, text, STATE_PLACE_TEXT_MAX,
				   "the path of its directory is too long");
	format_text(ret, IPC_PATH_MAX, "%s%s%s", base, below, which);
	return true;
}

bool state_place_images(char ret[IPC_PATH_MAX])
{
	const char *name = getenv("MSP_RUN_AS"), *state = getenv("MSP_STATE_DIR");
	char text[STATE_PLACE_TEXT_MAX];
	struct account account;

	if (geteuid() != 0 || (state && state[0] != '\0'))
		return state_place_find(STATE_PLACE_IMAGES, ret, text);
	if (account_find(name && name[0] != '\0' ? name : ACCOUNT_DEFAULT, &account) != 0 ||
	    strlen(account.home) >= IPC_PATH_MAX - sizeof(IN_HOME STATE_PLACE_IMAGES))
		return false;
	if (account_owns_folder(account.home, account.uid))
		format_text(ret, IPC_PATH_MAX, "%s" IN_HOME STATE_PLACE_IMAGES, account.home);
	else
		format_text(ret, IPC_PATH_MAX, SYSTEM_PLACE "/%u" STATE_PLACE_IMAGES, account.uid);
	return true;
}

void state_place_memory(char ret[IPC_PATH_MAX])
{
	format_text(ret, IPC_PATH_MAX, "/dev/shm/msp-%u", geteuid());
}

/* Make the missing directories on the way, each for us alone. */
static int make_all(const char *path)
{
	char part[IPC_PATH_MAX];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		format_text(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (access(part, F_OK) != 0 && mkdir(part, S_IRWXU) != 0 && errno != EEXIST)
			return -errno;
	}
	return mkdir(path, S_IRWXU) == 0 || errno == EEXIST ? 0 : -errno;
}

static int open_folder(const char *path)
{
	return fd_result(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/* Somebody else could change what is in it, or knows what we do. */
static int check_folder(const char *path, int fd, char text[STATE_PLACE_TEXT_MAX])
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return -errno;
	if (status.st_uid != geteuid())
		return format_fail(-EPERM, text, STATE_PLACE_TEXT_MAX,
				   "%.500s belongs to user %u, and must be ours (user %u)", path,
				   status.st_uid, geteuid());
	if ((status.st_mode & OTHERS) != 0)
		return format_fail(
			-EPERM, text, STATE_PLACE_TEXT_MAX,
			"%.400s has mode %04o, and must be ours alone: 'chmod 700 %.400s'", path,
			status.st_mode & 07777, path);
	return 0;
}

int state_place_open(const char *path, bool is_made, char text[STATE_PLACE_TEXT_MAX])
{
	int error, fd = open_folder(path);

	if (fd == -ENOENT && is_made) {
		error = make_all(path);
		fd = error ? error : open_folder(path);
	}
	error = fd < 0 ? fd : 0;
	if (error == -ELOOP || error == -ENOTDIR)
		format_text(text, STATE_PLACE_TEXT_MAX,
			    "%.500s is no directory, or a symbolic link to one", path);
	else if (error)
		format_text(text, STATE_PLACE_TEXT_MAX, "%.500s cannot be %s: %s", path,
			    is_made ? "made" : "opened", errno_text(-error));
	else
		error = check_folder(path, fd, text);
	return fd_unless(error, fd);
}

int state_place_enter(const char *which, bool is_made, char path[IPC_PATH_MAX],
		      char text[STATE_PLACE_TEXT_MAX])
{
	return state_place_find(which, path, text) ? state_place_open(path, is_made, text)
						   : -EINVAL;
}

void state_place_prepare(uid_t uid, gid_t gid, const char *home)
{
	char place[sizeof(SYSTEM_PLACE) + 16];
	int fd FD_OWNED = -1;

	if (account_owns_folder(home, uid))
		return;
	(void)mkdir(SYSTEM_PLACE, S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH);
	find_system_place(uid, place);
	/* Only root says what is in there; what is there already is as it was made. */
	if (!account_owns_folder(SYSTEM_PLACE, 0) || mkdir(place, S_IRWXU) != 0)
		return;
	fd = open_folder(place);
	if (fd >= 0)
		(void)!fchown(fd, uid, gid); /* else it stays root's, and is no place */
}
