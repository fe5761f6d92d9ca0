/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading the audit log (common/records/audit.h). Its records are flat: no JSON reader is needed
 * for them, and what is none of ours is told, not guessed at.
 */
#ifndef CLI_AUDIT_AUDIT_READ_H
#define CLI_AUDIT_AUDIT_READ_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/records/audit.h"
#include "launcher/host/state_place.h"

#define AUDIT_FILES (AUDIT_KEPT + 1)

/* All files as they are at one moment, oldest first. */
struct audit_log {
	int directory;
	unsigned int count;
	struct audit_file {
		int fd;
		unsigned int number;
		uint64_t size;
		ino_t inode;
	} files[AUDIT_FILES];
	bool has_head;
	struct audit_head head;
	bool is_locked; /* no process wrote meanwhile */
};

/* Open what is in `directory`, which stays the caller's. 0 or -errno; then nothing is open. */
int audit_log_open(int directory, struct audit_log *ret);
void audit_log_close(struct audit_log *log);

/* The user's log, where state_place.h says that it is; its directory is closed with it. False, and
 * a phrase in `text`: there is none. */
bool audit_log_find(struct audit_log *ret, char text[STATE_PLACE_TEXT_MAX]);
void audit_log_done(struct audit_log *log);

/* The lines of a file, up to its first `left` bytes. */
struct audit_reader {
	int fd;
	uint64_t left;
	uint64_t line;  /* number of the line that was read last, from 1 */
	bool is_inside; /* in a line too long to be a record: the next piece is of the same */
	size_t begin;
	size_t end;
	char buffer[16 * AUDIT_LINE_MAX];
};

void audit_reader_init(struct audit_reader *reader, int fd, uint64_t left);

/* The next line, with its newline if it has one, in the reader's buffer; a line too long to be a
 * record in pieces. 1; 0 at the end; -errno. */
int audit_reader_next(struct audit_reader *reader, const char **ret_line, size_t *ret_size);

/* Read all lines of a file from where it is. Return their number. */
uint64_t audit_reader_lines(struct audit_reader *reader, int fd, uint64_t size);

/* A field of a record: no text in it needs to be unescaped, or could harm a terminal. The strings
 * of a list are escaped. */
struct audit_value {
	const char *key;
	size_t key_size;
	const char *value;
	size_t size;
	bool is_text; /* also of a list */
	bool is_list; /* strings in their quotes, with commas in between */
};

/* The next field of a line, *at being 0 at first. 1; 0 behind the last one; -1: not our form. */
int audit_value_next(const char *line, size_t size, size_t *at, struct audit_value *ret);

/* The field of that name. */
bool audit_value_find(const char *line, size_t size, const char *key, struct audit_value *ret);

/* Return the number that a record has for the key; 0: it has none. */
uint64_t audit_number_of(const char *line, size_t size, const char *key);

/* Print the text that a record has for the key; "" if it has none. Texts of records need no escape.
 */
void audit_text_of(const char *line, size_t size, const char *key, char *ret, size_t room);
uint64_t audit_value_number(const struct audit_value *value);
bool audit_value_is(const struct audit_value *value, const char *text);

/* Take the strings of a list out of their quotes, with a NUL after each, and return their size. */
size_t audit_value_words(const struct audit_value *value, char ret[AUDIT_LINE_MAX]);

/* Is the line of the form of a record, all of it? */
bool audit_is_record(const char *line, size_t size);

/* The taker of a log's records, one after the other. `take` returns whether it wants more. */
struct audit_taker {
	bool (*take)(void *context, const char *line, size_t size);
	void *context;
	bool is_quiet; /* lines that are no records are not told */
};

/* Give it a line, the one with that number in that file; one that is no record is told on stderr
 * and counted in *bad. False when no more is wanted. */
bool audit_give(const struct audit_taker *taker, const char *line, size_t size, unsigned int file,
		uint64_t number, uint64_t *bad);

/* All records but those of the first `skip` lines. 0, or -errno of a file that cannot be read;
 * *ret_bad: how many lines were none. */
int audit_log_each(const struct audit_log *log, uint64_t skip, const struct audit_taker *taker,
		   uint64_t *ret_bad);

/* Give what is written to the log from where `log` ends, across rotations, until the taker wants no
 * more: 0; or standard output, which it prints to, fails: -errno. In audit_follow.c. */
int audit_follow(const struct audit_log *log, const struct audit_taker *taker);

/* How many lines there are. */
uint64_t audit_log_lines(const struct audit_log *log);

/* Takers that print a record for people and as it is; they need no context. */
bool audit_print(void *context, const char *line, size_t size);
bool audit_print_json(void *context, const char *line, size_t size);

/* A moment such as 2026-11-21T19:12:53.000123Z, with so many digits behind the point. */
#define AUDIT_TIME_MAX 40
const char *audit_time(uint64_t time_us, unsigned int digits, char text[AUDIT_TIME_MAX]);

#endif
