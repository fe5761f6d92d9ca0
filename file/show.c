/* SPDX-License-Identifier: Apache-2.0
 *
 * read PATH OFFSET LENGTH: a range of a regular file, cut at the end of the file.
 *
 * show PATH FIRST COUNT ROOM: a regular file as a model sees it. A text comes as its lines from
 * number FIRST on, at most COUNT of them and about ROOM bytes; an image as its bytes; any other
 * file, known by a NUL among its first bytes, as a digest.
 */
#include <string.h>

#include "answer.h"
#include "common/sha256.h"

/* First bytes in which a NUL makes a file binary, as git has it. */
#define TEXT_CHECK_BYTES 8000

static struct {
	uint64_t first;
	uint64_t count;            /* lines to show yet */
	uint64_t room;             /* bytes to show yet */
	uint64_t number;           /* complete lines before the current one */
	uint64_t size;             /* bytes of the current line so far */
	uint64_t scanned;          /* bytes read since the last line that is shown */
	char bytes[FILE_LINE_MAX]; /* first bytes of the current line */
	char last;                 /* last byte of the current line */
} show;

static bool is_wanted(void)
{
	return show.number + 1 >= show.first && show.count > 0 && show.room > 0;
}

static void tell_line(uint64_t size, uint32_t flags)
{
	const struct file_line line = {
		.size = size,
		.shown = size < FILE_LINE_MAX ? (uint32_t)size : FILE_LINE_MAX,
		.flags = flags,
	};

	answer_bytes(&line, sizeof(line));
	answer_bytes(show.bytes, line.shown);
	show.count--;
	show.room -= line.shown < show.room ? line.shown : show.room;
	show.scanned = 0;
}

/* End the current line; `flags`: FILE_LINE_OPEN without a line end. */
static void end_line(uint32_t flags)
{
	const bool is_crlf = flags == 0 && show.size > 0 && show.last == '\r';

	if (is_wanted())
		tell_line(show.size - is_crlf, flags | (is_crlf ? FILE_LINE_CRLF : 0));
	show.number++;
	show.size = 0;
}

static void take_part(const char *bytes, size_t size)
{
	if (size == 0)
		return;
	if (is_wanted() && show.size < FILE_LINE_MAX) {
		const size_t room = FILE_LINE_MAX - (size_t)show.size;

		memcpy(show.bytes + show.size, bytes, size < room ? size : room);
	}
	show.size += size;
	show.last = bytes[size - 1];
}

static void take_block(const char *bytes, size_t size)
{
	const char *const end = bytes + size;
	const char *newline;

	while ((newline = memchr(bytes, '\n', (size_t)(end - bytes)))) {
		take_part(bytes, (size_t)(newline - bytes));
		end_line(0);
		bytes = newline + 1;
	}
	take_part(bytes, (size_t)(end - bytes));
}

/* Show the lines asked for, and count the others. */
static void show_lines(int file)
{
	static char block[65536];
	struct file_line last = { .flags = FILE_LINE_LAST };
	uint64_t offset = 0;
	size_t got;

	while ((got = answer_read(file, block, sizeof(block), offset)) > 0) {
		take_block(block, got);
		offset += got;
		show.scanned += got;
		if (!is_wanted() && show.number >= show.first && show.scanned > FILE_SCAN_MAX) {
			last.flags |= FILE_LINE_BEYOND;
			break;
		}
	}
	if (got == 0 && show.size > 0)
		end_line(FILE_LINE_OPEN);
	last.size = show.number;
	answer_bytes(&last, sizeof(last));
}

/* Make the text of the digest of a file; empty if it is too large. */
static void put_digest(int file, uint64_t size, char ret[SHA256_TEXT_MAX])
{
	static char block[65536];
	uint8_t digest[SHA256_BYTES];
	struct sha256 state;
	uint64_t offset = 0;
	size_t got;

	ret[0] = '\0';
	if (size > FILE_SCAN_MAX)
		return;
	sha256_begin(&state);
	while (offset <= FILE_SCAN_MAX &&
	       (got = answer_read(file, block, sizeof(block), offset)) > 0) {
		sha256_add(&state, block, got);
		offset += got;
	}
	sha256_end(&state, digest);
	sha256_text(digest, ret);
}

static void show_binary(int file, struct file_head head, const char *first, size_t size)
{
	char digest[SHA256_TEXT_MAX];

	put_digest(file, head.size, digest);
	head.form = FILE_FORM_DIGEST;
	head.text_size = (uint32_t)strlen(digest);
	answer_begin(head);
	answer_bytes(digest, head.text_size);
	answer_bytes(first, size < FILE_SNIFF_BYTES ? size : FILE_SNIFF_BYTES);
}

void command_show(char **arguments)
{
	static char first[TEXT_CHECK_BYTES];
	struct file_head head = { .problem = FILE_DONE, .form = FILE_FORM_LINES };
	struct stat status;
	size_t size;
	int file;

	show.first = answer_number(arguments[1]);
	show.count = answer_number(arguments[2]);
	show.room = answer_number(arguments[3]);
	file = answer_open(arguments[0], &status);
	head.mode = status.st_mode;
	head.size = (uint64_t)status.st_size;
	size = answer_read(file, first, sizeof(first), 0);
	if (file_image_type((const uint8_t *)first, size) && head.size <= FILE_IMAGE_MAX) {
		head.form = FILE_FORM_IMAGE;
		answer_begin(head);
		answer_range(file, 0, head.size);
	} else if (memchr(first, '\0', size) || file_image_type((const uint8_t *)first, size)) {
		show_binary(file, head, first, size);
	} else {
		answer_begin(head);
		show_lines(file);
	}
}

void command_read(char **arguments)
{
	const uint64_t offset = answer_number(arguments[1]);
	const uint64_t length = answer_number(arguments[2]);
	struct file_head head = { .problem = FILE_DONE };
	struct stat status;
	const int file = answer_open(arguments[0], &status);

	head.mode = status.st_mode;
	head.size = (uint64_t)status.st_size;
	head.count = offset < head.size ? head.size - offset : 0;
	answer_begin(head);
	if (head.count > 0)
		answer_range(file, offset, length < head.count ? length : head.count);
}
