/* SPDX-License-Identifier: Apache-2.0
 *
 * Persistent sandboxes: making, listing and removing them, and runs in them.
 */
#include "mcp/core/sandboxes.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/refusal.h"
#include "common/ipc/workspace_mode.h"
#include "common/text/names.h"
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

TestSuite(mcp_sandboxes, .init = open_rig, .fini = close_rig);

static struct ipc_sandbox_info named(void)
{
	return persistent_info(BOX_ID, "build");
}

/* Refused before the supervisor hears of it, with these words. */
static void expect_problem(const char *tool, const char *arguments, const char *part)
{
	persistent_say(&rig, tool, arguments);
	expect_part(rig_hear(&rig), "\"isError\":true");
	expect_part(rig.line, part);
	rig_take_nothing(&rig);
}

static void create_named(void)
{
	const struct ipc_sandbox_info info = named();

	persistent_say(&rig, "create_sandbox", "\"name\":\"build\",\"workspace\":\"/p\"");
	persistent_answer(&rig, rig_body(&rig, sandbox_new)->request, &info);
	persistent_prepared(&rig);
	expect_part(rig_hear(&rig), "\"isError\":false");
}

/* --- create --------------------------------------------------------------------------------- */

Test(mcp_sandboxes, creates_what_was_asked_for)
{
	const struct ipc_sandbox_info info = named();
	const struct ipc_sandbox_new *wanted;

	persistent_say(&rig, "create_sandbox",
		       "\"profile\":\"strict\",\"workspace\":\"/home/user/project\","
		       "\"workspace_mode\":\"read-only\",\"name\":\"build\",\"ttl_s\":3600");
	rig_hear_nothing(&rig);
	wanted = rig_body(&rig, sandbox_new);
	cr_assert_str_eq(wanted->profile, "strict");
	cr_assert_str_eq(wanted->workspace, "/home/user/project");
	cr_assert_str_eq(wanted->name, "build");
	cr_assert_str_eq(wanted->owner, "");
	cr_assert_eq(wanted->workspace_mode, WORKSPACE_READ);
	cr_assert_eq(wanted->ttl_s, 3600);
	persistent_answer(&rig, wanted->request, &info);
	expect_part(
		rig_hear(&rig),
		"The sandbox \\\"build\\\" (id " BOX_ID
		", profile default) is created. /workspace is /home/user/project, copy-on-write");
	expect_part(rig.line,
		    "\"structuredContent\":{\"id\":\"" BOX_ID "\",\"name\":\"build\","
		    "\"profile\":\"default\",\"state\":\"cold\",\"workspace\":"
		    "\"/home/user/project\",\"workspace_mode\":\"copy-on-write\","
		    "\"checkpoints\":2,\"disk_bytes\":8192,\"created\":"
		    "\"2026-09-21T14:13:20.000Z\",\"expires\":\"2026-09-28T14:15:00.000Z\","
		    "\"next\":\"Pass `sandbox`");
}

Test(mcp_sandboxes, creates_an_empty_one_where_nothing_is_said)
{
	const struct ipc_sandbox_new *wanted;

	persistent_say(&rig, "create_sandbox", "");
	wanted = rig_body(&rig, sandbox_new);
	cr_assert_eq(wanted->workspace_mode, WORKSPACE_NONE);
	cr_assert_eq(wanted->ttl_s, 0);
	cr_assert(!wanted->profile[0] && !wanted->workspace[0] && !wanted->name[0]);
	persistent_say(&rig, "create_sandbox", "\"workspace\":\"/p\"");
	cr_assert_eq(rig_body(&rig, sandbox_new)->workspace_mode, WORKSPACE_COPY);
}

Test(mcp_sandboxes, creates_nothing_of_wrong_arguments)
{
	expect_problem("create_sandbox", "\"name\":\"\"", "is no name");
	expect_problem("create_sandbox", "\"name\":\"a b\"", "letters, digits");
	expect_problem("create_sandbox", "\"name\":\"-rf\"", "begins with a letter");
	expect_problem("create_sandbox", "\"name\":\"../x\"", "letters, digits");
	expect_problem("create_sandbox", "\"name\":\"" BOX_ID "\"", "looks like an id");
	expect_problem("create_sandbox", "\"workspace\":\"src\"", "absolute path");
	expect_problem("create_sandbox", "\"workspace\":\"\"", "absolute path");
	expect_problem("create_sandbox", "\"workspace\":\"/p\\u0000\"", "NUL");
	expect_problem("create_sandbox", "\"workspace_mode\":\"read-only\"",
		       "needs a `workspace`, which is missing");
	expect_problem("create_sandbox", "\"workspace\":\"/p\",\"workspace_mode\":\"rw\"",
		       "must be one of: copy-on-write, read-only, read-write.");
	expect_problem("create_sandbox", "\"ttl_s\":0", "from 1 to");
	expect_problem("create_sandbox", "\"profile\":\"nope\"", "must be one of");
}

