/* SPDX-License-Identifier: Apache-2.0
 *
 * preview_changes, and what an apply shares with it: chosen paths, the digest, changes that are
 * never applied.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "applying.h"
#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/workspace_mode.h"

TestSuite(mcp_preview, .fini = applying_close);

static const struct found conflict[] = { { "main.c", CHANGE_IS_CONFLICT, NULL },
					 { NULL, 0, NULL } };

/* What a preview of these paths finds. */
static void preview_paths(const char *chosen, const char *path)
{
	const struct ipc_changes_start start = applying_take(CHANGES_PREVIEW, chosen);
	struct ipc_changes_done done = { .request = start.request, .total = path != NULL };
	const int records = persistent_changes(&applying_rig, start.request);

	if (path)
		persistent_tell(&applying_rig, records, CHANGE_MODIFIED, 0, path, NULL);
	persistent_changes_done(&applying_rig, records, &done);
}

Test(mcp_preview, paths_and_nothing)
{
	static const struct found never[] = { { "fifo", CHANGE_IS_REFUSED, NULL },
					      { NULL, 0, NULL } };

	applying_open(PLAN_APPLY_AGENT, "");
	applying_say("");
	applying_find();
	preview_paths("", NULL);
	expect_part(rig_hear(&applying_rig),
		    "[nothing to apply: no file differs from /home/user/project]");
	expect_part(applying_rig.line, "\"isError\":false");
	applying_say("");
	applying_find();
	applying_preview(never);
	expect_part(rig_hear(&applying_rig), "project but for changes that are never applied]");
	rig_take_nothing(&applying_rig);
	applying_say(",\"paths\":[\"../x\"]");
	expect_part(rig_hear(&applying_rig), "but each path must be");
	applying_say_preview(",\"paths\":[\"../x\"]");
	expect_part(rig_hear(&applying_rig), "but each path must be");
}

/* A path at which nothing changed is named, by a preview and by an apply. */
Test(mcp_preview, a_path_without_a_change)
{
	static const struct {
		const char *argument, *chosen, *change, *problem;
	} rows[] = {
		{ "[\"src/\",\"b\"]", "src|b|", "src/main.c", "no change at \\\"b\\\": mistyped" },
		{ "[\"src/mian.c\"]", "src/mian.c|", NULL, "no change at \\\"src/mian.c\\\":" },
		{ "[\"src/main\"]", "src/main|", "src/main.c", "no change at \\\"src/main\\\":" },
		{ "[\"b\",\"a\",\"c\"]", "b|a|c|", NULL, "at \\\"a\\\" and 2 more of `paths`:" },
	};

	applying_open(PLAN_APPLY_ASK, CAN_ASK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char argument[128];

		(void)snprintf(argument, sizeof(argument), ",\"paths\":%s", rows[i].argument);
		applying_say(argument);
		applying_find();
		preview_paths(rows[i].chosen, rows[i].change);
		applying_refused(rows[i].problem);
		applying_say_preview(argument);
		applying_find();
		preview_paths(rows[i].chosen, rows[i].change);
		expect_part(rig_hear(&applying_rig), rows[i].problem);
		expect_part(applying_rig.line, "\"isError\":true");
	}
	/* the control: the directory, the file, each of them twice */
	applying_say_preview(",\"paths\":[\"src/\",\"/workspace/src/main.c\",\"./src\",\"src\"]");
	applying_find();
	preview_paths("src|src/main.c|src|src|", "src/main.c");
	expect_part(rig_hear(&applying_rig),
		    "[preview: 1 change for /home/user/project · digest "
		    "00000000000000000000000000000000 · nothing was applied · "
		    "apply_changes asks the user]");
	expect_part(applying_rig.line, "\"isError\":false");
}

Test(mcp_preview, a_digest_binds_an_apply_to_a_preview)
{
	applying_open(PLAN_APPLY_AGENT, "");
	applying_say(",\"digest\":\"" SHOWN_DIGEST "\"");
	applying_find();
	applying_preview(applying_plain);
	applying_apply(applying_plain, false);
	expect_part(rig_hear(&applying_rig), "[2 changes were applied");
	applying_say(",\"digest\":\"00000000000000000000000000000000\"");
	applying_find();
	applying_preview(applying_plain);
	applying_refused("The changes are not those of this `digest`");
	applying_say(",\"digest\":\"5a\"");
	applying_find();
	applying_preview(applying_plain);
	applying_refused("The changes are not those of this `digest`");
}

/* A preview judges by the policy, and neither asks nor applies. */
Test(mcp_preview, previews)
{
	struct ipc_sandbox_info info = persistent_info(BOX_ID, "build");
	struct ipc_changes_done failed = { .error = EIO, .step = CHANGES_STEP_READ };

	applying_open(PLAN_APPLY_AGENT, CAN_ASK);
	applying_say_preview("");
	applying_find();
	applying_preview(conflict);
	expect_part(rig_hear(&applying_rig),
		    "[preview: 1 change for /home/user/project · 1 in conflict: see "
		    "`conflict` · digest " SHOWN_DIGEST " · nothing was applied]\"");
	rig_take_nothing(&applying_rig);
	info.workspace_mode = WORKSPACE_WRITE;
	applying_say_preview("");
	(void)persistent_answer_list(&applying_rig, &info);
	expect_part(rig_hear(&applying_rig), "which has its changes already");
	expect_part(applying_rig.line, "\"isError\":true");
	applying_say_preview("");
	applying_find();
	failed.request = applying_take(CHANGES_PREVIEW, "").request;
	persistent_changes_done(&applying_rig, persistent_changes(&applying_rig, failed.request),
				&failed);
	expect_part(rig_hear(&applying_rig), "It failed with");
	expect_part(applying_rig.line, "\"isError\":true");
}
