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
#include "common/ipc_changes.h"
#include "layers/base.h"
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
