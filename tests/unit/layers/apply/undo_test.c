/* SPDX-License-Identifier: Apache-2.0
 *
 * The results of an undo: conflicts after it, whole repositories, and the files themselves.
 */
#include "layers/apply/apply.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_changes.h"
#include "common/records/changes.h"
#include "layers/base/base.h"
#include "rig.h"

static struct rig rig;

#define host_is(expected) cr_assert_str_eq(rig_show(&rig, HOST), (expected))
#define told_is(expected) cr_assert_str_eq(rig.told, (expected))

/* What the host changed by itself is no base by having come back. */
Test(undo, leaves_a_conflict_what_it_was)
{
	rig_begin_conflict(&rig, CONFLICT_SANDBOX);
	rig_undo_all(&rig);
	rig.ask.conflict = CONFLICT_REFUSE;
	cr_assert_eq(rig_do(&rig, job_apply, NULL), 0);
	told_is("modified both conflict\ndeleted gone conflict\nmodified mine\n"
		"type same-name conflict\nadded same-name/in conflict\n");
	cr_assert_str_eq(rig_show(&rig, HOST), rig.before);
	/* Nor by having come back twice. */
	rig.ask.conflict = CONFLICT_SANDBOX;
	rig_apply_all(&rig);
	rig_undo_all(&rig);
	rig.ask.conflict = CONFLICT_HOST;
	cr_assert_eq(rig_do(&rig, job_apply, NULL), 0);
	host_is("both 100644 host's\ngone 100644 host's\nmine 100644 new\n"
		"same-name 100644 host's\n");
	rig_end(&rig);
}

/* Permissions alone, which the host's side keeps in their place. */
Test(undo, leaves_permissions_in_conflict_what_they_were)
{
	rig_begin(&rig, 1);
	put_file(HOST, "file", "same");
	put_file(UPPER, "file", "same");
	put_mode(UPPER, "file", 0755);
	rig_note(&rig);
	put_mode(HOST, "file", 0600);
	rig.ask.conflict = CONFLICT_SANDBOX;
	rig_apply_all(&rig);
	rig_undo_all(&rig);
	host_is("file 100600 same\n");
	rig.ask.conflict = CONFLICT_REFUSE;
	cr_assert_eq(rig_do(&rig, job_apply, NULL), 0);
	told_is("mode file conflict\n");
	host_is("file 100600 same\n");
	rig_end(&rig);
}

/* The files of the host come back themselves, with their times and set-ID bits, which a copy loses,
 * so that nothing is a conflict afterwards. */