static const struct {
	enum refusal reason;
	const char *detail, *part;
} refusals[] = {
	{ REFUSAL_SANDBOX_NAME, BOX_ID,
	  "A sandbox named \\\"build\\\" exists already, with the id " BOX_ID ". Use it" },
	{ REFUSAL_DISK, "20 GiB", "of it, is reached: 20 GiB. Delete" },
	{ REFUSAL_WORKSPACE, "/home/user is protected. Choose a directory beneath it.",
	  "Nothing was done. The workspace cannot be used: /home/user is protected. Choose a "
	  "directory beneath it." },
	{ REFUSAL_WORKSPACE, "/p is gone",
	  "Nothing was done. The workspace cannot be used: /p is gone." },
	{ REFUSAL_STATE, "no space", "Persistent sandboxes are not available: no space" },
	{ REFUSAL_SANDBOX_PROFILE, "strict", "The profile allows no persistent sandbox: strict." },
	{ REFUSAL_AUDIT, "full\033", "No audit record can be made: full\\\\x1b." },
	{ REFUSAL_COUNT, "", "Nothing was done. The request was refused." },
};

Test(mcp_sandboxes, refusals_say_what_helps)
{
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		persistent_say(&rig, "create_sandbox", "\"name\":\"build\"");
		persistent_refuse(&rig, rig_body(&rig, sandbox_new)->request, refusals[i].reason,
				  refusals[i].detail);
		expect_part(rig_hear(&rig), "\"isError\":true");
		expect_part(rig.line, refusals[i].part);
	}
}

/* --- list and destroy ----------------------------------------------------------------------- */

Test(mcp_sandboxes, lists_those_that_last_before_the_others)
{
	struct ipc_sandbox_info info = named();
	struct rig_workload workload;
	struct ipc_sandbox_list list;

	persistent_say(&rig, "run_command", "\"command\":\"true\",\"yield_ms\":0");
	workload = rig_start(&rig, rig_body(&rig, execution_start)->request);
	(void)rig_hear(&rig);
	info.is_live = 1;
	persistent_say(&rig, "list_sandboxes", "");
	rig_hear_nothing(&rig);
	list = persistent_answer_list(&rig, &info);
	cr_assert_str_eq(list.owner, "");
	expect_part(rig_hear(&rig),
		    "\"structuredContent\":{\"sandboxes\":[{\"kind\":\"persistent\","
		    "\"id\":\"" BOX_ID "\",\"name\":\"build\"");
	expect_part(rig.line, "\"state\":\"live\"");
	expect_part(rig.line, "\"executions\":[]},{\"id\":\"");
	expect_part(rig.line, "\"kind\":\"ephemeral\",\"profile\":\"default\"");
	expect_part(rig.line, "\"omitted\":0}");
	rig_workload_end(&workload);
}

Test(mcp_sandboxes, says_which_cannot_be_used)
{
	struct ipc_sandbox_info info = named();

	info.is_elsewhere = 1;
	persistent_say(&rig, "list_sandboxes", "");
	(void)persistent_answer_list(&rig, &info);
	expect_part(rig_hear(&rig), "\"state\":\"elsewhere\"");
	info.is_damaged = 1;
	info.created_s = UINT64_MAX;
	persistent_say(&rig, "list_sandboxes", "");
	(void)persistent_answer_list(&rig, &info);
	expect_part(rig_hear(&rig), "\"state\":\"damaged\"");
	cr_assert_null(strstr(rig.line, "\"created\""));
}

#define LISTED 103

/* Answer list_sandboxes, from this sandbox on, with LISTED sandboxes; count those in the result,
 * and mark them. */
