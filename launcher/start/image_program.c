/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/start/image_program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/directory.h"
#include "launcher/host/helper.h"
#include "launcher/host/kept_layers.h"
#include "launcher/start/launch.h"

#define PROGRAM "msp-image"

/* Large images of slow registries take hours: a person ends it with Ctrl-C. */
#define WAIT_MS INT_MAX

#define BYTES_TEXT_MAX 24

/* Is it what msp-image writes? Texts end within their room. */
static bool report_is_whole(const struct image_report *report, size_t size)
{
	if (size != sizeof(*report) || report->name_count > IMAGE_REPORT_NAMES_MAX ||
	    !memchr(report->digest, '\0', sizeof(report->digest)) ||
	    !memchr(report->text, '\0', sizeof(report->text)))
		return false;
	for (uint32_t i = 0; i < report->name_count; i++) {
		char spelled[IMAGE_NAME_MAX];

		if (!memchr(report->names[i], '\0', sizeof(report->names[i])) ||
		    image_name_read(report->names[i], spelled) != NULL || strchr(spelled, '@') ||
		    strcmp(report->names[i], spelled) != 0)
			return false;
	}
	return true;
}

/* Run it to its end. 0 with the report of what was done, or the exit code after a line. */
static int run_program(const struct image_keep *keep, int input, int incoming,
		       const char *const words[], struct image_report *ret)
{
	char text[LAUNCH_TEXT_MAX];
	int image FD_OWNED = launch_open_program(PROGRAM, text);
	int errors = image < 0 ? -1 : helper_errors();
	const struct helper helper = { .image = image,
				       .words = words,
				       .fds = { input, incoming, keep->layers, keep->lock },
				       .fd_count = 4,
				       .output_of = STDOUT_FILENO,
				       .errors = errors };
	struct helper_answer answer;

	if (image >= 0 && errors < 0)
		format_text(text, sizeof(text), "the file for lines of " PROGRAM ": %s",
			    errno_text(-errors));
	if (errors < 0) {
		log_line("%s", text);
		return MSP_EXIT_SOFTWARE;
	}
	answer = helper_run(&helper, WAIT_MS, ret, sizeof(*ret));
	helper_log_errors(&errors);
	if (answer.end != HELPER_DONE)
		return helper_explain_end(PROGRAM, &answer, WAIT_MS);
	if (!report_is_whole(ret, answer.size))
		return log_fail(MSP_EXIT_SOFTWARE, IMAGE_PROGRAM_LIES);
	if (ret->is_done)
		return 0;
	return log_fail(MSP_EXIT_REFUSED, "%s", ret->text);
}

/* Run an act that makes layers: its words are the program's name, its own and room for a number. */
static int run_in_new(const struct image_keep *keep, int input, uint64_t most, const char *words[],
		      struct image_report *ret)
{
	char bytes[BYTES_TEXT_MAX];
	int incoming FD_OWNED = image_make_incoming(keep, IMAGE_INCOMING_NEW);

	format_text(bytes, sizeof(bytes), "%llu", (unsigned long long)most);
	words[2] = bytes;
	if (incoming < 0)
		return log_fail(MSP_EXIT_REFUSED, "the directory for new layers: %s",
				errno_text(-incoming));
	return run_program(keep, input, incoming, words, ret);
}

int image_program_import(const struct image_keep *keep, int input, uint64_t most,
			 struct image_report *ret)
{
	const char *words[] = { PROGRAM, "import", NULL, NULL };

	return run_in_new(keep, input, most, words, ret);
}

int image_program_check(const struct image_keep *keep)
{
	const char *const words[] = { PROGRAM, "check", NULL };
	static struct image_report report;
	int made FD_OWNED = openat(keep->store, IMAGE_INCOMING_NEW,
				   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int checked FD_OWNED =
		made < 0 ? -errno : image_make_incoming(keep, IMAGE_INCOMING_CHECKED);

	if (checked >= 0)
		return run_program(keep, made, checked, words, &report);
	log_line("the directory for what is checked: %s", errno_text(-checked));
	return MSP_EXIT_REFUSED;
}

int image_program_pack(const struct image_keep *keep, const struct kept_layers *layers,
		       const char *place, char *const left_out[], uint64_t most,
		       struct image_report *ret)
{
	char paths[LAYERS_DEEP_MAX][IPC_ID_MAX + PLAN_PLACE_MAX];
	char count[BYTES_TEXT_MAX];
	const char *words[4 + LAYERS_DEEP_MAX + IMAGE_LEFT_OUT_MAX + 1] = { PROGRAM, "pack", NULL,
									    count };
	const char **word = words + 4;

	format_text(count, sizeof(count), "%u", layers->count);
	for (uint32_t i = 0; i < layers->count; i++) {
		format_text(paths[i], sizeof(paths[i]), "%s/%s", layers->ids[i], place);
		*word++ = paths[i];
	}
	for (uint32_t i = 0; i < IMAGE_LEFT_OUT_MAX && left_out[i]; i++)
		*word++ = left_out[i];
	return run_in_new(keep, layers->directory, most, words, ret);
}

int image_program_clean(const struct image_keep *keep)
{
	const char *const words[] = { PROGRAM, "remove", NULL };
	static struct image_report report;
	int null FD_OWNED = -1;

	if (image_keep_is_clean(keep))
		return 0;
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null >= 0)
		return run_program(keep, null, keep->incoming, words, &report);
	log_line("/dev/null: %s", errno_text(errno));
	return MSP_EXIT_SOFTWARE;
}

int image_program_fetch(const char *reference, const char *directory, char ret[IMAGE_DIGEST_MAX])
{
	char program[IPC_PATH_MAX], source[IMAGE_NAME_MAX + 16], target[IPC_PATH_MAX + 16];
	const char *const words[] = { program,
				      "copy",
				      "--quiet",
				      "--digestfile=/dev/stdout",
				      "--override-os=linux",
				      "--override-arch=amd64",
				      source,
				      target,
				      NULL };
	const struct helper helper = {
		.image = -1, .words = words, .environment = environ, .output_of = STDOUT_FILENO
	};
	char said[sizeof(IMAGE_DIGEST_PREFIX) + IMAGE_DIGEST_MAX] = "";
	const size_t mark = strlen(IMAGE_DIGEST_PREFIX);
	struct helper_answer answer;

	if (!directory_find_program(getenv("PATH"), "skopeo", program, sizeof(program)))
		return log_fail(
			MSP_EXIT_REFUSED,
			"skopeo, which fetches images from registries, is not installed: 'apt-get "
			"install skopeo', or import a file that another machine saved");
	format_text(source, sizeof(source), "docker://%s", reference);
	format_text(target, sizeof(target), "oci:%s", directory);
	answer = helper_run(&helper, WAIT_MS, said, sizeof(said) - 1);
	if (answer.end == HELPER_DONE) {
		said[strcspn(said, "\n")] = '\0';
		if (strncmp(said, IMAGE_DIGEST_PREFIX, mark) == 0 &&
		    image_digest_is_good(said + mark)) {
			memcpy(ret, said + mark, IMAGE_DIGEST_MAX);
			return 0;
		}
		return log_fail(MSP_EXIT_REFUSED, "skopeo has not said which digest it has "
						  "fetched: install skopeo 1.0 or newer");
	}
	(void)helper_explain_end("skopeo", &answer, WAIT_MS); /* no fault of ours */
	return MSP_EXIT_REFUSED;
}
