/* SPDX-License-Identifier: Apache-2.0
 *
 * create_sandbox over a project with files of other owners and groups.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/refusal.h"
#include "persistent.h"

static struct rig rig;

static void open_rig(void)
{
	rig_open(&rig, true);
}

static void close_rig(void)
{
	rig_close(&rig);
}

TestSuite(mcp_foreign, .init = open_rig, .fini = close_rig);

/* Create it with a project, and take the request about the project's foreign files. */
static uint64_t create_over_project(void)
{
	const struct ipc_sandbox_info info = persistent_info(BOX_ID, "build");
	const struct ipc_changes_start *start;

	persistent_say(&rig, "create_sandbox",
		       "\"name\":\"build\",\"workspace\":\"/home/user/project\"");
	persistent_answer(&rig, rig_body(&rig, sandbox_new)->request, &info);
	rig_hear_nothing(&rig);
	start = rig_body(&rig, changes_start);
	cr_assert_eq(start->operation, CHANGES_PREPARE);
	cr_assert_str_eq(start->sandbox, BOX_ID);
	return start->request;
}

Test(mcp_foreign, says_nothing_about_a_project_without_any)
{
	struct ipc_changes_done done = { .request = create_over_project() };

	persistent_changes_done(&rig, persistent_changes(&rig, done.request), &done);
	expect_part(rig_hear(&rig), "\"isError\":false");
	cr_assert_null(strstr(rig.line, "owner"));
	cr_assert_null(strstr(rig.line, "foreign"));
}

Test(mcp_foreign, names_foreign_files_that_stay_unchangeable)
{
	struct ipc_changes_done done = { .request = create_over_project(),
					 .total = 14,
					 .applied = 2,
					 .held = 12,
					 .ignored = 50000,
					 .step = CHANGES_STEP_READ };
	const int records = persistent_changes(&rig, done.request);

	for (unsigned int i = 0; i < done.held; i++)
		persistent_tell(&rig, records, CHANGE_MODE, CHANGE_IS_REFUSED, i ? "b\n" : "a",
				NULL);
	persistent_changes_done(&rig, records, &done);
	expect_part(rig_hear(&rig), "14 files and directories of the project have another owner or "
				    "group: 2 can be changed in the sandbox, 12 cannot: a, b");
	expect_part(rig.line, ", and more. Only the user can chown those. The project is large: "
			      "only its first 50000 names were searched for such files.");
	expect_part(rig.line, "\"foreign\":{\"total\":14,\"prepared\":2,\"unchangeable\":12}");
	cr_assert_null(strstr(rig.line, "b\n"));
}

Test(mcp_foreign, is_created_although_foreign_files_cannot_be_searched)
{
	struct ipc_changes_done done = { .request = create_over_project(), .error = EIO };

	persistent_changes_done(&rig, persistent_changes(&rig, done.request), &done);
	expect_part(rig_hear(&rig), "\"isError\":false");
	expect_part(rig.line, "Files of other owners or groups may be unchangeable");
	persistent_refuse(&rig, create_over_project(), REFUSAL_WORKSPACE, "/p is gone");
	expect_part(rig_hear(&rig), "Files of other owners or groups may be unchangeable");
	expect_part(rig.line, "\"isError\":false");
}

Test(mcp_foreign, says_that_the_project_is_not_writable)
{
	struct ipc_changes_done done = { .request = create_over_project(),
					 .step = CHANGES_STEP_WRITE };

	persistent_changes_done(&rig, persistent_changes(&rig, done.request), &done);
	expect_part(rig_hear(&rig), "apply_changes would fail. Ask the user to chown it.");
}