static int list_page(int offset, bool ret_seen[LISTED])
{
	char arguments[40], id[] = BOX_ID;
	uint64_t request;
	int count = 0;

	(void)snprintf(arguments, sizeof(arguments), "\"offset\":%d", offset);
	persistent_say(&rig, "list_sandboxes", arguments);
	request = rig_body(&rig, sandbox_list)->request;
	for (int i = 0; i < LISTED; i++) {
		struct ipc_sandbox_info info;

		(void)snprintf(id + 23, 4, "%03d", i);
		info = persistent_info(id, "");
		persistent_answer(&rig, request, &info);
	}
	persistent_done(&rig, request);
	(void)rig_hear(&rig);
	for (int i = 0; i < LISTED; i++) {
		char part[64];

		(void)snprintf(id + 23, 4, "%03d", i);
		(void)snprintf(part, sizeof(part), "{\"kind\":\"persistent\",\"id\":\"%s\"", id);
		if (!strstr(rig.line, part))
			continue;
		cr_expect(!ret_seen[i], "%d is on one page", i);
		ret_seen[i] = true;
		count++;
	}
	return count;
}

Test(mcp_sandboxes, lists_many_in_pages)
{
	bool seen[LISTED] = { false };
	char next[48];
	int pages = 0;

	for (int offset = 0; offset < LISTED; pages++) {
		const int count = list_page(offset, seen);
		const char *data = strstr(rig.line, "\"structuredContent\":");

		cr_assert_gt(count, 0, "page %d at %d: %s", pages, offset, rig.line);
		cr_expect_lt(strlen(data), 10000);
		offset += count;
		(void)snprintf(next, sizeof(next), "\"omitted\":%d,\"next_offset\":%d}",
			       LISTED - offset, offset);
		expect_part(rig.line, offset < LISTED ? next : "\"omitted\":0}");
	}
	cr_assert_gt(pages, 1);
	cr_assert_eq(list_page(LISTED, seen), 0);
	expect_part(rig.line, "\"sandboxes\":[],");
}

/* A page has at least one, however large it is. */
Test(mcp_sandboxes, lists_a_large_one)
{
	struct ipc_sandbox_info info = named();

	memset(info.workspace, '"', sizeof(info.workspace) - 1);
	persistent_say(&rig, "list_sandboxes", "");
	(void)persistent_answer_list(&rig, &info);
	expect_part(rig_hear(&rig), "\"name\":\"build\"");
	expect_part(rig.line, "\"omitted\":0}");
}

Test(mcp_sandboxes, says_whose_they_are)
{
	persistent_say(&rig, "list_sandboxes", "");
	(void)persistent_answer_list(&rig, NULL);
	expect_part(rig_hear(&rig), "\"owner\":\"the user\",\"shared_with\":\"every local (stdio)");
}

Test(mcp_sandboxes, lists_what_runs_where_nothing_can_last)
{
	persistent_say(&rig, "list_sandboxes", "");
	persistent_refuse(&rig, rig_body(&rig, sandbox_list)->request, REFUSAL_STATE, "no home");
	expect_part(rig_hear(&rig), "\"structuredContent\":{\"sandboxes\":[],\"owner\":");
	persistent_say(&rig, "list_sandboxes", "");
	persistent_refuse(&rig, rig_body(&rig, sandbox_list)->request, REFUSAL_RESOURCES,
			  "no memory");
	expect_part(rig_hear(&rig), "out of resources: no memory.");
	expect_part(rig.line, "\"isError\":true");
}

Test(mcp_sandboxes, destroys_by_name)
{
	const struct ipc_sandbox_end *wanted;

	create_named();
	persistent_say(&rig, "destroy_sandbox", "\"sandbox\":\"build\"");
	wanted = rig_body(&rig, sandbox_end);
	cr_assert_str_eq(wanted->sandbox, "build");
	cr_assert_str_eq(wanted->owner, "");
	cr_assert_eq(wanted->how, SANDBOX_END_DESTROY);
	persistent_done(&rig, wanted->request);
	expect_part(rig_hear(&rig), "The sandbox \\\"build\\\" is removed");
	(void)rig_ask(&rig, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\"}");
	cr_assert_null(strstr(rig.line, BOX_ID));
	persistent_say(&rig, "destroy_sandbox", "\"sandbox\":\"build\"");
	persistent_refuse(&rig, rig_body(&rig, sandbox_end)->request, REFUSAL_SANDBOX_UNKNOWN, "");
	expect_part(rig_hear(&rig),
		    "There is no sandbox \\\"build\\\". list_sandboxes shows yours");
	expect_problem("destroy_sandbox", "", "needs the argument `sandbox`");
	expect_problem("destroy_sandbox", "\"sandbox\":\"\"", "`sandbox` is empty");
}

