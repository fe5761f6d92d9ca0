/* SPDX-License-Identifier: Apache-2.0
 *
 * The tool checkpoint: what it asks of the supervisor, and what it says.
 */
#include <criterion/criterion.h>
#include <string.h>

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

TestSuite(mcp_checkpoint, .init = open_rig, .fini = close_rig);

static const struct ipc_checkpoint_do *ask(const char *arguments)
{
	persistent_say(&rig, "checkpoint", arguments);
	rig_hear_nothing(&rig);
	return rig_body(&rig, checkpoint_do);
}

static void expect_problem(const char *arguments, const char *part)
{
	persistent_say(&rig, "checkpoint", arguments);
	expect_part(rig_hear(&rig), "\"isError\":true");
	expect_part(rig.line, part);
	rig_take_nothing(&rig);
}

Test(mcp_checkpoint, saves)
{
	const struct ipc_checkpoint_do *wanted =
		ask("\"sandbox\":\"build\",\"action\":\"save\",\"name\":\"before\"");

	cr_assert_eq(wanted->operation, CHECKPOINT_SAVE);
	cr_assert_str_eq(wanted->sandbox, "build");
	cr_assert_str_eq(wanted->name, "before");
	cr_assert_str_eq(wanted->owner, "");
	cr_assert_eq(wanted->number, 0);
	persistent_checkpoint(&rig, wanted->request, 3, "before");
	expect_part(rig_hear(&rig), "saved as checkpoint 3 \\\"before\\\"; processes and /tmp are "
				    "not.");
	expect_part(rig.line, "checkpoint: \\\"3\\\") restores them");
	wanted = ask("\"sandbox\":\"build\",\"action\":\"save\"");
	persistent_checkpoint(&rig, wanted->request, 4, "");
	expect_part(rig_hear(&rig), "saved as checkpoint 4; ");
}

Test(mcp_checkpoint, lists)
{
	const struct ipc_checkpoint_do *wanted = ask("\"sandbox\":\"build\",\"action\":\"list\"");
	const uint64_t request = wanted->request;

	cr_assert_eq(wanted->operation, CHECKPOINT_LIST);
	persistent_checkpoint(&rig, request, 1, "");
	persistent_checkpoint(&rig, request, 2, "before\n");
	rig_hear_nothing(&rig);
	persistent_done(&rig, request);
	expect_part(rig_hear(&rig), "\"text\":\"1 · 2026-09-21T14:13:21.000Z\\n2 \\\"before \\\" · "
				    "2026-09-21T14:13:22.000Z · made on 1 · the present files are "
				    "based on it\\n[2 checkpoints · rollback or fork");
	persistent_done(&rig, ask("\"sandbox\":\"build\",\"action\":\"list\"")->request);
	expect_part(rig_hear(&rig), "\"text\":\"[no checkpoints");
}

Test(mcp_checkpoint, goes_back)
{
	const struct ipc_checkpoint_do *wanted =
		ask("\"sandbox\":\"build\",\"action\":\"rollback\",\"checkpoint\":\"2\"");

	cr_assert_eq(wanted->operation, CHECKPOINT_ROLLBACK);
	cr_assert_eq(wanted->number, 2);
	cr_assert_str_eq(wanted->of, "");
	persistent_done(&rig, wanted->request);
	expect_part(rig_hear(&rig), "The files are restored to checkpoint 2.");
	wanted = ask("\"sandbox\":\"build\",\"action\":\"rollback\",\"checkpoint\":\"before\"");
	cr_assert_eq(wanted->number, 0);
	cr_assert_str_eq(wanted->of, "before");
	persistent_refuse(&rig, wanted->request, REFUSAL_SANDBOX_BUSY, "2 executions");
	expect_part(rig_hear(&rig),
		    "The sandbox \\\"build\\\" is in use: 2 executions. Wait with read_output");
}

