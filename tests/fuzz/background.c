/* SPDX-License-Identifier: Apache-2.0
 *
 * Property: of files of a background command that somebody else wrote, only a whole note is a
 * command, `msp ps` shows it as one line without a control character, and a reader of the output
 * ends and shows no more than is there.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/sandbox_history.h"
#include "background/note.h"
#include "background/output.h"
#include "common/fd.h"
#include "frontend/utf8.h"
#include "property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ID "2rgbftc2erh915t6ckfprby7fr"
#define COMMAND ID "/" BACKGROUND_DIRECTORY "/abc123"

static char root[] = "/tmp/msp-fuzz-background-XXXXXX";
static int sandboxes = -1;
static int directory = -1;
static int note = -1;
static int output = -1;

static void remove_files(void)
{
	(void)unlinkat(directory, BACKGROUND_NOTE, 0);
	(void)unlinkat(directory, "output.0", 0);
	(void)unlinkat(sandboxes, COMMAND, AT_REMOVEDIR);
	(void)unlinkat(sandboxes, ID "/" BACKGROUND_DIRECTORY, AT_REMOVEDIR);
	(void)unlinkat(sandboxes, ID, AT_REMOVEDIR);
	(void)rmdir(root);
}

static void make_files(void)
{
	must(mkdtemp(root) != NULL);
	sandboxes = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(mkdirat(sandboxes, ID, 0700) == 0 &&
	     mkdirat(sandboxes, ID "/" BACKGROUND_DIRECTORY, 0700) == 0 &&
	     mkdirat(sandboxes, COMMAND, 0700) == 0);
	directory = openat(sandboxes, COMMAND, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	note = openat(directory, BACKGROUND_NOTE, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	output = openat(directory, "output.0", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	must(directory >= 0 && note >= 0 && output >= 0);
	(void)atexit(remove_files);
}

static void check_text(const char *text, size_t size)
{
	size_t length;

	for (size_t at = 0; at < size; at += length) {
		length = utf8_length(text + at, size - at);
		must(length > 0);
		must(length > 1 || text[at] == '\t' || (text[at] >= ' ' && text[at] < 0x7f));
		must(!utf8_is_hidden(text + at, length));
	}
}

static void check_command(void *context, const struct background *command)
{
	const size_t *input = context;
	FILE *saved = stdout;
	char *text = NULL;
	size_t size = 0;

	must(*input >= sizeof(command->note));
	must(command->state != BACKGROUND_RUNNING && command->note.exit_code <= 255 &&
	     command->note.lines_size <= BACKGROUND_LINES_MAX);
	stdout = open_memstream(&text, &size);
	must(stdout != NULL);
	sandbox_history_print(&command->note.command);
	must(fclose(stdout) == 0);
	stdout = saved;
	must(size > 0);
	check_text(text, size);
	free(text);
}

static void check_output(size_t size)
{
	static struct output_piece piece;
	struct output_reader reader;
	size_t shown = 0;

	output_open(&reader, directory);
	while (output_next(&reader, &piece)) {
		must(piece.size <= OUTPUT_PIECE_MAX);
		shown += piece.size;
	}
	must(shown <= size);
	output_close(&reader);
}

static void put_bytes(int file, const uint8_t *data, size_t size)
{
	must(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (sandboxes < 0)
		make_files();
	put_bytes(note, data, size);
	put_bytes(output, data, size);
	background_each(sandboxes, check_command, &size);
	check_output(size);
	return 0;
}
