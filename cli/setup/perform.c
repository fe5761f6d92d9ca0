/* SPDX-License-Identifier: Apache-2.0 */
#include "setup/perform.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client/client_file.h"
#include "common/fd.h"
#include "common/format.h"
#include "common/log.h"
#include "launcher/host/account.h"

#define SYSTEM_PATH "/usr/sbin:/usr/bin:/sbin:/bin"
#define AWAIT_STEPS 100
#define AWAIT_STEP_NS 100000000

bool perform_find(const char *name, char *ret, size_t room)
{
	const char *folder = SYSTEM_PATH;

	while (*folder) {
		const size_t size = strcspn(folder, ":");

		format_text(ret, room, "%.*s/%s", (int)size, folder, name);
		if (access(ret, X_OK) == 0)
			return true;
		folder += size + (folder[size] == ':');
	}
	return false;
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

int perform_run(char *const words[], uid_t uid, char text[PERFORM_TEXT_MAX])
{
	char path[IPC_PATH_MAX];
	pid_t child = 0;
	int status = 0;
	int error;

	if (!perform_find(words[0], path, sizeof(path))) {
		format_text(text, PERFORM_TEXT_MAX, "it is not in " SYSTEM_PATH);
		return -1;
	}
	error = start_program(path, words, uid, &child);
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

int perform_write(const char *path, const char *content, char text[PERFORM_TEXT_MAX])
{
	static struct client_file file;
	struct buffer now = { 0 };
	char why[CLIENT_FILE_TEXT_MAX] = "it is there already, and stays as it is";
	int error = -1;

	buffer_append_text(&now, content);
	if (client_file_read(path, false, &file, why) && !file.is_there)
		error = client_file_replace(&file, &now, why);
	buffer_done(&file.text);
	buffer_done(&now);
	if (error)
		format_text(text, PERFORM_TEXT_MAX, "%.500s", why);
	return error ? -1 : 0;
}

bool perform_await(const char *path)
{
	const struct timespec step = { .tv_nsec = AWAIT_STEP_NS };

	for (int i = 0; i < AWAIT_STEPS && access(path, F_OK) != 0; i++)
		(void)nanosleep(&step, NULL); /* a shorter step does no harm */
	return access(path, F_OK) == 0;
}
