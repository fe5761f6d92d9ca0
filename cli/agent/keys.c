/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_http.h"
#include "common/kernel.h"
#include "common/log.h"
#include "common/sha256.h"
#include "common/text/format.h"

#define FOLDER "msp"
#define KEYS "keys"
#define NEW_NAME ".new"

#define MARK_BYTES 4
#define MARK_MAX (2 * MARK_BYTES + 1)

/* Everything but the owner's rights. */
#define OTHERS (S_IRWXG | S_IRWXO)

const char *agent_key_check(const char *value)
{
	const size_t size = strlen(value);

	if (size < HTTP_SECRET_MIN)
		return "it is too short: at least 8 characters";
	if (size > HTTP_SECRET_MAX)
		return "it is too long: at most 4096 characters";
	for (size_t i = 0; i < size; i++) {
		if (value[i] < '!' || value[i] > '~')
			return "it has a blank or a control character: it must be one word";
	}
	return NULL;
}

/* --- the directory ---------------------------------------------------------------------------- */

/* Is it a directory of the user's own, closed to others? It is no link. */
static bool is_private(const char *path, uid_t uid)
{
	struct stat status;

	return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == uid &&
	       (status.st_mode & OTHERS) == 0;
}

/* Make a directory unless it is there. False with a line: it is not ours alone. */
static bool make_private(const char *path, uid_t uid, char text[AGENT_KEY_TEXT_MAX])
{
	if (mkdir(path, S_IRWXU) != 0 && errno != EEXIST)
		return format_fail(false, text, AGENT_KEY_TEXT_MAX,
				   "the directory %.300s for keys cannot be made: %s", path,
				   errno_text(errno));
	return is_private(path, uid) ||
	       format_fail(false, text, AGENT_KEY_TEXT_MAX,
			   "the directory %.300s for keys must be yours, and closed to others: "
			   "chmod 700, or remove it",
			   path);
}

bool agent_keys_place(const char *runtime, const char *shared, uid_t uid, char ret[IPC_PATH_MAX],
		      char text[AGENT_KEY_TEXT_MAX])
{
	if (runtime && runtime[0] == '/' && strlen(runtime) < IPC_PATH_MAX / 2 &&
	    is_private(runtime, uid))
		format_text(ret, IPC_PATH_MAX, "%s/" FOLDER, runtime);
	else
		format_text(ret, IPC_PATH_MAX, "%s/" FOLDER "-%u", shared, (unsigned int)uid);
	if (!make_private(ret, uid, text))
		return false;
	format_append(ret, IPC_PATH_MAX, "/" KEYS);
	return make_private(ret, uid, text);
}

/* --- a file ----------------------------------------------------------------------------------- */

/* Does the path lead to the file that is open? Another may have taken its name. */
static bool is_same_file(const char *path, int fd)
{
	struct stat named, opened;

	return lstat(path, &named) == 0 && fstat(fd, &opened) == 0 &&
	       named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

/* Open the file with this value and share its lock. A descriptor; -1: it is not there. */
static int share_same(const char *path, const char *value)
{
	char other[HTTP_SECRET_MAX + 1];
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	bool is_same = fd >= 0 && flock(fd, LOCK_SH) == 0 && is_same_file(path, fd);

	if (is_same) {
		const ssize_t size = read(fd, other, sizeof(other));

		is_same = size == (ssize_t)strlen(value) && memcmp(other, value, (size_t)size) == 0;
		explicit_bzero(other, sizeof(other));
	}
	if (!is_same)
		fd_close(&fd);
	return fd;
}

/* Write a new file and give it the name. A descriptor that shares its lock, or -errno. */
static int write_new(const char *directory, const char *path, const char *value)
{
	char made[IPC_PATH_MAX + 32];
	int fd;
	int error;

	format_text(made, sizeof(made), "%s/" NEW_NAME ".%d", directory, (int)getpid());
	(void)unlink(made);
	fd = open(made, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
	if (fd < 0)
		return -errno;
	error = fd_write_all(fd, value, strlen(value));
	/* Locked before it has the name, so that nobody finds it unused. */
	if (!error && (flock(fd, LOCK_SH) != 0 || rename(made, path) != 0))
		error = -errno;
	if (!error)
		return fd;
	(void)unlink(made);
	fd_close(&fd);
	return error;
}

int agent_key_write(const char *directory, const char *agent, const char *name, const char *value,
		    struct agent_key *ret, char text[AGENT_KEY_TEXT_MAX])
{
	const char *rule = agent_key_check(value);
	uint8_t hash[SHA256_BYTES];
	char mark[MARK_MAX];

	ret->lock = -1;
	if (rule)
		return format_fail(-1, text, AGENT_KEY_TEXT_MAX, "the variable %s holds no key: %s",
				   name, rule);
	if (strlen(directory) + strlen(agent) + strlen(name) + MARK_MAX + 3 > sizeof(ret->path))
		return format_fail(-1, text, AGENT_KEY_TEXT_MAX,
				   "the path of the directory for keys is too long");
	/* Two values of one key have two files: the beginning of a hash, from which no value can be
	 * found, tells them apart. */
	sha256(value, strlen(value), hash);
	format_hex(hash, MARK_BYTES, mark);
	format_text(ret->path, sizeof(ret->path), "%s/%s.%s.%s", directory, agent, name, mark);
	ret->lock = share_same(ret->path, value);
	if (ret->lock < 0)
		ret->lock = write_new(directory, ret->path, value);
	return ret->lock >= 0 ? 0
			      : format_fail(-1, text, AGENT_KEY_TEXT_MAX,
					    "the key cannot be kept in %.300s: %s", directory,
					    errno_text(-ret->lock));
}

void agent_key_done(struct agent_key *key)
{
	fd_close(&key->lock);
}

/* Remove the file once its lock is free: `how` is LOCK_EX, with LOCK_NB not to wait for that. */
static void remove_unused(const char *path, int how)
{
	int fd FD_OWNED = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	while (fd >= 0 && flock(fd, how) != 0) {
		if (errno != EINTR)
			return;
	}
	if (fd >= 0 && is_same_file(path, fd))
		(void)unlink(path);
}

void agent_key_sweep(const char *path)
{
	remove_unused(path, LOCK_EX | LOCK_NB);
}

/* Be the process that waits: it holds nothing of ours, and no terminal. */
static void wait_unused(const char *path)
{
	sigset_t none;
	const int null = open("/dev/null", O_RDWR);

	(void)setsid();
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd); /* it says nothing */
	(void)kernel_close_range(STDERR_FILENO + 1, ~0U);
	(void)!chdir("/"); /* else it stays where it is */
	remove_unused(path, LOCK_EX);
	_exit(0);
}

int agent_key_watch(const struct agent_key *key)
{
	const pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (pid == 0) { /* its child is an orphan */
		if (fork() == 0)
			wait_unused(key->path);
		_exit(0);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return 0;
}