/* --- runs ----------------------------------------------------------------------------------- */

/* What is known by its id is run in at once; the handle is of that sandbox. */
Test(mcp_sandboxes, runs_in_one_that_is_known)
{
	struct ipc_execution_start start;
	struct rig_workload workload;

	create_named();
	persistent_say(&rig, "run_command",
		       "\"command\":\"true\",\"yield_ms\":0,\"sandbox\":\"" BOX_ID "\"");
	start = *rig_body(&rig, execution_start);
	cr_assert_str_eq(start.sandbox, BOX_ID);
	cr_assert_str_eq(start.owner, "");
	cr_assert_str_eq(start.profile, "default");
	workload = rig_start(&rig, start.request);
	expect_part(rig_hear(&rig), "handle " BOX_ID "-1 ");
	rig_workload_end(&workload);
	persistent_say(&rig, "run_code",
		       "\"language\":\"python\",\"code\":\"1\",\"yield_ms\":0,\"sandbox\":\"" BOX_ID
		       "\"");
	workload = rig_start(&rig, rig_body(&rig, code_start)->request);
	expect_part(rig_hear(&rig), "handle " BOX_ID "-2 ");
	expect_part(rig.line, "\"profile\":\"default\"");
	rig_workload_end(&workload);
}

/* By a name that is not known, the supervisor is asked. */
Test(mcp_sandboxes, runs_in_one_by_its_name)
{
	const struct ipc_sandbox_info info = named();
	struct ipc_execution_start start;

	persistent_say(
		&rig, "run_command",
		"\"command\":\"cat\",\"stdin\":\"words\",\"yield_ms\":0,\"sandbox\":\"build\"");
	(void)persistent_answer_list(&rig, &info);
	start = *rig_body(&rig, execution_start);
	cr_assert_str_eq(start.sandbox, BOX_ID);
	cr_assert_str_eq((const char *)start.argv, "cat");
	struct rig_workload workload = rig_start(&rig, start.request);
	char bytes[16] = "";

	expect_part(rig_hear(&rig), "handle " BOX_ID "-1 ");
	rig_turn(&rig);
	cr_assert_eq(read(workload.in, bytes, sizeof(bytes) - 1), 5);
	cr_assert_str_eq(bytes, "words");
	rig_workload_end(&workload);
	persistent_say(&rig, "run_code",
		       "\"language\":\"python\",\"code\":\"print(1)\",\"sandbox\":\"build\","
		       "\"profile\":\"default\"");
	(void)persistent_answer_list(&rig, &info);
	struct channel_message *message = rig_take(&rig, IPC_TYPE_code_start);

	cr_assert_str_eq(ipc_body(message, code_start)->sandbox, BOX_ID);
	cr_assert_eq(pread(message->fds[0], bytes, sizeof(bytes) - 1, 0), 8);
	channel_message_done(message);
}

/* By one that is known it says with the start which one was meant: it may be another's by now. */
Test(mcp_sandboxes, runs_in_one_by_a_name_that_is_known)
{
	static const char *const ids[] = { BOX_ID, OTHER_ID };
	static const char *const profiles[] = { "default", "strict" };

	create_named();
	for (unsigned int i = 0; i < 2; i++) {
		struct rig_workload workload;
		struct ipc_execution_start start;
		char part[128];

		persistent_say(&rig, "run_command",
			       "\"command\":\"true\",\"yield_ms\":0,\"sandbox\":\"build\"");
		start = *rig_body(&rig, execution_start);
		cr_assert_str_eq(start.sandbox, "build");
		cr_assert_str_eq(start.profile, "");
		workload = rig_start_in(&rig, start.request, ids[i], profiles[i]);
		(void)snprintf(part, sizeof(part), "handle %s-%u ", ids[i], i + 1);
		expect_part(rig_hear(&rig), part);
		(void)snprintf(part, sizeof(part), "\"profile\":\"%s\"", profiles[i]);
		expect_part(rig.line, part);
		rig_workload_end(&workload);
	}
	persistent_say(&rig, "run_command", "\"command\":\"true\",\"sandbox\":\"build\"");
	persistent_refuse(&rig, rig_body(&rig, execution_start)->request, REFUSAL_SANDBOX_UNKNOWN,
			  "");
	expect_part(rig_hear(&rig), "There is no sandbox \\\"build\\\".");
	persistent_say(&rig, "run_command", "\"command\":\"true\",\"sandbox\":\"build\"");
	(void)rig_take(&rig, IPC_TYPE_sandbox_list); /* it is known no longer */
}