Test(undo, brings_back_the_same_files)
{
	struct stat before, after;

	rig_begin(&rig, 1);
	put_file(HOST, "file", "old");
	put_file(HOST, "set-id", "old");
	cr_assert_eq(fchmodat(HOST, "set-id", 04755, 0), 0);
	put_file(UPPER, "file", "new");
	put_file(UPPER, "set-id", "new");
	rig_note(&rig);
	cr_assert_eq(fstatat(HOST, "file", &before, 0), 0);
	rig_apply_all(&rig);
	rig_undo_all(&rig);
	cr_assert_eq(fstatat(HOST, "file", &after, 0), 0);
	cr_expect_eq(after.st_ino, before.st_ino);
	cr_expect_eq(after.st_mtim.tv_sec, before.st_mtim.tv_sec);
	cr_expect_eq(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
	cr_expect_eq(after.st_nlink, 1U);
	cr_assert_eq(fstatat(HOST, "set-id", &after, 0), 0);
	cr_expect_eq(after.st_mode & 07777, 04755U);
	rig_apply_all(&rig);
	host_is("file 100644 new\nset-id 100644 new\n");
	rig_end(&rig);
}

static ino_t inode_of(const char *path)
{
	struct stat status;

	cr_assert_eq(fstatat(HOST, path, &status, AT_SYMLINK_NOFOLLOW), 0, "%s: %m", path);
	return status.st_ino;
}

static void begin_special(void)
{
	rig_begin(&rig, 1);
	put_fifo(HOST, "fifo");
	put_fifo(HOST, "folder/fifo");
	put_fifo(HOST, "file");
	put_socket(HOST, "socket");
	put_mode(HOST, "socket", 0700);
	put_whiteout(UPPER, "fifo");
	put_whiteout(UPPER, "folder");
	put_whiteout(UPPER, "socket");
	put_file(UPPER, "file", "new");
	put_file(UPPER, "kept", "new");
	rig_note(&rig);
	rig_remember(&rig, HOST);
}

/* A FIFO or a socket has no content, so that its deletion is one like each other; with what was
 * written to the FIFO meanwhile, which changes its times. */
static void delete_special_and_take_it_back(bool is_same)
{
	ino_t before;
	int fifo;

	begin_special();
	before = inode_of("socket");
	fifo = openat(HOST, "fifo", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	cr_assert_eq(write(fifo, "x", 1), 1);
	rig_apply_all(&rig);
	told_is("deleted fifo applied\ntype file applied\ndeleted folder applied\n"
		"deleted folder/fifo applied\nadded kept applied\ndeleted socket applied\n");
	host_is("file 100644 new\nkept 100644 new\n");
	cr_assert_eq(write(fifo, "y", 1), 1);
	rig_undo_all(&rig);
	host_is(rig.before);
	cr_expect_eq(inode_of("socket") == before, is_same);
	fd_close(&fifo);
	rig_end(&rig);
}

Test(undo, brings_back_fifos_and_sockets)
{
	delete_special_and_take_it_back(true);
}

Test(undo, makes_fifos_and_sockets_anew_on_another_file_system)
{
	rig_is_apart = true;
	delete_special_and_take_it_back(false);
}

/* A service of the host that starts again makes its socket anew. The deletion is of the one before,
 * and blocks no other change; in the place of a file it is a conflict. */
Test(apply, leaves_a_socket_that_the_host_made_anew)
{
	begin_special();
	put_file(HOST, "inode", "that no other file gets");
	cr_assert_eq(unlinkat(HOST, "socket", 0), 0);
	put_socket(HOST, "socket");
	rig_apply_all(&rig);
	told_is("deleted fifo applied\ntype file applied\ndeleted folder applied\n"
		"deleted folder/fifo applied\nadded kept applied\ndeleted socket refused\n");
	(void)inode_of("socket");
	cr_assert_eq(rig.job.done.conflicts, 0);
	rig_end(&rig);
	begin_special();
	cr_assert_eq(unlinkat(HOST, "file", 0), 0);
	put_file(HOST, "file", "host's");
	cr_assert_eq(rig_do(&rig, job_apply, NULL), 0);
	cr_assert_eq(rig.job.done.conflicts, 1);
	cr_assert_not_null(strstr(rig.told, "modified file conflict\n"));
	rig_end(&rig);
}

/* Permissions of a FIFO stay as they are, and the rest comes. */
Test(apply, leaves_permissions_of_a_fifo)
{
	begin_special();
	put_fifo(HOST, "mode");
	put_fifo(UPPER, "mode");
	put_mode(UPPER, "mode", 0600);
	cr_assert_eq(rig_do(&rig, job_apply, NULL), 0);
	cr_assert_eq(rig.job.done.conflicts, 0);
	cr_assert_not_null(strstr(rig.told, "mode mode refused\n"));
	cr_assert_not_null(strstr(rig.told, "added kept applied\n"));
	rig_end(&rig);
}

/* Only root can make a device, so that an undo could not. */
Test(apply, leaves_a_device)
{
	if (geteuid() != 0)
		cr_skip_test("only root can make a device");
	begin_special();
	cr_assert_eq(mknodat(HOST, "gone", S_IFCHR | 0666, 0x103), 0);
	cr_assert_eq(mknodat(HOST, "other", S_IFBLK | 0666, 0x103), 0);
	put_whiteout(UPPER, "gone");
	put_file(UPPER, "other", "new");
	rig_note(&rig);
	cr_assert_eq(rig_do(&rig, job_apply, NULL), 0);
	cr_assert_eq(rig.job.done.conflicts, 0);
	cr_assert_not_null(strstr(rig.told, "deleted gone refused\n"));
	cr_assert_not_null(strstr(rig.told, "type other refused\n"));
	cr_assert_not_null(strstr(rig.told, "added kept applied\n"));
	rig_end(&rig);
}
