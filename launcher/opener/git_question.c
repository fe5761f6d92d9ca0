/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/opener/git_question.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/format.h"
#include "launcher/host/account.h"
#include "launcher/start/helper.h"
#include "launcher/start/launch.h"

#define WAIT_MS 10000

/* Variables that say where git's configuration lies. */
static const char *const variables[] = {
	"HOME=",
	"XDG_CONFIG_HOME=",
	"GIT_CONFIG_GLOBAL=",
	"GIT_CONFIG_SYSTEM=",
	"GIT_CONFIG_NOSYSTEM=",
};
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

int git_question_ask(int image, char *workspace)
{
	static char name[] = "msp-git-config";
	const char *listed = account_listed_home(NULL);
	char home[4096];
	char *const words[] = { name, workspace, home, NULL };
	char *environment[COUNT(variables) + 1];
	char said[256];
	struct helper helper = { .image = image,
				 .words = words,
				 .environment = environment,
				 .fds = { memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING) },
				 .fd_count = 1,
				 .output_of = STDERR_FILENO };
	int status = 0;
	size_t size;
	int error = helper.image < 0 || helper.fds[0] < 0 ? -ENOENT : 0;

	format_text(home, sizeof(home), "%s", listed ? listed : "");
	choose_environment(environment);
	if (!error &&
	    helper_run(&helper, WAIT_MS, said, sizeof(said), &size, &status) != HELPER_ENDED)
		error = -ETIMEDOUT;
	if (!error)
		error = status == 0 ? fd_seal(helper.fds[0]) : -EBADMSG;
	if (error)
		fd_close(&helper.fds[0]);
	return error ? error : helper.fds[0];
}
