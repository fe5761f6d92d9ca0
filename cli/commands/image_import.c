/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp image import` and `msp image pull`.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands/image.h"
#include "common/fd.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/state_place.h"
#include "launcher/start/image_program.h"
#include "options/command.h"
#include "options/everywhere.h"
#include "show/figures.h"
#include "show/print.h"

int image_find_room(const struct image_keep *keep, uint64_t disk, uint64_t *ret)
{
	char has[FIGURES_TEXT_MAX], may[FIGURES_TEXT_MAX];
	uint64_t used;
	const int error = image_used(keep->store, &used);

	if (error)
		return command_fail("the images cannot be counted", error);
	*ret = disk - used;
	if (used < disk)
		return 0;
	return log_fail(MSP_EXIT_REFUSED,
			"the images take %s of the %s that they may: 'msp image remove' makes "
			"room, or images.disk of the configuration",
			figures_bytes(used, has), figures_bytes(disk, may));
}

/* Say what of the image was left out, in one line. */
static void tell_losses(const struct image_report *report)
{
	const struct {
		uint64_t count;
		const char *what;
	} losses[] = {
		{ report->special_files, "devices, FIFOs and sockets" },
		{ report->set_ids, "set-ID bits" },
		{ report->attributes, "extended attributes" },
	};
	char text[256] = "";

	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		if (losses[i].count > 0)
			format_append(text, sizeof(text), "%s%s (%llu)", text[0] ? ", " : "",
				      losses[i].what, (unsigned long long)losses[i].count);
	}
	if (text[0])
		everywhere_note("left out: %s", text);
}

/* Have a name hold the image; say which image loses it. */
static int move_name(const struct image_keep *keep, const char *name, const char *digest)
{
	char before[IMAGE_DIGEST_MAX];

	if (image_name_digest(keep->store, name, before) == 0 && strcmp(before, digest) != 0)
		everywhere_note("the name %s moves from the image %.12s", name, before);
	return image_name_write(keep, name, digest);
}

/* Have the names hold the image, and print them; without one, the digest. */
static int name_image(const struct image_keep *keep, const struct image_arrival *arrival)
{
	const struct image_report *report = &arrival->report;
	const uint32_t count = arrival->name ? 1 : report->name_count;
	int error = 0;

	for (uint32_t i = 0; i < count && !error; i++) {
		const char *name = arrival->name ? arrival->name : report->names[i];

		error = move_name(keep, name, arrival->image.digest);
		if (!error)
			(void)printf("%s\n", name);
	}
	if (count == 0)
		(void)printf(IMAGE_DIGEST_PREFIX "%s\n", arrival->image.digest);
	if (error)
		return command_fail("the image is here, and cannot be named", error);
	error = print_flush();
	return error ? command_fail("standard output", error) : 0;
}

/* Refuse names that an image says itself and that another one has, also where a person leaves out
 * ":latest" and means a local name or a digest. 0, or the exit code after a line. */
static int check_names(const struct image_keep *keep, const struct image_arrival *arrival)
{
	static const char latest[] = ":latest";
	const struct image_report *report = &arrival->report;

	for (uint32_t i = 0; !arrival->name && i < report->name_count; i++) {
		const char *name = report->names[i];
		const size_t size = strlen(name), tag = strlen(latest);
		const bool is_latest = size > tag && strcmp(name + size - tag, latest) == 0;
		char word[IMAGE_NAME_MAX], digest[IMAGE_DIGEST_MAX] = "", text[IMAGE_TEXT_MAX];
		int error;

		format_text(word, sizeof(word), "%.*s", (int)(is_latest ? size - tag : size), name);
		error = image_resolve(keep->store, word, digest, text);
		if (error == -ENOENT || (error == 0 && strcmp(digest, report->digest) == 0))
			continue;
		return log_fail(MSP_EXIT_REFUSED,
				"the image calls itself %s, which means another image here: 'msp "
				"image import FILE NAME' gives it another name, or moves this one",
				name);
	}
	return 0;
}

int image_tell_unkept(int error, const char *digest)
{
	if (error == -EBADMSG)
		return log_fail(MSP_EXIT_SOFTWARE, IMAGE_PROGRAM_LIES);
	if (error != -EEXIST)
		return command_fail("the image cannot be kept", error);
	return log_fail(MSP_EXIT_REFUSED,
			"the image %.12s is here with other layers or another configuration: 'msp "
			"image remove sha256:%s' removes that one",
			digest, digest);
}

static void tell_size(const struct image *image)
{
	char size[FIGURES_TEXT_MAX];
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < image->layer_count; i++)
		bytes += image->layers[i].bytes;
	everywhere_note("%.12s: %u layer%s, %s", image->digest, image->layer_count,
			image->layer_count == 1 ? "" : "s", figures_bytes(bytes, size));
}

int image_name_arrival(const struct image_keep *keep, const struct image_arrival *arrival)
{
	tell_losses(&arrival->report);
	tell_size(&arrival->image);
	return name_image(keep, arrival);
}

/* Import, in a store that is locked and without leftovers. */
static int import_image(const struct image_keep *keep, int input, uint64_t disk,
			struct image_arrival *arrival)
{
	uint64_t most;
	int error;
	int code = image_find_room(keep, disk, &most);

	if (!code)
		code = image_program_import(keep, input, most, &arrival->report);
	if (!code && arrival->digest[0] && strcmp(arrival->digest, arrival->report.digest) != 0)
		code = log_fail(MSP_EXIT_REFUSED,
				"the image is %.12s, and must be %.12s: it is another one",
				arrival->report.digest, arrival->digest);
	if (!code)
		code = check_names(keep, arrival);
	if (!code)
		code = image_program_check(keep);
	if (code)
		return code;
	error = image_commit(keep, &arrival->report, &arrival->image);
	return error ? image_tell_unkept(error, arrival->report.digest)
		     : image_name_arrival(keep, arrival);
}

int image_read_name(const char *word, char ret[IMAGE_NAME_MAX])
{
	const char *rule = image_name_read(word, ret);

	if (!rule)
		return 0;
	return log_fail(MSP_EXIT_USAGE, "'%.100s': %s", word, rule);
}

/* Open the image that a word names. */
static int open_input(const char *word)
{
	const int fd = strcmp(word, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
					      : open(word, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		log_line("%.500s cannot be read: %s", word, errno_text(errno));
	return fd;
}

int image_run_import(const struct image_options *options, char *const words[])
{
	static struct image_arrival arrival;
	struct image_keep keep;
	char name[IMAGE_NAME_MAX];
	int code = words[1] ? image_read_name(words[1], name) : 0;
	int input;

	if (code)
		return code;
	arrival.name = words[1] ? name : NULL;
	if (words[1] && strchr(name, '@'))
		format_text(arrival.digest, sizeof(arrival.digest), "%s", strrchr(name, ':') + 1);
	input = open_input(words[0]);
	if (input < 0)
		return MSP_EXIT_USAGE;
	code = image_begin_change(&keep);
	if (!code)
		code = import_image(&keep, input, options->disk, &arrival);
	fd_close(&input);
	return image_end_change(&keep, code);
}

/* Fetch, and import what came. */
static int pull_image(const struct image_keep *keep, uint64_t disk, struct image_arrival *arrival)
{
	char path[IPC_PATH_MAX], text[STATE_PLACE_TEXT_MAX];
	int fd = image_make_incoming(keep, IMAGE_INCOMING_PULLED);
	int code = MSP_EXIT_REFUSED;

	if (fd < 0)
		return command_fail("the directory for what is fetched", fd);
	if (!state_place_find(STATE_PLACE_IMAGES "/" IMAGE_INCOMING_PULLED, path, text)) {
		log_line("%s", text);
	} else {
		everywhere_note("skopeo fetches %s", arrival->name);
		code = image_program_fetch(arrival->name, path, arrival->digest);
		if (!code)
			code = import_image(keep, fd, disk, arrival);
	}
	fd_close(&fd);
	return code;
}

int image_run_pull(const struct image_options *options, char *const words[])
{
	static struct image_arrival arrival;
	struct image_keep keep;
	char name[IMAGE_NAME_MAX];
	int code = image_read_name(words[0], name);

	if (code)
		return code;
	arrival.name = name;
	code = image_begin_change(&keep);
	if (!code)
		code = pull_image(&keep, options->disk, &arrival);
	return image_end_change(&keep, code);
}
