/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/start/compile.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/kernel.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/account.h"
#include "launcher/host/helper.h"
#include "launcher/start/launch.h"

#define PROGRAM "msp-policy"
#define PREFIX PROGRAM ": "

/* Longest that compiling may take: a thousand times what it does. */
#define WAIT_MS 10000

#define PLAN_WORD "3" /* its first descriptor behind the standard ones */

/* Its lines as one of ours: without its name, and without line ends. */
static void make_line(char text[CONFIG_TEXT_MAX])
{
	char line[CONFIG_TEXT_MAX] = "";
	char *rest = text;

	while (rest) {
		char *next = strchr(rest, '\n');

		if (next)
			*next++ = '\0';
		if (strncmp(rest, PREFIX, strlen(PREFIX)) == 0)
			rest += strlen(PREFIX);
		if (*rest)
			format_append(line, sizeof(line), "%s%s", line[0] ? "; " : "", rest);
		rest = next;
	}
	memcpy(text, line, sizeof(line));
}

static int explain_end(const struct helper_answer *answer, const char *path,
		       char text[CONFIG_TEXT_MAX])
{
	const int status = answer->status;
	char end[64] = "";

	make_line(text);
	if (answer->end == HELPER_LATE)
		format_text(end, sizeof(end), "did not end within %d s", WAIT_MS / 1000);
	else if (WIFSIGNALED(status))
		format_text(end, sizeof(end), "was killed by signal %d", WTERMSIG(status));
	else if (!text[0])
		format_text(end, sizeof(end), "ended with code %d and said nothing",
			    WEXITSTATUS(status));
	if (end[0])
		format_text(text, CONFIG_TEXT_MAX,
			    "the configuration %.900s cannot be compiled: " PROGRAM " %s", path,
			    end);
	return -1;
}

const char *compile_home(void)
{
	const char *home = geteuid() != 0 ? account_home() : NULL;

	return home && home[0] == '/' && home[1] != '\0' ? home : NULL;
}

/* Run it to its end. 0 when it says that the plan is complete. The environment is empty, so that
 * what started us does not decide how a library of its behaves. */
static int run_compiler(int image, int plan, const struct compile_input *input,
			char text[CONFIG_TEXT_MAX])
{
	const char *const options[] = { "--config",   input->path[0] ? input->path : NULL,
					"--images",   input->images,
					"--home",     compile_home(),
					"--packages", input->packages,
					"--machine",  input->machine,
					"--kept",     input->kept };
	const char *words[4 + sizeof(options) / sizeof(options[0]) + 1] = { PROGRAM, "compile",
									    "--fd", PLAN_WORD };
	unsigned int used = 4;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i += 2) {
		if (options[i + 1]) {
			words[used++] = options[i];
			words[used++] = options[i + 1];
		}
	}

	const struct helper helper = { .image = image,
				       .words = words,
				       .fds = { plan },
				       .fd_count = 1,
				       .output_of = STDERR_FILENO };
	const struct helper_answer answer = helper_run(&helper, WAIT_MS, text, CONFIG_TEXT_MAX - 1);

	text[answer.size] = '\0';
	if (answer.end == HELPER_FAILED)
		return format_fail(-1, text, CONFIG_TEXT_MAX, PROGRAM " cannot be started: %s",
				   errno_text(-answer.status));
	return answer.end == HELPER_DONE ? 0 : explain_end(&answer, input->path, text);
}

int compile_config(const struct compile_input *input, char text[CONFIG_TEXT_MAX])
{
	int image FD_OWNED = launch_open_program(PROGRAM, text);
	int plan, error;

	if (image < 0)
		return -1;
	plan = memfd_create(PROGRAM, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (plan >= 0 && run_compiler(image, plan, input, text) != 0)
		return fd_unless(-1, plan);
	error = plan < 0 ? -errno : fd_seal(plan);
	if (error)
		format_text(text, CONFIG_TEXT_MAX, PROGRAM ": descriptors: %s", errno_text(-error));
	return error ? fd_unless(-1, plan) : plan;
}

int compile_become(char *const words[], char text[CONFIG_TEXT_MAX])
{
	char *const environment[] = { NULL };
	const int image = launch_open_program(PROGRAM, text);

	if (image < 0)
		return MSP_EXIT_SOFTWARE;
	(void)kernel_execute(image, words, environment);
	return format_fail(MSP_EXIT_SOFTWARE, text, CONFIG_TEXT_MAX,
			   PROGRAM " cannot be started: %s", errno_text(errno));
}
