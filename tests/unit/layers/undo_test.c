/* SPDX-License-Identifier: Apache-2.0
 *
 * What an undo leaves behind: what is in conflict after it, and whole repositories.
 */
#include "layers/apply.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/changes.h"
#include "common/fd.h"
#include "layers/base.h"
#include "rig.h"

static struct rig rig;

#define host_is(expected) cr_assert_str_eq(rig_show(&rig, HOST), (expected))
#define told_is(expected) cr_assert_str_eq(rig.told, (expected))

/* What the host changed by itself is no base by having come back. */
Test(undo, leaves_a_conflict_what_it_was)
{
	rig_begin_conflict(&rig, CONFLICT_OURS);
	rig_undo_all(&rig);
	rig.ask.conflict = CONFLICT_REFUSE;
	cr_assert_eq(rig_do(&rig, job_apply, NULL), 0);
	told_is("modified both conflict\ndeleted gone conflict\nmodified mine\n"
		"type same-name conflict\nadded same-name/in conflict\n");
	cr_assert_str_eq(rig_show(&rig, HOST), rig.before);
	/* Nor by having come back twice. */
	rig.ask.conflict = CONFLICT_OURS;
	rig_apply_all(&rig);
	rig_undo_all(&rig);
	rig.ask.conflict = CONFLICT_THEIRS;
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
	rig.ask.conflict = CONFLICT_OURS;
	rig_apply_all(&rig);
	rig_undo_all(&rig);
	host_is("file 100600 same\n");
	rig.ask.conflict = CONFLICT_REFUSE;
	cr_assert_eq(rig_do(&rig, job_apply, NULL), 0);
	told_is("mode file conflict\n");
	host_is("file 100600 same\n");
	rig_end(&rig);
}

/* An index that git wrote anew names objects that have to stay, and so does what is beside it. */
Test(undo, takes_back_all_of_a_repository_or_nothing)
{
	rig_begin(&rig, 1);
	put_file(HOST, ".git/index", "old");
	put_file(HOST, "sub/.git/index", "old");
	put_file(HOST, "file", "old");
	put_file(UPPER, ".git/index", "new");
	put_file(UPPER, ".git/objects/aa/1", "object");
	put_file(UPPER, "sub/.git/index", "new");
	put_file(UPPER, "file", "new");
	rig_note(&rig);
	rig.ask.flags = CHANGES_HELD_TOO;
	rig_apply_all(&rig);
	rig_touch_host(&rig, ".git/index", "git's");
	rig.ask.conflict = CONFLICT_THEIRS;
	cr_assert_eq(rig_do(&rig, job_undo, NULL), 0);
	host_is(".git 40755\n.git/index 100644 git's\n.git/objects 40755\n"
		".git/objects/aa 40755\n.git/objects/aa/1 100644 object\n"
		"file 100644 old\nsub 40755\nsub/.git 40755\nsub/.git/index 100644 old\n");
	rig_touch_host(&rig, ".git/index", "new");
	rig_undo_all(&rig);
	host_is(".git 40755\n.git/index 100644 old\nfile 100644 old\nsub 40755\n"
		"sub/.git 40755\nsub/.git/index 100644 old\n");
	rig_end(&rig);
}
