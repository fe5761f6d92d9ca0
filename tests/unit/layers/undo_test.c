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
static char before[RIG_TEXT_MAX];

#define host_is(expected) cr_assert_str_eq(rig_show(&rig, HOST), (expected))
#define told_is(expected) cr_assert_str_eq(rig.told, (expected))

static void apply_all(void)
{
	cr_assert_eq(rig_do(&rig, job_apply, NULL), 0, "%s", strerror((int)rig.job.done.error));
	cr_assert_eq(rig.job.done.error, 0);
}

static void undo_all(void)
{
	cr_assert_eq(rig_do(&rig, job_undo, NULL), 0, "%s", strerror((int)rig.job.done.error));
	cr_assert_eq(rig.job.done.conflicts, 0, "%s", rig.told);
}

static void remember_host(void)
{
	(void)stpcpy(before, rig_show(&rig, HOST));
}

static void begin_conflict(uint32_t choice)
{
	rig_begin_conflict(&rig, choice);
	remember_host();
	cr_assert_eq(rig_do(&rig, job_apply, NULL), 0);
}

/* What the host changed by itself is no base by having come back. */
Test(undo, leaves_a_conflict_what_it_was)
{
	begin_conflict(CONFLICT_OURS);
	undo_all();
	rig.ask.conflict = CONFLICT_REFUSE;
	cr_assert_eq(rig_do(&rig, job_apply, NULL), 0);
	told_is("modified both conflict\ndeleted gone conflict\nmodified mine\n"
		"type same-name conflict\nadded same-name/in conflict\n");
	cr_assert_str_eq(rig_show(&rig, HOST), before);
	/* Nor by having come back twice. */
	rig.ask.conflict = CONFLICT_OURS;
	apply_all();
	undo_all();
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
	apply_all();
	undo_all();
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
	apply_all();
	rig_touch_host(&rig, ".git/index", "git's");
	rig.ask.conflict = CONFLICT_THEIRS;
	cr_assert_eq(rig_do(&rig, job_undo, NULL), 0);
	host_is(".git 40755\n.git/index 100644 git's\n.git/objects 40755\n"
		".git/objects/aa 40755\n.git/objects/aa/1 100644 object\n"
		"file 100644 old\nsub 40755\nsub/.git 40755\nsub/.git/index 100644 old\n");
	rig_touch_host(&rig, ".git/index", "new");
	undo_all();
	host_is(".git 40755\n.git/index 100644 old\nfile 100644 old\nsub 40755\n"
		"sub/.git 40755\nsub/.git/index 100644 old\n");
	rig_end(&rig);
}
