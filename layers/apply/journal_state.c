/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/base/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/kernel.h"
#include "layers/base/beneath.h"
#include "layers/base/files.h"
#include "layers/base/remove.h"

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

static int read_file(int state, struct journal *ret)
{
	char *bytes;
	size_t size;
	int error = beneath_text(state, FILE_NAME, JOURNAL_BYTES_MAX, &bytes, &size);

	/* A state without a journal is a damaged one, not none. */
	if (error)
		return error == -ENOENT || error == -ESTALE || error == -EFBIG ? -EBADMSG : error;
	error = journal_parse((const uint8_t *)bytes, size, ret);
	free(bytes);
	return error;
}

int journal_read(int directory, const char *name, struct journal *ret, int *ret_state)
{
	int state = openat(directory, name, DIRECTORY_FLAGS);
	int error;

	if (state < 0)
		return -errno;
	error = read_file(state, ret);
	if (error == 0 && ret_state)
		*ret_state = fd_take(&state);
	fd_close(&state);
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
