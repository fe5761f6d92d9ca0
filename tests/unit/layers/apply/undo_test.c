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