Test(mcp_checkpoint, forks)
{
	const struct ipc_sandbox_info info = persistent_info(OTHER_ID, "try");
	const struct ipc_checkpoint_do *wanted =
		ask("\"sandbox\":\"build\",\"action\":\"fork\",\"name\":\"try\"");

	cr_assert_eq(wanted->operation, CHECKPOINT_FORK);
	cr_assert(wanted->number == 0 && !wanted->of[0]);
	cr_assert_str_eq(wanted->name, "try");
	persistent_answer(&rig, wanted->request, &info);
	expect_part(rig_hear(&rig), "The sandbox \\\"try\\\" (id " OTHER_ID ") has the files of "
				    "\\\"build\\\"");
	wanted = ask("\"sandbox\":\"build\",\"action\":\"fork\",\"checkpoint\":\"before\"");
	cr_assert_str_eq(wanted->of, "before");
	persistent_answer(&rig, wanted->request, &info);
	expect_part(rig_hear(&rig), "has the files of checkpoint before of \\\"build\\\"");
	/* it can be run in, by its id, at once */
	persistent_say(&rig, "run_command", "\"command\":\"true\",\"sandbox\":\"" OTHER_ID "\"");
	(void)rig_take(&rig, IPC_TYPE_execution_start);
}

Test(mcp_checkpoint, forgets)
{
	const struct ipc_checkpoint_do *wanted =
		ask("\"sandbox\":\"build\",\"action\":\"delete\",\"checkpoint\":\"2\"");

	cr_assert_eq(wanted->operation, CHECKPOINT_DELETE);
	persistent_done(&rig, wanted->request);
	expect_part(rig_hear(&rig), "Checkpoint 2 is deleted");
	wanted = ask("\"sandbox\":\"build\",\"action\":\"delete\",\"checkpoint\":\"9\"");
	persistent_refuse(&rig, wanted->request, REFUSAL_CHECKPOINT_UNKNOWN, "");
	expect_part(rig_hear(&rig),
		    "There is no checkpoint \\\"9\\\" of this sandbox. Its checkpoints are: none.");
	wanted = ask("\"sandbox\":\"build\",\"action\":\"save\"");
	persistent_refuse(&rig, wanted->request, REFUSAL_CHECKPOINT_LIMIT, "64 checkpoints");
	expect_part(rig_hear(&rig),
		    "No further checkpoint can be kept: 64 checkpoints. Delete one");
}

Test(mcp_checkpoint, wrong_arguments)
{
	expect_problem("\"sandbox\":\"b\"", "needs the argument `action`");
	expect_problem("\"action\":\"list\"", "needs the argument `sandbox`");
	expect_problem("\"sandbox\":\"b\",\"action\":\"undo\"",
		       "must be one of: save, list, rollback, fork, delete.");
	expect_problem("\"sandbox\":\"b\",\"action\":\"rollback\"",
		       "needs the argument `checkpoint`");
	expect_problem("\"sandbox\":\"b\",\"action\":\"delete\"",
		       "needs the argument `checkpoint`");
	expect_problem("\"sandbox\":\"b\",\"action\":\"save\",\"checkpoint\":\"1\"",
		       "is for rollback, fork and delete");
	expect_problem("\"sandbox\":\"b\",\"action\":\"list\",\"name\":\"x\"", "for save and fork");
	expect_problem("\"sandbox\":\"b\",\"action\":\"save\",\"name\":\"12\"", "the number of a");
	expect_problem("\"sandbox\":\"b\",\"action\":\"save\",\"name\":\"a/b\"", "letters, digits");
	expect_problem("\"sandbox\":\"b\",\"action\":\"fork\",\"name\":\"" OTHER_ID "\"",
		       "looks like an id");
	expect_problem("\"sandbox\":\"b\",\"action\":\"rollback\",\"checkpoint\":\"\"",
		       "number or name");
	expect_problem("\"sandbox\":\"b\",\"action\":\"rollback\",\"checkpoint\":\"0\"",
		       "number or name");
	expect_problem("\"sandbox\":\"b\",\"action\":\"rollback\",\"checkpoint\":\"4294967296\"",
		       "number or name");
	expect_problem("\"sandbox\":\"b\",\"action\":\"rollback\",\"checkpoint\":"
		       "\"99999999999999999999\"",
		       "number or name");
	expect_problem("\"sandbox\":\"b\",\"action\":\"rollback\",\"checkpoint\":3",
		       "is a number, but must be a string");
}
