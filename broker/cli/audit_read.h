/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading the audit log (common/audit.h). Its records are flat: no JSON reader is needed for them,
 * and what is none of ours is told, not guessed at.
 */
#ifndef CLI_AUDIT_READ_H
#define CLI_AUDIT_READ_H

#include <stdbool.h>
#include <sys/types.h>

#include "common/audit.h"

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
	bool is_locked; /* nobody wrote meanwhile */
};

/* Open what is in `directory`, which stays the caller's. 0 or -errno; then nothing is open. */
int audit_log_open(int directory, struct audit_log *ret);
void audit_log_close(struct audit_log *log);

/* The lines of a file, up to its first `left` bytes. */
struct audit_reader {
	int fd;
	uint64_t left;
	uint64_t line;  /* of the one that was read last, from 1 */
	bool is_inside; /* of a line too long to be a record: the next piece is of the same */
	size_t begin;
	size_t end;
	char buffer[16 * AUDIT_LINE_MAX];
};

void audit_reader_init(struct audit_reader *reader, int fd, uint64_t left);

/* The next line, with its newline if it has one, in the reader's buffer; a line too long to be a
 * record in pieces. 1; 0 at the end; -errno. */
int audit_reader_next(struct audit_reader *reader, const char **ret_line, size_t *ret_size);

/* A field of a record: no text in it needs to be unescaped, or could harm a terminal. */
struct audit_value {
	const char *key;
	size_t key_size;
	const char *value;
	size_t size;
	bool is_text;
};

/* The next field of a line, *at being 0 at first. 1; 0 behind the last one; -1: not our form. */
int audit_value_next(const char *line, size_t size, size_t *at, struct audit_value *ret);

/* The field of that name. */
bool audit_value_find(const char *line, size_t size, const char *key, struct audit_value *ret);
uint64_t audit_value_number(const struct audit_value *value);
bool audit_value_is(const struct audit_value *value, const char *text);

/* Is the line of the form of a record, all of it? */
bool audit_is_record(const char *line, size_t size);

/* The line for people, or as it is; a line that is none is told on stderr. False when it is none.
 */
bool audit_print(const char *line, size_t size, unsigned int file, uint64_t number, bool is_json);

#endif
