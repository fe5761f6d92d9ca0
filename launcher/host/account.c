/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/account.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/confine/capabilities.h"
#include "common/fd.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/service_socket.h"
#include "launcher/host/state_place.h"

bool account_owns_folder(const char *path, uid_t uid)
{
	struct stat status;

	return path && path[0] == '/' && stat(path, &status) == 0 && S_ISDIR(status.st_mode) &&
	       status.st_uid == uid;
}

const char *account_listed_home(const char *name)
{
	static struct answer {
		bool is_known;
		uid_t asker;
		char name[64];
		char home[4096];
	} answers[2]; /* our own, and another's */
	struct answer *answer = &answers[name != NULL];
	const struct passwd *entry;

	if (!answer->is_known || answer->asker != geteuid() ||
	    (name && strcmp(answer->name, name) != 0)) {
		entry = name ? getpwnam(name) : getpwuid(geteuid());
		*answer = (struct answer){ .is_known = true, .asker = geteuid() };
		format_text(answer->name, sizeof(answer->name), "%s", name ? name : "");
		format_text(answer->home, sizeof(answer->home), "%s",
			    entry && entry->pw_dir ? entry->pw_dir : "");
	}
	return answer->home[0] ? answer->home : NULL;
}

const char *account_home(void)
{
	const char *home = getenv("HOME");

	if (!account_owns_folder(home, geteuid()))
		home = account_listed_home(NULL);
	return account_owns_folder(home, geteuid()) ? home : NULL;
}

int account_find(const char *name, struct account *ret)
{
	const struct passwd *entry;

	errno = 0;
	entry = getpwnam(name);
	if (!entry)
		return errno == 0 || errno == ESRCH ? -ENOENT : -errno;
	format_text(ret->name, sizeof(ret->name), "%s", entry->pw_name);
	format_text(ret->home, sizeof(ret->home), "%s", entry->pw_dir ? entry->pw_dir : "");
	ret->uid = entry->pw_uid;
	ret->gid = entry->pw_gid;
	return 0;
}

void account_format_useradd(const char *name, char *text, size_t room)
{
	format_text(text, room,
		    "useradd --system --user-group --no-create-home --home-dir /nonexistent "
		    "--shell /usr/sbin/nologin %s",
		    name);
}

bool account_is_setuid(void)
{
	uid_t real_uid, effective_uid, saved_uid;
	gid_t real_gid, effective_gid, saved_gid;

	if (getresuid(&real_uid, &effective_uid, &saved_uid) != 0 ||
	    getresgid(&real_gid, &effective_gid, &saved_gid) != 0)
		return true;
	return real_uid != effective_uid || real_uid != saved_uid || real_gid != effective_gid ||
	       real_gid != saved_gid;
}

/* Close descriptors that root's shell or manager left open over our exec: each may lead to what
 * only root can open. Our own are close-on-exec. The socket of a service manager stays. */
static int close_inherited(void)
{
	DIR *folder = opendir("/proc/self/fd");
	const int passed = service_sockets_passed() ? SERVICE_SOCKETS_FD : -1;
	const struct dirent *entry;

	if (!folder)
		return -errno;
	while ((entry = readdir(folder))) {
		int fd = (int)strtol(entry->d_name, NULL, 10); /* "." and "..": 0 */

		if (fd > STDERR_FILENO && fd != passed && (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0)
			fd_close(&fd);
	}
	(void)closedir(folder); /* only read */
	return 0;
}

/* Leave root's session keyring for an empty one: who is in it may use its keys, with any uid. Where
 * the call is not there, or a container refuses it, nobody can use keys. */
static int leave_keyring(void)
{
	const long keyring = syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);

	return keyring >= 0 || errno == ENOSYS || errno == EPERM ? 0 : -errno;
}

static int verify_dropped(uid_t uid, gid_t gid)
{
	if (getuid() != uid || geteuid() != uid || getgid() != gid || getegid() != gid)
		return -EPERM;
	return setresuid(0, 0, 0) == 0 || setuid(0) == 0 || setresgid(0, 0, 0) == 0 ? -EPERM : 0;
}

int account_drop(uid_t uid, gid_t gid, const char *name)
{
	int error;

	if (uid == 0 || gid == 0)
		return -EPERM;
	error = close_inherited();
	if (!error)
		error = leave_keyring(); /* still at root's quota of keys */
	if (error)
		return error;
	if (name ? initgroups(name, gid) != 0 : setgroups(0, NULL) != 0)
		return -errno;
	if (setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0)
		return -errno;
	(void)unsetenv("DBUS_SESSION_BUS_ADDRESS"); /* root's session is not the account's */
	error = capabilities_set(0);                /* with one the change could be undone */
	return error ? error : verify_dropped(uid, gid);
}

static int refuse_root(const char *name, char *text)
{
	return format_fail(
		-1, text, ACCOUNT_TEXT_MAX,
		"--run-as=%s is refused: the account must not have uid or gid 0, since a "
		"workload never runs as root. Name an ordinary account, or leave the option "
		"out to use '" ACCOUNT_DEFAULT "'",
		name);
}

static int explain_missing(const char *name, char *text)
{
	char command[256];

	account_format_useradd(name, command, sizeof(command));
	return format_fail(
		-1, text, ACCOUNT_TEXT_MAX,
		"started as root, and there is no account '%s' to change to; nothing of msp's runs "
		"as root. Start it as an ordinary user, name another account with "
		"--run-as=USER, or make this one: %s",
		name, command);
}

/* Leave a folder that root could enter and the account cannot. Only a relative --ro uses it. */
static int leave_unreachable_folder(void)
{
	char folder[4096];

	if (getcwd(folder, sizeof(folder)) && faccessat(AT_FDCWD, folder, X_OK, 0) == 0)
		return 0;
	return chdir("/") == 0 ? 0 : -errno;
}

int account_become(const char *name, int *ret_exit, char text[ACCOUNT_TEXT_MAX])
{
	struct account account = { 0 };
	int error = account_find(name, &account);

	*ret_exit = MSP_EXIT_REFUSED;
	if (error == -ENOENT)
		return explain_missing(name, text);
	if (!error && (account.uid == 0 || account.gid == 0))
		return refuse_root(name, text);
	if (!error)
		state_place_prepare(account.uid, account.gid, account.home);
	if (!error)
		error = account_drop(account.uid, account.gid, account.name);
	if (!error)
		error = leave_unreachable_folder();
	if (error)
		return format_fail(-1, text, ACCOUNT_TEXT_MAX,
				   "cannot change from root to the account '%s': %s", name,
				   errno_text(-error));
	return 0;
}