/* What would be said of its profile, or of its terminal, hangs on which one it is. */
Test(mcp_sandboxes, asks_for_a_name_with_a_profile_or_a_terminal)
{
	static const char *const with[] = { "\"profile\":\"default\"", "\"tty\":true" };
	const struct ipc_sandbox_info info = named();

	create_named();
	for (unsigned int i = 0; i < 2; i++) {
		char arguments[128];

		(void)snprintf(arguments, sizeof(arguments),
			       "\"command\":\"true\",\"sandbox\":\"build\",%s", with[i]);
		persistent_say(&rig, "run_command", arguments);
		(void)persistent_answer_list(&rig, &info);
		cr_assert_str_eq(rig_body(&rig, execution_start)->sandbox, BOX_ID);
	}
}

Test(mcp_sandboxes, runs_in_none_that_is_not_there)
{
	const struct ipc_sandbox_info info = named();
	static const char words[] = "There is no sandbox \\\"" OTHER_ID
				    "\\\". list_sandboxes shows yours; create_sandbox makes one.";

	persistent_say(&rig, "run_command", "\"command\":\"true\",\"sandbox\":\"" OTHER_ID "\"");
	(void)persistent_answer_list(&rig, &info);
	expect_part(rig_hear(&rig), words);
	expect_part(rig.line, "\"isError\":true");
	rig_take_nothing(&rig);
	persistent_say(&rig, "run_command", "\"command\":\"true\",\"sandbox\":\"nope\\u001b[31m\"");
	(void)persistent_answer_list(&rig, NULL);
	expect_part(rig_hear(&rig), "no sandbox \\\"nope\\\\x1b[31m\\\"");
	/* the same words from the supervisor, who knows of a change before we do */
	create_named();
	persistent_say(&rig, "run_command", "\"command\":\"true\",\"sandbox\":\"" BOX_ID "\"");
	persistent_refuse(&rig, rig_body(&rig, execution_start)->request, REFUSAL_SANDBOX_UNKNOWN,
			  "");
	expect_part(rig_hear(&rig), "There is no sandbox \\\"" BOX_ID "\\\". list_sandboxes shows");
	expect_part(rig.line, "Nothing was run.");
	persistent_say(&rig, "run_command", "\"command\":\"true\",\"sandbox\":\"" BOX_ID "\"");
	(void)rig_take(&rig, IPC_TYPE_sandbox_list); /* it is known no longer */
}

Test(mcp_sandboxes, a_profile_is_the_sandboxs)
{
	const struct ipc_sandbox_info info = named();

	persistent_say(&rig, "run_command",
		       "\"command\":\"true\",\"profile\":\"strict\",\"sandbox\":\"build\"");
	(void)persistent_answer_list(&rig, &info);
	expect_part(rig_hear(&rig), "Nothing was run: the sandbox has the profile "
				    "\\\"default\\\", and the argument `profile` is "
				    "\\\"strict\\\".");
	rig_take_nothing(&rig);
	persistent_say(&rig, "run_code",
		       "\"language\":\"python\",\"code\":\"1\",\"profile\":\"strict\",\"sandbox\":"
		       "\"" BOX_ID "\"");
	expect_part(rig_hear(&rig), "Nothing was run:");
	rig_take_nothing(&rig);
	persistent_say(&rig, "run_command",
		       "\"command\":\"true\",\"profile\":\"default\",\"sandbox\":\"" BOX_ID "\"");
	(void)rig_take(&rig, IPC_TYPE_execution_start);
}

Test(mcp_sandboxes, a_run_that_is_cancelled_before_it_is_asked_for)
{
	const struct ipc_sandbox_info info = named();

	rig_say(&rig, "{\"jsonrpc\":\"2.0\",\"id\":\"c\",\"method\":\"tools/call\",\"params\":"
		      "{\"name\":\"run_code\",\"arguments\":{\"language\":\"python\",\"code\":"
		      "\"1\",\"sandbox\":\"build\"}}}");
	rig_say(&rig, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
		      "{\"requestId\":\"c\"}}");
	(void)persistent_answer_list(&rig, &info);
	rig_hear_nothing(&rig);
	rig_take_nothing(&rig);
}

static void finish(struct rig_workload *workload)
{
	const struct ipc_execution_done done = { .request = workload->request,
						 .verdict = VERDICT_EXITED };

	rig_workload_end(workload);
	rig_done(&rig, &done);
}

