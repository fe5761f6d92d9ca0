/* SPDX-License-Identifier: Apache-2.0 */
#include "http/tokens.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/log.h"
#include "lib/heap/memory.h"

_Static_assert(TOKEN_HASH_BYTES == crypto_hash_sha256_BYTES, "the hash is SHA-256");

/* Linux, Documentation/admin-guide/devices.txt: the memory devices, among them /dev/null. */
#define NULL_DEVICE makedev(1, 3)

/* Times of files are no finer than a tick: a second change within one goes unnoticed. */
#define SETTLED_NS 100000000

#define NAME_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

int tokens_open(struct tokens *tokens, int fd)
{
	struct stat status;

	memset(tokens, 0, sizeof(*tokens));
	tokens->fd = fd;
	if (fstat(fd, &status) != 0)
		return -EINVAL;
	if (S_ISCHR(status.st_mode) && status.st_rdev == NULL_DEVICE)
		return 0;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	tokens->are_needed = true;
	tokens_refresh(tokens);
	return 0;
}

void tokens_close(struct tokens *tokens)
{
	free(tokens->names);
	tokens->names = NULL;
}

/* Return the number of a checked name; a new name gets the next one. */
static uint32_t number_name(struct tokens *tokens, const char *name, size_t size)
{
	for (uint32_t i = 0; i < tokens->name_count; i++) {
		if (strlen(tokens->names[i]) == size && memcmp(tokens->names[i], name, size) == 0)
			return i + 1;
	}
	tokens->names =
		memory_resize(tokens->names, (tokens->name_count + 1) * sizeof(tokens->names[0]));
	memcpy(tokens->names[tokens->name_count], name, size);
	tokens->names[tokens->name_count][size] = '\0';
	return ++tokens->name_count;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hash(const char *text, unsigned char ret[TOKEN_HASH_BYTES])
{
	for (size_t i = 0; i < TOKEN_HASH_BYTES; i++) {
		const int high = hex_digit(text[2 * i]);
		const int low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);

		if (low < 0)
			return false;
		ret[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

/* Read a whole line, terminated. False: it is not a valid row. */
static bool read_row(struct tokens *tokens, const char *line, size_t size)
{
	const size_t name = strspn(line, NAME_BYTES);
	struct token *row = &tokens->rows[tokens->count];

	if (name == 0 || name > TOKEN_NAME_MAX || line[name] != ' ' ||
	    size != name + 1 + 2 * (size_t)TOKEN_HASH_BYTES || tokens->count == TOKENS_MAX ||
	    !read_hash(line + name + 1, row->hash))
		return false;
	row->principal = number_name(tokens, line, name);
	tokens->count++;
	return true;
}

static void read_rows(struct tokens *tokens, char *text)
{
	char *end = strchr(text, '\n');
	bool has_bad = false;

	tokens->count = 0;
	while (end) {
		*end = '\0';
		if (*text && *text != '#')
			has_bad |= !read_row(tokens, text, (size_t)(end - text));
		text = end + 1;
		end = strchr(text, '\n');
	}
	has_bad |= *text != '\0' && *text != '#'; /* a line that is still being written */
	if (has_bad && !tokens->was_bad)
		log_line("the token file has a line that is not \"NAME SHA256\": the line is "
			 "ignored");
	tokens->was_bad = has_bad;
}

/* Read the whole file; a NUL byte ends it. */
static void read_file(struct tokens *tokens)
{
	static char text[TOKEN_FILE_BYTES_MAX + 1]; /* one thread */
	size_t size = 0;
	ssize_t got = 1;

	while (got > 0 && size < TOKEN_FILE_BYTES_MAX) {
		got = pread(tokens->fd, text + size, TOKEN_FILE_BYTES_MAX - size, (off_t)size);
		if (got > 0)
			size += (size_t)got;
	}
	if (got < 0) {
		tokens->count = 0;
		log_line("all clients are refused: cannot read the token file: %s",
			 errno_text(errno));
		return;
	}
	text[size] = '\0';
	read_rows(tokens, text);
	memset(text, 0, sizeof(text));
}

static bool is_settled(const struct timespec *changed)
{
	struct timespec now;

	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		bug("a clock that cannot be read");
	const int64_t seconds = (int64_t)now.tv_sec - changed->tv_sec;
	return seconds > 1 || seconds * 1000000000 + now.tv_nsec - changed->tv_nsec > SETTLED_NS;
}

static void lose_file(struct tokens *tokens, const char *what)
{
	tokens->count = 0;
	tokens->is_settled = false;
	if (!tokens->is_gone)
		log_line("all clients are refused: the token file %s", what);
	tokens->is_gone = true;
}

void tokens_refresh(struct tokens *tokens)
{
	struct stat status;

	if (!tokens->are_needed)
		return;
	if (fstat(tokens->fd, &status) != 0 || status.st_nlink == 0) {
		lose_file(tokens, "was replaced; start the server again");
		return;
	}
	if ((size_t)status.st_size > TOKEN_FILE_BYTES_MAX) {
		lose_file(tokens, "is longer than 64 KiB");
		return;
	}
	if (tokens->is_settled && tokens->size == status.st_size &&
	    tokens->changed.tv_sec == status.st_mtim.tv_sec &&
	    tokens->changed.tv_nsec == status.st_mtim.tv_nsec)
		return;
	tokens->is_gone = false;
	tokens->changed = status.st_mtim;
	tokens->size = status.st_size;
	tokens->is_settled = is_settled(&status.st_mtim);
	read_file(tokens);
}

bool tokens_find(const struct tokens *tokens, const char *text, uint32_t *ret_principal)
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	uint32_t found = 0;

	(void)crypto_hash_sha256(hash, (const unsigned char *)text, strlen(text)); /* never fails */
	for (uint32_t i = 0; i < tokens->count; i++) {
		const uint32_t is_same =
			sodium_memcmp(hash, tokens->rows[i].hash, sizeof(hash)) == 0;
		const uint32_t is_first = found == 0; /* two names may have one token */

		found |= tokens->rows[i].principal & (0U - (is_same & is_first));
	}
	*ret_principal = found;
	return found != 0;
}

const char *tokens_name(const struct tokens *tokens, uint32_t principal)
{
	return principal > 0 && principal <= tokens->name_count ? tokens->names[principal - 1]
								: NULL;
}

bool tokens_admit(const struct tokens *tokens, uint32_t principal)
{
	if (!tokens->are_needed)
		return true;
	for (uint32_t i = 0; i < tokens->count; i++) {
		if (tokens->rows[i].principal == principal)
			return true;
	}
	return false;
}
