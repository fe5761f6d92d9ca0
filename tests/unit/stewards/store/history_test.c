/* SPDX-License-Identifier: Apache-2.0
 *
 * The history of a sandbox on a disk: whole notes in the order of their executions, whatever a
 * crash or a full disk has left of the last one.
 */
#include "common/records/history.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "store_place.h"
#include "support.h"

TestSuite(store_history, .init = place_make, .fini = place_remove, .timeout = 120);

#define NOTE_BYTES ((off_t)sizeof(struct history_note))

static struct store_meta meta;

static int note(int sandbox, uint64_t execution)
{
	const struct history_note made = { .execution = execution, .pid = 1 };

	return store_note(sandbox, &made);
}

/* The number of the execution of that note; 0: there is no whole one. */
static uint64_t noted(int sandbox, const char *name, off_t index)
{
	struct history_note found = { .execution = 0 };
	int file = openat(sandbox, name, O_RDONLY | O_CLOEXEC);
	const ssize_t got = file < 0 ? 0 : pread(file, &found, sizeof(found), index * NOTE_BYTES);

	fd_close(&file);
	return got == NOTE_BYTES ? found.execution : 0;
}

static off_t size_of(int sandbox, const char *name)
{
	struct stat status = { .st_size = -1 };

	(void)fstatat(sandbox, name, &status, AT_SYMLINK_NOFOLLOW);
	return status.st_size;
}

static void resize(int sandbox, off_t size)
{
	int file = openat(sandbox, HISTORY_FILE, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	cr_assert_eq(ftruncate(file, size), 0);
	fd_close(&file);
}

Test(store_history, notes_follow_one_another)
{
	int sandbox = place_create("a", &meta);
	struct stat status;

	cr_assert_eq(note(sandbox, 7), 0);
	cr_assert_eq(note(sandbox, 8), 0);
	cr_expect_eq(noted(sandbox, HISTORY_FILE, 0), 7);
	cr_expect_eq(noted(sandbox, HISTORY_FILE, 1), 8);
	cr_assert_eq(fstatat(sandbox, HISTORY_FILE, &status, 0), 0);
	cr_expect_eq(status.st_mode & 07777, 0600);
	cr_expect_eq(size_of(sandbox, HISTORY_FILE_OLD), -1);
	fd_close(&sandbox);
}

Test(store_history, a_part_of_a_note_is_replaced)
{
	int sandbox = place_create("a", &meta);

	cr_assert_eq(note(sandbox, 7), 0);
	resize(sandbox, NOTE_BYTES + 100);
	cr_assert_eq(note(sandbox, 8), 0);
	cr_expect_eq(noted(sandbox, HISTORY_FILE, 1), 8);
	cr_expect_eq(size_of(sandbox, HISTORY_FILE), 2 * NOTE_BYTES);
	fd_close(&sandbox);
}

/* The process may write a part of the second note only. */
static int note_in_little_room(void *argument)
{
	const struct rlimit little = { NOTE_BYTES + 100, NOTE_BYTES + 100 };
	const int sandbox = *(const int *)argument;

	(void)signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &little) != 0 || note(sandbox, 8) != -ENOSPC)
		return 1;
	return size_of(sandbox, HISTORY_FILE) == NOTE_BYTES + 100 ? 0 : 2;
}

Test(store_history, a_full_disk_loses_one_note)
{
	int sandbox = place_create("a", &meta);

	cr_assert_eq(note(sandbox, 7), 0);
	cr_assert_eq(run_forked(note_in_little_room, &sandbox), 0);
	cr_assert_eq(note(sandbox, 9), 0);
	cr_expect_eq(noted(sandbox, HISTORY_FILE, 0), 7);
	cr_expect_eq(noted(sandbox, HISTORY_FILE, 1), 9);
	cr_expect_eq(size_of(sandbox, HISTORY_FILE), 2 * NOTE_BYTES);
	fd_close(&sandbox);
}

Test(store_history, the_oldest_notes_go)
{
	int sandbox = place_create("a", &meta);

	for (uint64_t execution = 1; execution <= 2; execution++) {
		cr_assert_eq(note(sandbox, execution), 0);
		resize(sandbox, HISTORY_BYTES);
	}
	cr_assert_eq(note(sandbox, 3), 0);
	cr_expect_eq(noted(sandbox, HISTORY_FILE_OLD, 0), 2);
	cr_expect_eq(size_of(sandbox, HISTORY_FILE_OLD), HISTORY_BYTES);
	cr_expect_eq(noted(sandbox, HISTORY_FILE, 0), 3);
	cr_expect_eq(size_of(sandbox, HISTORY_FILE), NOTE_BYTES);
	fd_close(&sandbox);
}

Test(store_history, a_link_is_not_followed)
{
	int sandbox = place_create("a", &meta);

	cr_assert_eq(symlinkat("meta", sandbox, HISTORY_FILE), 0);
	cr_expect_eq(note(sandbox, 7), -ELOOP);
	fd_close(&sandbox);
}