Test(mcp_sandboxes, executions_are_listed_with_their_sandbox)
{
	const struct ipc_sandbox_info info = named();
	struct rig_workload workload;

	create_named();
	for (int i = 0; i < 2; i++) {
		persistent_say(&rig, "run_command",
			       "\"command\":\"true\",\"yield_ms\":0,\"sandbox\":\"" BOX_ID "\"");
		workload = rig_start(&rig, rig_body(&rig, execution_start)->request);
		(void)rig_hear(&rig);
		finish(&workload);
	}
	persistent_say(&rig, "list_sandboxes", "");
	(void)persistent_answer_list(&rig, &info);
	expect_part(rig_hear(&rig), "\"executions\":[{\"handle\":\"" BOX_ID "-2\"");
	expect_part(rig.line, "{\"handle\":\"" BOX_ID "-1\"");
	/* destroyed by another: its logs are still there */
	persistent_say(&rig, "list_sandboxes", "");
	(void)persistent_answer_list(&rig, NULL);
	expect_part(rig_hear(&rig), "{\"sandboxes\":[{\"id\":\"" BOX_ID
				    "\",\"kind\":\"persistent\",\"profile\":\"default\",\"state\":"
				    "\"gone\",\"executions\":"
				    "[{\"handle\":\"" BOX_ID "-2\"");
	rig_say(&rig, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":"
		      "{\"uri\":\"sandbox://" BOX_ID "/log/1\"}}");
	expect_part(rig_hear(&rig), "[exit 0");
}

/* --- what goes wrong ------------------------------------------------------------------------ */

Test(mcp_sandboxes, too_many_at_once)
{
	for (unsigned int i = 0; i < REQUESTS_MAX; i++)
		persistent_say(&rig, "list_sandboxes", "");
	rig_hear_nothing(&rig);
	persistent_say(&rig, "list_sandboxes", "");
	expect_part(rig_hear(&rig), "the limit of waiting calls about sandboxes");
	for (unsigned int i = 0; i < REQUESTS_MAX; i++)
		(void)persistent_answer_list(&rig, NULL);
	for (unsigned int i = 0; i < REQUESTS_MAX; i++)
		expect_part(rig_hear(&rig), "\"sandboxes\":[]");
}

Test(mcp_sandboxes, a_supervisor_that_goes_is_told_of)
{
	persistent_say(&rig, "create_sandbox", "");
	(void)rig_take(&rig, IPC_TYPE_sandbox_new);
	fd_close(&rig.supervisor.fd);
	rig_turn(&rig);
	expect_part(rig_hear(&rig), "It is unknown whether this was done");
	cr_assert(server_is_over(rig.server));
}

/* One that answers what was not asked, or not so, is not to be trusted. */
static void expect_end(void)
{
	rig_turn(&rig);
	cr_assert(server_is_over(rig.server));
}

Test(mcp_sandboxes, an_answer_to_nothing)
{
	persistent_done(&rig, 1);
	expect_end();
}

Test(mcp_sandboxes, an_answer_to_another_question)
{
	persistent_say(&rig, "create_sandbox", "");
	persistent_done(&rig, rig_body(&rig, sandbox_new)->request);
	expect_end();
}

Test(mcp_sandboxes, an_answer_twice)
{
	const struct ipc_sandbox_info info = named();
	uint64_t request;

	persistent_say(&rig, "create_sandbox", "");
	request = rig_body(&rig, sandbox_new)->request;
	persistent_answer(&rig, request, &info);
	cr_assert(!server_is_over(rig.server));
	persistent_answer(&rig, request, &info);
	expect_end();
}

Test(mcp_sandboxes, changes_for_who_wants_none)
{
	persistent_say(&rig, "list_sandboxes", "");
	int records = persistent_changes(&rig, rig_body(&rig, sandbox_list)->request);

	expect_end();
	fd_close(&records);
}

/* The answers of a call that was given up are dropped. */
Test(mcp_sandboxes, a_cancelled_call_hears_nothing)
{
	const struct ipc_sandbox_info info = named();
	uint64_t request;

	rig_say(&rig, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":"
		      "{\"name\":\"create_sandbox\"}}");
	request = rig_body(&rig, sandbox_new)->request;
	rig_say(&rig, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
		      "{\"requestId\":7}}");
	persistent_answer(&rig, request, &info);
	rig_hear_nothing(&rig);
	cr_assert(!server_is_over(rig.server));
}
