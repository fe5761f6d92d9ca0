/* SPDX-License-Identifier: Apache-2.0 */
#include "setup/perform.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_client.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/account.h"
#include "launcher/host/directory.h"
#include "launcher/host/service.h"
#include "launcher/host/state_place.h"

#define SYSTEM_PATH "/usr/sbin:/usr/bin:/sbin:/bin"
#define AWAIT_STEPS 100
#define AWAIT_STEP_NS 100000000

bool perform_find(const char *name, char *ret, size_t room)
{
	return directory_find_program(SYSTEM_PATH, name, ret, room);
}

/* Start a program that writes to our standard error only. 0 or -errno. */
static int start_program(const char *path, char *const words[], uid_t uid, pid_t *ret_child)
{
	static char path_text[] = "PATH=" SYSTEM_PATH;
	static char language[] = "LC_ALL=C.UTF-8";
	const char *home = account_home();
	char home_text[IPC_PATH_MAX + 8];
	char runtime[64];
	char *const environment[] = { path_text, language, home_text, runtime, NULL };
	posix_spawn_file_actions_t files;
	int error;

	format_text(home_text, sizeof(home_text), "HOME=%s", home ? home : "/");
	format_text(runtime, sizeof(runtime), "XDG_RUNTIME_DIR=/run/user/%u", uid);
	error = posix_spawn_file_actions_init(&files);
	if (error)
		return -error;
	error = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
	if (!error)
		error = posix_spawn(ret_child, path, &files, NULL, words, environment);
	(void)posix_spawn_file_actions_destroy(&files); /* cannot fail */
	return -error;
}

/* Wait for the end of a program, unless its start failed with `error`. As perform_run(). */
static int await_program(int error, pid_t child, char text[PERFORM_TEXT_MAX])
{
	int status = 0;

	while (!error && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (error)
		format_text(text, PERFORM_TEXT_MAX, "cannot be started: %s", errno_text(-error));
	else if (WIFSIGNALED(status))
		format_text(text, PERFORM_TEXT_MAX, "ended by signal %d", WTERMSIG(status));
	else if (status != 0)
		format_text(text, PERFORM_TEXT_MAX, "exit code %d", WEXITSTATUS(status));
	return error || status != 0 ? -1 : 0;
}

int perform_run(char *const words[], uid_t uid, char text[PERFORM_TEXT_MAX])
{
	char path[IPC_PATH_MAX];
	pid_t child = 0;
	int error;

	if (!perform_find(words[0], path, sizeof(path)))
		return format_fail(-1, text, PERFORM_TEXT_MAX, "it is not in " SYSTEM_PATH);
	error = start_program(path, words, uid, &child);
	return await_program(error, child, text);
}

int perform_run_for_user(char *const words[], char text[PERFORM_TEXT_MAX])
{
	pid_t child = 0;
	const int error = -posix_spawn(&child, words[0], NULL, NULL, words, environ);

	return await_program(error, child, text);
}

/* Start the service in a session of its own, in which no terminal ends it. 0 or -errno. */
static int spawn_service(char *const words[], int log, pid_t *ret_child)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int error = posix_spawn_file_actions_init(&files);

	if (error)
		return -error;
	error = posix_spawnattr_init(&attributes);
	if (error) {
		(void)posix_spawn_file_actions_destroy(&files); /* cannot fail */
		return -error;
	}
	error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
	if (!error)
		error = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null",
							 O_RDONLY, 0);
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO && !error; fd++)
		error = posix_spawn_file_actions_adddup2(&files, log, fd);
	if (!error)
		error = posix_spawn_file_actions_addchdir_np(&files, "/");
	if (!error)
		error = posix_spawn(ret_child, words[0], &files, &attributes, words, environ);
	(void)posix_spawnattr_destroy(&attributes); /* cannot fail */
	(void)posix_spawn_file_actions_destroy(&files);
	return -error;
}

static bool service_answers(void)
{
	struct service service = service_connect(NULL);
	struct ipc_status status;

	service_ask(&service, &status);
	fd_close(&service.fd);
	return service.state == SERVICE_HERE;
}

/* Wait until it answers. 0, or -1 with the first line of its log. */
static int await_service(pid_t child, int log, char text[PERFORM_TEXT_MAX])
{
	const struct timespec step = { .tv_nsec = AWAIT_STEP_NS };
	ssize_t size;

	for (int i = 0; i < AWAIT_STEPS; i++) {
		if (waitpid(child, NULL, WNOHANG) != 0)
			break;
		if (service_answers())
			return 0;
		(void)nanosleep(&step, NULL); /* a shorter step does no harm */
	}
	size = pread(log, text, PERFORM_TEXT_MAX - 1, 0);
	text[size > 0 ? size : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (!text[0])
		format_text(text, PERFORM_TEXT_MAX, "it did not answer within ten seconds");
	return -1;
}

int perform_start_service(char *const words[], char text[PERFORM_TEXT_MAX])
{
	char path[IPC_PATH_MAX], why[STATE_PLACE_TEXT_MAX];
	int state FD_OWNED = state_place_enter(STATE_PLACE_ALL, true, path, why);
	int log FD_OWNED = -1;
	pid_t child = 0;
	int error;

	if (state < 0)
		return format_fail(-1, text, PERFORM_TEXT_MAX, "%.400s", why);
	log = openat(state, "service.log",
		     O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
		     S_IRUSR | S_IWUSR);
	error = log < 0 ? -errno : spawn_service(words, log, &child);
	if (error)
		return format_fail(-1, text, PERFORM_TEXT_MAX, "cannot be started: %s",
				   errno_text(-error));
	return await_service(child, log, text);
}

/* Write a file without a name of its own yet, and give it one that must be free. 0 or -errno. */
static int make_file(int fd, const char *temporary, const char *path, const char *content)
{
	const mode_t mask = umask(0);

	(void)umask(mask); /* cannot fail */
	if (fchmod(fd, 0666 & ~mask) != 0 || fd_write_all(fd, content, strlen(content)) != 0 ||
	    fsync(fd) != 0)
		return -errno;
	return link(temporary, path) == 0 ? 0 : -errno;
}

int perform_write(const char *path, const char *content, char text[PERFORM_TEXT_MAX])
{
	char folder[IPC_PATH_MAX];
	char temporary[IPC_PATH_MAX + 16];
	int error;
	int fd;

	format_text(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
	(void)mkdir(folder, 0777); /* or it is there, or the next step fails */
	format_text(temporary, sizeof(temporary), "%s/.msp-XXXXXX", folder);
	fd = mkostemp(temporary, O_CLOEXEC);
	error = fd < 0 ? -errno : make_file(fd, temporary, path, content);
	if (fd >= 0)
		(void)unlink(temporary); /* no program reads it */
	fd_close(&fd);
	if (error == -EEXIST)
		format_text(text, PERFORM_TEXT_MAX, "it is there already, and stays as it is");
	else if (error)
		format_text(text, PERFORM_TEXT_MAX, "%.400s: %s", path, errno_text(-error));
	return error ? -1 : 0;
}

bool perform_await(const char *path)
{
	const struct timespec step = { .tv_nsec = AWAIT_STEP_NS };

	for (int i = 0; i < AWAIT_STEPS && access(path, F_OK) != 0; i++)
		(void)nanosleep(&step, NULL); /* a shorter step does no harm */
	return access(path, F_OK) == 0;
}
