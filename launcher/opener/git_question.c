/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/opener/parts.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "launcher/host/account.h"
#include "launcher/host/helper.h"
#include "launcher/host/workspace.h"

#define WAIT_MS 10000

/* More than its paths and records have (launcher/git/named.c). */
#define ANSWER_BYTES_MAX (2U << 20)

/* Variables that say where git's configuration lies. */
static const char *const variables[] = { "HOME=", "XDG_CONFIG_HOME=", "GIT_CONFIG_GLOBAL=",
					 "GIT_CONFIG_SYSTEM=", "GIT_CONFIG_NOSYSTEM=" };
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The rest of the environment may hold secrets. */
static void choose_environment(char *ret[COUNT(variables) + 1])
{
	size_t count = 0;

	for (char **at = environ; *at; at++) {
		for (size_t i = 0; i < COUNT(variables) && count < COUNT(variables); i++) {
			if (strncmp(*at, variables[i], strlen(variables[i])) == 0)
				ret[count++] = *at;
		}
	}
	ret[count] = NULL;
}

/* Open git's data outside of the workspace, if the answer begins with some. The helper believed no
 * path of the workspace; the policy decides as for a workspace. */
static int open_data(char *answer, const struct plan *plan)
{
	static const char mark[] = GIT_DATA_MARK GIT_DATA_IS_SHOWN;
	static const struct workspaces none;
	char text[WORKSPACE_TEXT_MAX], opened[IPC_PATH_MAX];
	const char *path;
	int fd;

	path = strncmp(answer, mark, sizeof(mark) - 1) == 0 ? strchr(answer + 2, '\n') : NULL;
	if (!path)
		return -1;
	fd = workspace_open(++path, true, plan, &none, opened, text);
	if (fd >= 0 && strcmp(opened, path) != 0)
		fd_close(&fd);
	if (fd < 0)
		answer[sizeof(mark) - 2] = GIT_DATA_PROTECTED;
	return fd;
}

int git_question_ask(int image, const char *workspace, const struct plan *plan, int *ret_data)
{
	static char answer[ANSWER_BYTES_MAX];
	const char *listed = account_listed_home(NULL);
	const char *const words[] = { "msp-git-config", workspace, listed ? listed : "", NULL };
	char *environment[COUNT(variables) + 1];
	const struct helper helper = { .image = image,
				       .words = words,
				       .environment = environment,
				       .output_of = STDOUT_FILENO };
	struct helper_answer said;

	if (image < 0)
		return -ENOENT;
	choose_environment(environment);
	said = helper_run(&helper, WAIT_MS, answer, sizeof(answer));
	if (said.end > HELPER_ENDED)
		return -ETIMEDOUT;
	if (said.end == HELPER_ENDED || said.size == sizeof(answer))
		return -EBADMSG;
	answer[said.size] = '\0';
	*ret_data = open_data(answer, plan);
	return fd_sealed_from_bytes("named", answer, said.size);
}
