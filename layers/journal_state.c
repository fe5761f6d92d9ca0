/* SPDX-License-Identifier: Apache-2.0 */
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/kernel.h"
#include "files.h"
#include "remove.h"

#define FILE_NAME "journal"
#define FILE_NEW "journal.new"
#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

void journal_keep_name(const struct journal *journal, char ret[JOURNAL_KEEP_MAX])
{
	int used = snprintf(ret, JOURNAL_KEEP_MAX, ".msp-");

	for (size_t i = 0; i < sizeof(journal->token); i++)
		used += snprintf(ret + used, JOURNAL_KEEP_MAX - (size_t)used, "%02x",
				 journal->token[i]);
}

void journal_number(size_t number, char ret[JOURNAL_NUMBER_MAX])
{
	(void)snprintf(ret, JOURNAL_NUMBER_MAX, "%zu", number % JOURNAL_ENTRIES_MAX);
}

int journal_sync(int directory)
{
	int fd = openat(directory, ".", DIRECTORY_FLAGS);
	int error;

	if (fd < 0)
		return -errno;
	error = fsync(fd) == 0 ? 0 : -errno;
	fd_close(&fd);
	return error;
}

int journal_write(int state, const struct journal *journal)
{
	uint8_t *bytes = NULL;
	size_t size;
	int error = journal_format(journal, &bytes, &size);
	int fd;

	if (error)
		return error;
	fd = openat(state, FILE_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	error = fd < 0 ? -errno : fd_write_all(fd, bytes, size);
	if (error == 0 && fsync(fd) != 0)
		error = -errno;
	fd_close(&fd);
	free(bytes);
	if (error == 0 && renameat(state, FILE_NEW, state, FILE_NAME) != 0)
		error = -errno;
	return error ? error : journal_sync(state);
}

static int read_file(int fd, struct journal *ret)
{
	struct stat status;
	uint8_t *bytes;
	size_t size;
	int error;

	if (fstat(fd, &status) != 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_size <= 0 || status.st_size > JOURNAL_BYTES_MAX)
		return -EBADMSG;
	size = (size_t)status.st_size;
	bytes = malloc(size);
	if (!bytes)
		return -ENOMEM;
	error = files_read(fd, bytes, size, 0);
	if (error == 0)
		error = journal_parse(bytes, size, ret);
	free(bytes);
	return error;
}

int journal_read(int directory, const char *name, struct journal *ret, int *ret_state)
{
	int state = openat(directory, name, DIRECTORY_FLAGS);
	int fd;
	int error;

	if (state < 0)
		return -errno;
	fd = openat(state, FILE_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	/* A state without a journal is a damaged one, not none. */
	error = fd >= 0 ? read_file(fd, ret) : errno == ENOENT ? -EBADMSG : -errno;
	fd_close(&fd);
	if (error || !ret_state)
		fd_close(&state);
	if (error == 0 && ret_state)
		*ret_state = state;
	return error;
}

int journal_move(int directory, const char *from, const char *to)
{
	const int error = files_rename(directory, from, directory, to, RENAME_NOREPLACE);

	return error ? error : journal_sync(directory);
}

int journal_drop(int directory, const char *name)
{
	int error = remove_tree(directory, JOURNAL_NEW);

	if (error || strcmp(name, JOURNAL_NEW) == 0)
		return error;
	/* A half removed journal must not be read as a whole one. */
	error = journal_move(directory, name, JOURNAL_NEW);
	if (error)
		return error == -ENOENT ? 0 : error;
	return remove_tree(directory, JOURNAL_NEW);
}

int journal_begin(int directory, struct journal *journal)
{
	struct journal empty = { .kind = journal->kind };
	int error = journal_drop(directory, JOURNAL_NEW);
	int state = -1;

	if (error)
		return error;
	if (kernel_getrandom(journal->token, sizeof(journal->token)) != sizeof(journal->token))
		return -EIO;
	if (mkdirat(directory, JOURNAL_NEW, 0700) != 0)
		return -errno;
	state = openat(directory, JOURNAL_NEW, DIRECTORY_FLAGS);
	if (state < 0)
		return -errno;
	memcpy(empty.token, journal->token, sizeof(empty.token));
	error = journal_write(state, &empty);
	if (error == 0)
		error = journal_move(directory, JOURNAL_NEW, JOURNAL_STAGING);
	if (error) {
		fd_close(&state);
		return error;
	}
	return state;
}
