/* SPDX-License-Identifier: Apache-2.0 */
#include "common/text/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

void text_add(struct text *text, const char *string)
{
	const size_t size = strlen(string);

	if (size >= sizeof(text->bytes) - text->used)
		abort();
	memcpy(text->bytes + text->used, string, size + 1);
	text->used += size;
}

void text_add_number(struct text *text, uint64_t number)
{
	char digits[TEXT_NUMBER_MAX];
	size_t at = sizeof(digits) - 1;

	digits[at] = '\0';
	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	text_add(text, digits + at);
}

uint64_t text_read_number(int dir, const char *path, const char *key)
{
	char content[4096]; /* memory.stat is the longest */
	uint64_t number = 0;
	const char *at = content;
	int fd FD_OWNED = openat(dir, path, O_RDONLY | O_CLOEXEC);
	const ssize_t size = read(fd, content, sizeof(content) - 1); /* -1 has none */

	if (size <= 0)
		return 0;
	content[size] = '\0';
	while (at && strncmp(at, key, strlen(key)) != 0) /* strstr(3) is a kilobyte */
		at = strchr(at + 1, key[0]);
	if (!at)
		return 0;
	at += strlen(key);
	for (at += strspn(at, " "); *at >= '0' && *at <= '9'; at++)
		number = number * 10 + (uint64_t)(*at - '0');
	return number;
}

int text_write_file(int dir, const char *path, const char *value)
{
	int fd FD_OWNED = openat(dir, path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd_write_all(fd, value, strlen(value));
}

int text_read_file(int directory, const char *path, char *text, size_t room)
{
	int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t got = 0;

	if (fd < 0)
		return -errno;
	while (used < room - 1 && (got = read(fd, text + used, room - 1 - used)) != 0) {
		if (got < 0 && errno != EINTR)
			break;
		used += got > 0 ? (size_t)got : 0;
	}
	fd_close(&fd); /* keeps errno */
	if (got < 0)
		return -errno;
	if (used > 0 && text[used - 1] == '\n')
		used--;
	text[used] = '\0';
	return (int)used;
}
