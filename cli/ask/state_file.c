/* SPDX-License-Identifier: Apache-2.0 */
#include "ask/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/state_place.h"

#define FILE_MAX (4 << 20)

/* Read all of the file with a NUL behind. 0 or -errno. */
static int read_file(int file, struct buffer *ret)
{
	char piece[8192];
	ssize_t got;

	while ((got = pread(file, piece, sizeof(piece), (off_t)ret->size)) > 0 &&
	       ret->size < FILE_MAX)
		buffer_append(ret, piece, (size_t)got);
	return got < 0 ? -errno : 0;
}

/* Hand on the complete lines. 0 or -errno. */
static int read_lines(int file, void (*take)(void *context, char *line), void *context)
{
	struct buffer text = { 0 };
	const int error = read_file(file, &text);
	char *end;

	for (char *line = text.bytes; !error && line && line < text.bytes + text.size;
	     line = end + 1) {
		end = memchr(line, '\n', (size_t)(text.bytes + text.size - line));
		if (!end)
			break;
		*end = '\0';
		take(context, line);
	}
	buffer_done(&text);
	return error;
}

int state_file_open(const char *name, void (*take)(void *context, char *line), void *context,
		    int *ret, char *text)
{
	char path[IPC_PATH_MAX];
	int directory;
	int error;

	*ret = -1;
	if (!state_place_find(STATE_PLACE_ALL, path, text))
		return -ENOENT;
	directory = state_place_open(path, true, text);
	if (directory < 0)
		return directory;
	*ret = openat(directory, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
		      S_IRUSR | S_IWUSR);
	error = *ret < 0 || flock(*ret, LOCK_EX) != 0 ? -errno : read_lines(*ret, take, context);
	if (error)
		format_text(text, STATE_PLACE_TEXT_MAX, "%.500s/%s: %s", path, name,
			    errno_text(-error));
	fd_close(&directory);
	return error;
}

int state_file_write(int file, const struct buffer *text)
{
	ssize_t written;

	errno = 0;
	written = text->size > 0 ? pwrite(file, text->bytes, text->size, 0) : 0;
	if (written != (ssize_t)text->size)
		return errno ? -errno : -EIO;
	return ftruncate(file, (off_t)text->size) == 0 ? 0 : -errno;
}

void state_file_escape(struct buffer *text, const char *path)
{
	for (; *path != '\0'; path++) {
		if (*path == '\n')
			buffer_append_text(text, "\\n");
		else if (*path == '\\')
			buffer_append_text(text, "\\\\");
		else
			buffer_append(text, path, 1);
	}
}

void state_file_restore(char *path)
{
	char *to = path;

	for (; *path != '\0'; path++) {
		if (*path == '\\' && path[1] != '\0') {
			path++;
			*to++ = *path == 'n' ? '\n' : *path;
		} else {
			*to++ = *path;
		}
	}
	*to = '\0';
}
