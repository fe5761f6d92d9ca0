/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/sandbox_history.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/records/history.h"
#include "common/text/format.h"
#include "frontend/json_write.h"
#include "show/quote.h"

/* Notes of both files: writers may exceed the limit by one each. */
#define NOTES_MAX (2 * (HISTORY_BYTES / sizeof(struct history_note) + SANDBOX_EXECUTIONS_MAX))

/* A note is written when the execution has begun, after its audit record. */
#define NEAR_US 60000000U

static struct {
	int audit;
	const char *id;
	off_t seen; /* size of the newer file before it was read */
	size_t count;
	struct history_note notes[NOTES_MAX];
} history = { .audit = -1 };

static int open_history(const char *name)
{
	char path[64 + IPC_ID_MAX];

	format_text(path, sizeof(path), "../sandboxes/%s/%s", history.id, name);
	return openat(history.audit, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* Take the whole notes of a file: a part of one at its end is none. */
static void read_history(const char *name)
{
	const size_t room = (NOTES_MAX - history.count) * sizeof(struct history_note);
	int fd = open_history(name);
	const ssize_t got = fd < 0 ? 0 : pread(fd, history.notes + history.count, room, 0);

	if (got > 0)
		history.count += (size_t)got / sizeof(struct history_note);
	fd_close(&fd);
}

/* Return the size of the newer file; 0: there is none. */
static off_t measure_history(void)
{
	struct stat status = { .st_size = 0 };
	int fd = open_history(HISTORY_FILE);
	const bool is_there = fd >= 0 && fstat(fd, &status) == 0;

	fd_close(&fd);
	return is_there ? status.st_size : 0;
}

static void read_all(void)
{
	history.seen = measure_history();
	history.count = 0;
	read_history(HISTORY_FILE_OLD);
	read_history(HISTORY_FILE);
}

void sandbox_history_open(int audit, const char id[IPC_ID_MAX])
{
	history.audit = audit;
	history.id = id;
	read_all();
}

/* A note without a command is what a crash of the machine may leave of one. */
static bool is_sound(const struct history_note *note)
{
	return note->argv_size > 0 && note->text[0] != '\0' &&
	       note->argv_size <= HISTORY_TEXT_MAX &&
	       note->code_size <= HISTORY_TEXT_MAX - note->argv_size;
}

static const struct history_note *find_note(uint64_t pid, uint64_t execution, uint64_t time_us)
{
	for (size_t i = history.count; i-- > 0;) {
		const struct history_note *note = &history.notes[i];
		const uint64_t apart =
			note->time_us > time_us ? note->time_us - time_us : time_us - note->time_us;

		if (note->pid == pid && note->execution == execution && apart < NEAR_US &&
		    is_sound(note))
			return note;
	}
	return NULL;
}

const struct history_note *sandbox_history_find(uint64_t pid, uint64_t execution, uint64_t time_us)
{
	const struct history_note *note = find_note(pid, execution, time_us);

	if (note || history.audit < 0 || measure_history() == history.seen)
		return note;
	read_all();
	return find_note(pid, execution, time_us);
}

static void print_code(const char *code, size_t size)
{
	const char *end = memchr(code, '\n', size);

	(void)fputs("code: ", stdout);
	quote_print_text(code, end ? (size_t)(end - code) : size, true);
	if (end ? (size_t)(end - code) + 1 < size : size > 0 && code[size - 1] != '\n')
		(void)fputs(" ...", stdout);
}

void sandbox_history_print(const struct history_note *note)
{
	const char *text = (const char *)note->text;

	if (note->code_size > 0)
		print_code(text + note->argv_size, note->code_size);
	else
		quote_print_words(text, note->argv_size);
}

static void put_string(struct buffer *out, const void *text, size_t size)
{
	struct json_writer writer = { .out = out, .form = JSON_LINES };

	json_put_string(&writer, NULL, text, size);
}

void sandbox_history_put(const struct history_note *note, struct buffer *out)
{
	buffer_append_text(out, "\"argv\":[");
	for (size_t at = 0, size; at < note->argv_size; at += size + 1) {
		size = strnlen((const char *)note->text + at, note->argv_size - at);
		if (at > 0)
			buffer_append_text(out, ",");
		put_string(out, note->text + at, size);
	}
	buffer_append_text(out, "]");
	if (note->code_size == 0)
		return;
	buffer_append_text(out, ",\"code\":");
	put_string(out, note->text + note->argv_size, note->code_size);
}
