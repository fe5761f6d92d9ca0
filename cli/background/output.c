/* SPDX-License-Identifier: Apache-2.0 */
#include "background/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/text/format.h"

#define NAME "output."
#define NAME_MAX_BYTES 32

/* Before the pieces of a file, and before each piece. */
struct file_head {
	uint64_t before; /* bytes of the command in the files before this one */
};

struct piece_head {
	uint32_t is_stderr;
	uint32_t size;
};

static void name_file(uint64_t number, char ret[NAME_MAX_BYTES])
{
	format_text(ret, NAME_MAX_BYTES, NAME "%llu", (unsigned long long)number);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Make a file and leave the one before it. 0 or -errno, with the old one in place. */
static int begin_file(struct output_writer *writer, uint64_t number)
{
	const struct file_head head = { .before = writer->total };
	char name[NAME_MAX_BYTES];
	ssize_t size;
	int error;
	int fd;

	name_file(number, name);
	fd = openat(writer->directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    S_IRUSR | S_IWUSR);
	if (fd < 0)
		return -errno;
	size = pwrite(fd, &head, sizeof(head), 0);
	if (size != (ssize_t)sizeof(head)) {
		error = size < 0 ? -errno : -ENOSPC;
		(void)unlinkat(writer->directory, name, 0);
		fd_close(&fd);
		return error;
	}
	fd_close(&writer->fd);
	writer->fd = fd;
	writer->number = number;
	writer->at = sizeof(head);
	return 0;
}

static void remove_file(const struct output_writer *writer, uint64_t number)
{
	char name[NAME_MAX_BYTES];

	name_file(number, name);
	(void)unlinkat(writer->directory, name, 0);
}

int output_begin(struct output_writer *writer, int directory)
{
	*writer = (struct output_writer){ .directory = directory, .fd = -1 };
	return begin_file(writer, 0);
}

void output_shrink(const struct output_writer *writer)
{
	for (uint64_t back = 1; back < OUTPUT_FILES && back <= writer->number; back++)
		remove_file(writer, writer->number - back);
}

/* Write a piece to the end of the file. False, and the file is as it was. */
static bool write_piece(struct output_writer *writer, bool is_stderr, const void *bytes,
			size_t size)
{
	static struct {
		struct piece_head head;
		uint8_t bytes[OUTPUT_PIECE_MAX];
	} piece;
	const ssize_t wanted = (ssize_t)(sizeof(piece.head) + size);

	piece.head = (struct piece_head){ .is_stderr = is_stderr, .size = (uint32_t)size };
	memcpy(piece.bytes, bytes, size);
	if (pwrite(writer->fd, &piece, (size_t)wanted, writer->at) != wanted) {
		(void)!ftruncate(writer->fd, writer->at); /* else a reader stops before it */
		return false;
	}
	writer->at += wanted;
	return true;
}

void output_add(struct output_writer *writer, bool is_stderr, const void *bytes, size_t size)
{
	const off_t end = writer->at + (off_t)(sizeof(struct piece_head) + size);
	bool is_kept;

	/* If there is no room for another file, the present one grows no further. */
	if (end > OUTPUT_FILE_BYTES && begin_file(writer, writer->number + 1) != 0) {
		output_shrink(writer);
		if (begin_file(writer, writer->number + 1) != 0) {
			writer->total += size;
			writer->lost += size;
			return;
		}
	}
	if (writer->number >= OUTPUT_FILES)
		remove_file(writer, writer->number - OUTPUT_FILES);
	is_kept = write_piece(writer, is_stderr, bytes, size);
	if (!is_kept) {
		output_shrink(writer);
		is_kept = write_piece(writer, is_stderr, bytes, size);
	}
	writer->total += size;
	writer->lost += is_kept ? 0 : size;
}

void output_end(struct output_writer *writer)
{
	fd_close(&writer->fd);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Find the oldest file with at least this number. False: there is none. */
static bool find_file(int directory, uint64_t least, uint64_t *ret)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	bool is_found = false;

	if (!list) {
		fd_close(&fd);
		return false;
	}
	while ((entry = readdir(list))) {
		uint64_t number;

		if (strncmp(entry->d_name, NAME, strlen(NAME)) != 0)
			continue;
		number = strtoull(entry->d_name + strlen(NAME), NULL, 10);
		if (number < least || (is_found && number >= *ret))
			continue;
		*ret = number;
		is_found = true;
	}
	(void)closedir(list);
	return is_found;
}

/* Go to the oldest file from this number on. False: there is none yet. */
static bool enter_file(struct output_reader *reader, uint64_t least, uint64_t *ret_dropped)
{
	struct file_head head;
	char name[NAME_MAX_BYTES];
	uint64_t number = 0;
	int fd;

	if (!find_file(reader->directory, least, &number))
		return false;
	name_file(number, name);
	fd = openat(reader->directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head)) {
		fd_close(&fd); /* just removed, or just made */
		return false;
	}
	fd_close(&reader->fd);
	reader->fd = fd;
	reader->number = number;
	reader->at = sizeof(head);
	if (head.before > reader->seen) {
		*ret_dropped += head.before - reader->seen;
		reader->seen = head.before;
	}
	return true;
}

/* Read a whole piece of the present file. False: it has no more. */
static bool read_piece(struct output_reader *reader, struct output_piece *ret)
{
	struct piece_head head;

	if (reader->fd < 0 ||
	    pread(reader->fd, &head, sizeof(head), reader->at) != (ssize_t)sizeof(head) ||
	    head.size > OUTPUT_PIECE_MAX ||
	    pread(reader->fd, ret->bytes, head.size, reader->at + (off_t)sizeof(head)) !=
		    (ssize_t)head.size)
		return false;
	ret->is_stderr = head.is_stderr != 0;
	ret->size = head.size;
	reader->at += (off_t)(sizeof(head) + head.size);
	reader->seen += head.size;
	return true;
}

void output_open(struct output_reader *reader, int directory)
{
	*reader = (struct output_reader){ .directory = directory, .fd = -1 };
}

bool output_next(struct output_reader *reader, struct output_piece *ret)
{
	uint64_t number;

	ret->dropped = 0;
	if (reader->fd < 0 && !enter_file(reader, 0, &ret->dropped))
		return false;
	while (!read_piece(reader, ret)) {
		/* The writer makes the next file after the last piece of this one. */
		if (!find_file(reader->directory, reader->number + 1, &number))
			return false;
		if (read_piece(reader, ret))
			break;
		if (!enter_file(reader, reader->number + 1, &ret->dropped))
			return false;
	}
	return true;
}

void output_close(struct output_reader *reader)
{
	fd_close(&reader->fd);
}
