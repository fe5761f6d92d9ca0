/* SPDX-License-Identifier: Apache-2.0 */
#include "ask/recent.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/state_place.h"
#include "options/sandbox_search.h"

#define FILE_NAME "runs"
#define RUNS_MAX 100

struct runs {
	int file; /* locked */
	int count;
	char ids[RUNS_MAX + 1][IPC_ID_MAX]; /* one more than is written */
};

static bool is_id(const char *line)
{
	struct sandbox_search search;

	return strlen(line) == IPC_ID_MAX - 1 && sandbox_search_begin(&search, line);
}

/* Take the lines that are ids: a writer may have been killed. */
static int read_runs(struct runs *runs)
{
	char text[(RUNS_MAX + 1) * IPC_ID_MAX + 1];
	ssize_t size = pread(runs->file, text, sizeof(text) - 1, 0);
	char *rest = text;
	char *line;

	if (size < 0)
		return -errno;
	text[size] = '\0';
	while (strlen(text) < (size_t)size)
		text[strlen(text)] = '\n';
	while ((line = strsep(&rest, "\n"))) {
		if (is_id(line) && runs->count < RUNS_MAX)
			memcpy(runs->ids[runs->count++], line, IPC_ID_MAX);
	}
	return 0;
}

static int write_runs(const struct runs *runs)
{
	const int first = runs->count > RUNS_MAX ? runs->count - RUNS_MAX : 0;
	char text[RUNS_MAX * IPC_ID_MAX + 1] = "";
	size_t size;

	for (int i = first; i < runs->count; i++)
		format_append(text, sizeof(text), "%s\n", runs->ids[i]);
	size = strlen(text);
	if (pwrite(runs->file, text, size, 0) != (ssize_t)size)
		return errno ? -errno : -EIO;
	return ftruncate(runs->file, (off_t)size) == 0 ? 0 : -errno;
}

/* Open, lock and read the file. 0, or -errno and a phrase in `text`. */
static int open_runs(struct runs *runs, char text[STATE_PLACE_TEXT_MAX])
{
	char path[IPC_PATH_MAX];
	int directory;
	int error;

	*runs = (struct runs){ .file = -1 };
	if (!state_place_find(STATE_PLACE_ALL, path, text))
		return -ENOENT;
	directory = state_place_open(path, true, text);
	if (directory < 0)
		return directory;
	runs->file = openat(directory, FILE_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
			    S_IRUSR | S_IWUSR);
	error = runs->file < 0 || flock(runs->file, LOCK_EX) != 0 ? -errno : read_runs(runs);
	if (error)
		format_text(text, STATE_PLACE_TEXT_MAX, "%.500s/" FILE_NAME ": %s", path,
			    errno_text(-error));
	fd_close(&directory);
	return error;
}

int recent_add(const char *id)
{
	char text[STATE_PLACE_TEXT_MAX];
	struct runs runs;
	int error = open_runs(&runs, text);

	if (!error) {
		format_text(runs.ids[runs.count++], IPC_ID_MAX, "%s", id);
		error = write_runs(&runs);
	}
	fd_close(&runs.file);
	return error;
}

int recent_drop(const char *id)
{
	char text[STATE_PLACE_TEXT_MAX];
	struct runs runs;
	int left = 0;
	int error = open_runs(&runs, text);

	for (int i = 0; i < runs.count; i++) {
		if (strcmp(runs.ids[i], id) != 0)
			memmove(runs.ids[left++], runs.ids[i], IPC_ID_MAX);
	}
	if (!error && left < runs.count) {
		runs.count = left;
		error = write_runs(&runs);
	}
	fd_close(&runs.file);
	return error;
}

int recent_resolve(char sandbox[IPC_NAME_MAX])
{
	char text[STATE_PLACE_TEXT_MAX];
	struct runs runs;
	uint32_t number;
	int error;

	if (!sandbox_is_recent(sandbox, &number))
		return 0;
	error = open_runs(&runs, text);
	fd_close(&runs.file);
	if (error)
		return log_fail(MSP_EXIT_REFUSED, "'%s' is not known: %s", sandbox, text);
	if (number > (uint32_t)runs.count)
		return log_fail(MSP_EXIT_USAGE,
				"there is no run '%s': %d are kept. 'msp run --workspace' keeps "
				"the changes of a command for an hour",
				sandbox, runs.count);
	format_text(sandbox, IPC_NAME_MAX, "%s", runs.ids[(uint32_t)runs.count - number]);
	return 0;
}
