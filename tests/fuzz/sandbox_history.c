/* SPDX-License-Identifier: Apache-2.0
 *
 * Property: of a history that somebody else wrote, `msp logs` shows each command as one line of
 * UTF-8 without a control character, as text and as JSON; only whole notes are commands.
 */
#include "audit/sandbox_history.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/records/history.h"
#include "frontend/utf8.h"
#include "lib/heap/buffer.h"
#include "property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ID "2rgbftc2erh915t6ckfprby7fr"

static char root[] = "/tmp/msp-fuzz-history-XXXXXX";
static int audit = -1;
static int file = -1;

static void remove_files(void)
{
	(void)unlinkat(audit, "../sandboxes/" ID "/" HISTORY_FILE, 0);
	(void)unlinkat(audit, "../sandboxes/" ID, AT_REMOVEDIR);
	(void)unlinkat(audit, "../sandboxes", AT_REMOVEDIR);
	(void)unlinkat(audit, "../audit", AT_REMOVEDIR);
	(void)rmdir(root);
}

static void make_files(void)
{
	int directory;

	must(mkdtemp(root) != NULL);
	directory = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(mkdirat(directory, "audit", 0700) == 0 && mkdirat(directory, "sandboxes", 0700) == 0 &&
	     mkdirat(directory, "sandboxes/" ID, 0700) == 0);
	audit = openat(directory, "audit", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	file = openat(directory, "sandboxes/" ID "/" HISTORY_FILE, O_RDWR | O_CREAT | O_CLOEXEC,
		      0600);
	must(audit >= 0 && file >= 0);
	fd_close(&directory);
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

static void check_shown(const struct history_note *note)
{
	FILE *saved = stdout;
	struct buffer members = { 0 };
	char *text = NULL;
	size_t size = 0;

	stdout = open_memstream(&text, &size);
	must(stdout != NULL);
	sandbox_history_print(note);
	must(fclose(stdout) == 0);
	stdout = saved;
	must(size > 0);
	check_text(text, size);
	free(text);
	sandbox_history_put(note, &members);
	must(members.size > 0 && !memchr(members.bytes, '\t', members.size));
	check_text(members.bytes, members.size);
	buffer_done(&members);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct history_note note;

	if (audit < 0)
		make_files();
	must(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size);
	sandbox_history_open(audit, ID);
	for (size_t at = 0; at + sizeof(note) <= size; at += sizeof(note)) {
		const struct history_note *found;

		memcpy(&note, data + at, sizeof(note));
		found = sandbox_history_find(note.pid, note.execution, note.time_us);
		if (found)
			check_shown(found);
	}
	return 0;
}
