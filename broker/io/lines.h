/* SPDX-License-Identifier: Apache-2.0
 *
 * Splits the client's bytes into lines. Holds at most one line of LINE_BYTES_MAX and one read
 * behind it; a longer line is thrown away up to its newline and reported once.
 */
#ifndef BROKER_IO_LINES_H
#define BROKER_IO_LINES_H

#include <stdbool.h>
#include <stddef.h>

#define LINE_BYTES_MAX ((size_t)10 << 20)

/* An all-zero struct is ready to use. */
struct lines {
	char *bytes;
	size_t room;
	size_t start;   /* start of the next line */
	size_t scanned; /* no newline before this offset */
	size_t end;     /* end of the read bytes */
	bool is_discarding;
};

enum lines_event {
	LINES_NONE,     /* no complete line: read more */
	LINES_LINE,     /* a line */
	LINES_TOO_LONG, /* the end of a line that was thrown away */
};

/* Return where to read to, with at least one byte of room. Invalidates the last line. */
char *lines_space(struct lines *lines, size_t *ret_room);

/* Record that `size` bytes were read to lines_space(). */
void lines_added(struct lines *lines, size_t size);

/* Return the next line, without its newline, a carriage return before it, or a byte order mark. It
 * may be written to, and is valid until the next call of a function of this module. */
enum lines_event lines_next(struct lines *lines, char **ret_line, size_t *ret_size);

void lines_done(struct lines *lines);

#endif
