/* SPDX-License-Identifier: Apache-2.0
 *
 * create_sandbox at the limit: which sandboxes are tried, in which order, and the results.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/ipc/ipc_persistent.h"
#include "common/ipc/refusal.h"
#include "persistent.h"

static struct rig rig;

static void open_rig(void)
{
	rig_open(&rig, false);
	rig_welcome(&rig);
	(void)rig_ask(&rig,
		      "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"method\":\"initialize\",\"params\":"
		      "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}}");
}

static void close_rig(void)
{
	rig_close(&rig);
}

TestSuite(mcp_room, .init = open_rig, .fini = close_rig);

/* A cold sandbox, unused for so long; its id ends with `number`. */
static struct ipc_sandbox_info unused(unsigned int number, const char *name, uint64_t seconds)
{
	struct ipc_sandbox_info info = persistent_info(BOX_ID, name);

	(void)snprintf(info.id, sizeof(info.id), "%026u", number);
	info.checkpoints = 0;
	info.is_live = 0;
	info.used_s = (uint64_t)time(NULL) - seconds;
	return info;
}

static void refuse_new(void)
{
	const struct ipc_sandbox_new *wanted = rig_body(&rig, sandbox_new);

	cr_assert_str_eq(wanted->name, "build");
	persistent_refuse(&rig, wanted->request, REFUSAL_SANDBOXES, "64 of 64 sandboxes");
}

/* Answer the list of the client's sandboxes. */
static void answer_list(const struct ipc_sandbox_info *infos, size_t count)
{
	const struct ipc_sandbox_list list = *rig_body(&rig, sandbox_list);

	cr_assert_eq(list.is_everybody, 0);
	cr_assert_str_eq(list.sandbox, "");
	for (size_t i = 0; i < count; i++)
		persistent_answer(&rig, list.request, &infos[i]);
	persistent_done(&rig, list.request);
}

/* Take the attempt to remove this sandbox if it has no files. */
static uint64_t take_attempt(unsigned int number)
{
	const struct ipc_sandbox_end *wanted = rig_body(&rig, sandbox_end);
	char id[IPC_ID_MAX];

	(void)snprintf(id, sizeof(id), "%026u", number);
	cr_assert_eq(wanted->how, SANDBOX_END_EMPTY);
	cr_assert_str_eq(wanted->sandbox, id);
	return wanted->request;
}

Test(mcp_room, the_longest_unused_without_files_goes)
{
	struct ipc_sandbox_info infos[] = {
		unused(1, "one", 700),   unused(2, "two", 7200),    unused(3, "three", 90000),
		unused(4, "live", 9e6),  unused(5, "runs", 9e6),    unused(6, "saved", 9e6),
		unused(7, "other", 9e6), unused(8, "damaged", 9e6), unused(9, "young", 300),
	};
	const struct ipc_sandbox_info made = persistent_info(BOX_ID, "build");

	infos[3].is_live = 1;
	infos[4].executions = 1;
	infos[5].checkpoints = 1;
	infos[6].is_elsewhere = 1;
	infos[7].is_damaged = 1;
	persistent_say(&rig, "create_sandbox", "\"name\":\"build\"");
	refuse_new();
	answer_list(infos, sizeof(infos) / sizeof(infos[0]));
	persistent_refuse(&rig, take_attempt(3), REFUSAL_SANDBOX_BUSY, "it has files");
	persistent_done(&rig, take_attempt(2));
	persistent_answer(&rig, rig_body(&rig, sandbox_new)->request, &made);
	expect_part(rig_hear(&rig), "The sandbox \\\"build\\\" (id " BOX_ID);
	expect_part(rig.line, "To make room, your sandbox \\\"two\\\" was removed: it had no files "
			      "and was unused for 2 h.");
	expect_part(rig.line, "\"removed\":\"00000000000000000000000002\"");
	expect_part(rig.line, "\"isError\":false");
}

Test(mcp_room, the_error_names_the_longest_unused)
{
	struct ipc_sandbox_info infos[] = { unused(1, "", 60), unused(2, "live", 7200) };

	infos[1].is_live = 1;
	persistent_say(&rig, "create_sandbox", "\"name\":\"build\"");
	refuse_new();
	answer_list(infos, 2);
	expect_part(
		rig_hear(&rig),
		"Nothing was created. The limit of sandboxes, or this client's share of it, is "
		"reached: 64 of 64 sandboxes. Remove one with destroy_sandbox, and call again. "
		"Unused for longest is \\\"00000000000000000000000001\\\"; the user can remove it "
		"with `msp destroy 00000000000000000000000001`.");
	expect_part(rig.line, "\"isError\":true");
	rig_take_nothing(&rig);
	/* without a sandbox of its own there is none to name */
	persistent_say(&rig, "create_sandbox", "\"name\":\"build\"");
	refuse_new();
	answer_list(infos, 0);
	expect_part(rig_hear(&rig), "and call again.\"");
	rig_take_nothing(&rig);
}

Test(mcp_room, sandboxes_with_files_stay)
{
	const struct ipc_sandbox_info infos[] = { unused(1, "one", 7200), unused(2, "two", 700) };

	persistent_say(&rig, "create_sandbox", "\"name\":\"build\"");
	refuse_new();
	answer_list(infos, 2);
	persistent_refuse(&rig, take_attempt(1), REFUSAL_SANDBOX_BUSY, "it has files");
	persistent_refuse(&rig, take_attempt(2), REFUSAL_SANDBOX_UNKNOWN, "");
	expect_part(rig_hear(&rig), "Unused for longest is \\\"one\\\"");
	rig_take_nothing(&rig);
}

/* Another client was faster: one sandbox goes for each call, and the result says so. */
Test(mcp_room, one_goes_at_most)
{
	const struct ipc_sandbox_info infos[] = { unused(1, "one", 7200), unused(2, "two", 700) };

	persistent_say(&rig, "create_sandbox", "\"name\":\"build\"");
	refuse_new();
	answer_list(infos, 2);
	persistent_done(&rig, take_attempt(1));
	refuse_new();
	expect_part(rig_hear(&rig), "is reached: 64 of 64 sandboxes");
	expect_part(rig.line, "your sandbox \\\"one\\\" was removed");
	cr_assert_null(strstr(rig.line, "Unused for longest"));
	rig_take_nothing(&rig);
}

/* A table that is full keeps the longest unused. */
Test(mcp_room, more_than_are_tried)
{
	struct ipc_sandbox_info infos[70];

	for (unsigned int i = 0; i < 70; i++)
		infos[i] = unused(i, "", 700 + 60 * i);
	persistent_say(&rig, "create_sandbox", "\"name\":\"build\"");
	refuse_new();
	answer_list(infos, 70);
	for (unsigned int i = 0; i < 64; i++)
		persistent_refuse(&rig, take_attempt(69 - i), REFUSAL_SANDBOX_BUSY, "it has files");
	expect_part(rig_hear(&rig), "Unused for longest is \\\"00000000000000000000000069\\\"");
}
