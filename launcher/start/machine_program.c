/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/start/machine_program.h"

#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/helper.h"
#include "launcher/start/launch.h"

#define PROGRAM "msp-vm-prepare"
#define INIT "msp-vm-init"

/* A hundred times of what it takes. */
#define WAIT_MS 600000

/* The trial has a limit of a second by itself. */
#define TRIAL_WAIT_MS 10000

static bool report_is_whole(const struct prepare_report *report, size_t size)
{
	return size == sizeof(*report) &&
	       memchr(report->version, '\0', sizeof(report->version)) != NULL &&
	       memchr(report->text, '\0', sizeof(report->text)) != NULL;
}

/* Run it to its end, with the first program. */
static int run_program(const struct machine_source *source, int directory, int image, int init,
		       struct prepare_report *ret)
{
	const char *const words[] = { PROGRAM, source->is_package ? "package" : "kernel", NULL };
	const struct helper helper = { .image = image,
				       .words = words,
				       .fds = { source->input, directory, source->modules, init },
				       .fd_count = 4,
				       .output_of = STDOUT_FILENO };
	const struct helper_answer answer = helper_run(&helper, WAIT_MS, ret, sizeof(*ret));

	return answer.end == HELPER_DONE && report_is_whole(ret, answer.size)
		       ? 0
		       : helper_explain_end(PROGRAM, &answer, WAIT_MS);
}

int machine_program_prepare(struct machine_source *source, int directory)
{
	static struct prepare_report report;
	char text[LAUNCH_TEXT_MAX];
	int image FD_OWNED = launch_open_program(PROGRAM, text);
	int init FD_OWNED = image < 0 ? -1 : launch_open_program(INIT, text);
	int code = MSP_EXIT_SOFTWARE;

	if (init < 0)
		log_line("%s", text);
	else
		code = run_program(source, directory, image, init, &report);
	if (!code && !report.is_done)
		code = log_fail(MSP_EXIT_REFUSED, "%s: %s", source->name, report.text);
	source->modules_found = report.modules;
	if (!code && source->is_package)
		memcpy(source->version, report.version, sizeof(source->version));
	return code;
}

bool machine_program_try_kvm(char ret[MACHINE_ANSWER_MAX])
{
	const char *const words[] = { PREPARE_PROGRAM, "--try-kvm", NULL };
	char text[LAUNCH_TEXT_MAX];
	int image FD_OWNED = launch_open_program(PREPARE_PROGRAM, text);
	const struct helper helper = { .image = image, .words = words, .output_of = STDOUT_FILENO };
	struct helper_answer answer = { .size = 0 };

	if (image >= 0)
		answer = helper_run(&helper, TRIAL_WAIT_MS, ret, MACHINE_ANSWER_MAX - 1);
	ret[answer.end <= HELPER_ENDED ? answer.size : 0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	if (!ret[0])
		format_text(ret, MACHINE_ANSWER_MAX,
			    "emulated: " PREPARE_PROGRAM " cannot try KVM");
	return strcmp(ret, "KVM") == 0;
}
