/* SPDX-License-Identifier: Apache-2.0
 *
 * diff_changes and the resource sandbox://ID/diff: what is asked of the supervisor, what is shown
 * of the answer, and that what a workload wrote is only shown.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/refusal.h"
#include "common/text/names.h"
#include "executions/requests.h"
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

TestSuite(mcp_changes, .init = open_rig, .fini = close_rig);

/* What is asked for, without its descriptor. */
static struct ipc_changes_start take_start(const char *chosen)
{
	struct channel_message *message = rig_take(&rig, IPC_TYPE_changes_start);
	struct ipc_changes_start start = *ipc_body(message, changes_start);

	cr_assert_str_eq(persistent_chosen(message), chosen);
	channel_message_done(message);
	cr_assert(start.flags & CHANGES_UMASK);
	start.flags &= ~(CHANGES_UMASK | CHANGES_UMASK_BITS);
	return start;
}

/* A diff is asked for; the end of the pipe for its records. */
static int begin(const char *arguments, uint64_t *ret_request)
{
	char all[4096];

	(void)snprintf(all, sizeof(all), "\"sandbox\":\"build\"%s", arguments);
	persistent_say(&rig, "diff_changes", all);
	*ret_request = take_start("").request;
	return persistent_changes(&rig, *ret_request);
}

static const char *end(int records, uint64_t request, uint64_t total)
{
	const struct ipc_changes_done done = { .request = request, .total = total };

	persistent_changes_done(&rig, records, &done);
	return rig_hear(&rig);
}

static void expect_problem(const char *arguments, const char *part)
{
	persistent_say(&rig, "diff_changes", arguments);
	expect_part(rig_hear(&rig), "\"isError\":true");
	expect_part(rig.line, part);
	rig_take_nothing(&rig);
}

#define PATCH                                                                                      \
	"diff --git a/main.c b/main.c\n--- a/main.c\n+++ b/main.c\n@@ -1,2 +1,3 @@\n-old\n+new\n"  \
	"+newer\n same\n"

Test(mcp_changes, what_is_asked_for)
{
	struct ipc_changes_start start;

	persistent_say(&rig, "diff_changes", "\"sandbox\":\"build\"");
	start = take_start("");
	cr_assert_eq(start.operation, CHANGES_DIFF);
	cr_assert_eq(start.flags, CHANGES_TEXT);
	cr_assert_eq(start.skip, 0);
	cr_assert_eq(start.most, 100);
	cr_assert_str_eq(start.sandbox, "build");
	cr_assert_str_eq(start.owner, "");
	persistent_say(&rig, "diff_changes",
		       "\"sandbox\":\"build\",\"paths\":[\"src\",\"./a "
		       "b/\",\"/workspace/x/y\",\"\\u00e9\"],"
		       "\"since\":\"7\",\"text\":false,\"offset\":20,\"limit\":5");
	start = take_start("src|a b|x/y|\u00e9|");
	cr_assert_eq(start.flags, CHANGES_FROM_CHECKPOINT);
	cr_assert_eq(start.number, 7);
	cr_assert_eq(start.skip, 20);
	cr_assert_eq(start.most, 5);
}

Test(mcp_changes, a_list_then_the_diffs)
{
	uint64_t request;
	int records = begin("", &request);

	persistent_tell(&rig, records, CHANGE_MODIFIED, 0, "main.c", PATCH);
	persistent_tell(&rig, records, CHANGE_ADDED, CHANGE_IS_BINARY, "logo.png", NULL);
	persistent_tell(&rig, records, CHANGE_ADDED, CHANGE_IS_DIRECTORY, "src", NULL);
	persistent_tell(&rig, records, CHANGE_RENAMED, 0, "new1", NULL);
	persistent_tell(&rig, records, CHANGE_MODE, 0, "run.sh", NULL);
	persistent_tell(&rig, records, CHANGE_DELETED, 0, "gone", NULL);
	persistent_tell(&rig, records, CHANGE_MODIFIED, CHANGE_IS_HELD | CHANGE_IS_CONFLICT,
			".git/hooks/pre-commit", NULL);
	rig_hear_nothing(&rig);
	expect_part(end(records, request, 7),
		    "\"text\":\" M main.c | +2 -1\\n A logo.png | binary, 20 bytes\\n A src/\\n R "
		    "old1 => new1 | 10 -> 20 bytes\\n M run.sh (mode 100644 -> 100755) | 10 -> 20 "
		    "bytes\\n D gone | 10 bytes before\\n M .git/hooks/pre-commit | 10 -> 20 bytes "
		    "[conflict] [host-executed]\\n[conflict: the host's file");
	expect_part(rig.line, "\\n\\ndiff --git a/main.c b/main.c\\n--- a/main.c\\n+++ b/main.c\\n"
			      "@@ -1,2 +1,3 @@\\n-old\\n+new\\n+newer\\n same\\n"
			      "[7 changes against the project on the host]\"");
	expect_part(rig.line, "\"isError\":false");
	cr_assert_null(strstr(rig.line, "structuredContent"));
}

Test(mcp_changes, nothing_changed)
{
	uint64_t request;
	int records = begin("", &request);

	expect_part(end(records, request, 0),
		    "\"text\":\"[no file differs from the project on the host]\"");
	records = begin(",\"offset\":9", &request);
	expect_part(end(records, request, 4), "[there are only 4 changes against");
}

/* The end of the records may be seen before or after the supervisor's word. */
Test(mcp_changes, the_word_comes_before_the_records)
{
	uint64_t request;
	int records = begin("", &request);
	const struct ipc_changes_done done = { .request = request, .total = 1 };

	rig_send(&rig, IPC_TYPE_changes_done, &done, NULL);
	rig_hear_nothing(&rig);
	persistent_tell(&rig, records, CHANGE_MODIFIED, 0, "late", NULL);
	rig_hear_nothing(&rig);
	fd_close(&records);
	expect_part(rig_hear(&rig), " M late");
}

Test(mcp_changes, pages)
{
	char patch[4096], name[16];
	uint64_t request;
	int records = begin("", &request);

	memset(patch, 'x', sizeof(patch));
	memcpy(patch, "@@ -0,0 +1 @@\n+", 15);
	patch[sizeof(patch) - 2] = '\n';
	patch[sizeof(patch) - 1] = '\0';
	for (int i = 0; i < 4; i++) {
		(void)snprintf(name, sizeof(name), "file%d", i);
		persistent_tell(&rig, records, CHANGE_ADDED, 0, name, patch);
	}
	expect_part(end(records, request, 340), "[changes 1 to 2 of 340 against the project on the "
						"host · more: offset=2 · text=false lists more");
	expect_part(rig.line, " A file1");
	cr_assert_null(strstr(rig.line, "file2"));
	cr_assert_lt(strlen(rig.line), 10000);
	records = begin(",\"offset\":338,\"text\":false", &request);
	persistent_tell(&rig, records, CHANGE_ADDED, 0, "a", NULL);
	persistent_tell(&rig, records, CHANGE_ADDED, 0, "b", NULL);
	expect_part(end(records, request, 340), "[changes 339 to 340 of 340 against the project on "
						"the host]");
}

/* One diff that does not fit is cut at a line; the next page begins behind it. */
Test(mcp_changes, a_diff_that_is_too_long_is_cut)
{
	static char patch[40001];
	uint64_t request;
	int records = begin("", &request);

	for (size_t i = 0; i < 40000; i += 10)
		memcpy(patch + i, "+23456789\n", 10);
	memcpy(patch, "@@ -0 +1@\n", 10);
	persistent_tell(&rig, records, CHANGE_ADDED, 0, "long", patch);
	persistent_tell(&rig, records, CHANGE_ADDED, 0, "next", NULL);
	expect_part(end(records, request, 2), " A long | +3999 -0\\n\\n@@ -0");
	expect_part(rig.line, "+23456789\\n[30");
	expect_part(rig.line, "bytes more of this diff]\\n[changes 1 to 1 of 2");
	expect_part(rig.line, "more: offset=1");
	cr_assert_lt(strlen(rig.line), 12000);
}

Test(mcp_changes, what_a_workload_wrote_is_only_shown)
{
	uint64_t request;
	int records = begin("", &request);

	persistent_tell(&rig, records, CHANGE_ADDED, 0, "a\nM fake | +0 -0", NULL);
	persistent_tell(&rig, records, CHANGE_ADDED, 0, "\xff\033[2J\"\\\t", NULL);
	persistent_tell(&rig, records, CHANGE_ADDED, 0,
			"cod\xe2\x80\xae"
			"txt.exe",
			NULL);
	persistent_tell(&rig, records, CHANGE_ADDED, 0, "\xc3\xa9t\xc3\xa9",
			"@@\n+\033]0;x\007\xfe\n");
	expect_part(
		end(records, request, 4),
		" A \\\"a\\\\nM fake | +0 -0\\\" | 20 bytes\\n"
		" A \\\"\\\\377\\\\033[2J\\\\\\\"\\\\\\\\\\\\t\\\" | 20 bytes\\n"
		" A \\\"cod\\\\342\\\\200\\\\256txt.exe\\\" | 20 bytes\\n A \xc3\xa9t\xc3\xa9 | +1 "
		"-0\\n");
	expect_part(rig.line, "+\\\\x1b]0;x\\\\x07\\\\xfe\\n");
}

Test(mcp_changes, since_a_name)
{
	struct ipc_checkpoint_do list;
	struct ipc_changes_start start;
	const struct ipc_changes_done none = { .total = 0 };
	struct ipc_changes_done done = none;
	int records;

	persistent_say(&rig, "diff_changes", "\"sandbox\":\"build\",\"since\":\"before\"");
	list = *rig_body(&rig, checkpoint_do);
	cr_assert_eq(list.operation, CHECKPOINT_LIST);
	cr_assert_str_eq(list.sandbox, "build");
	persistent_checkpoint(&rig, list.request, 1, "");
	persistent_checkpoint(&rig, list.request, 2, "before");
	persistent_done(&rig, list.request);
	start = take_start("");
	cr_assert_eq(start.number, 2);
	records = persistent_changes(&rig, start.request);
	done.request = start.request;
	persistent_changes_done(&rig, records, &done);
	expect_part(rig_hear(&rig), "[no file differs from checkpoint before]");
	persistent_say(&rig, "diff_changes", "\"sandbox\":\"build\",\"since\":\"after\"");
	list = *rig_body(&rig, checkpoint_do);
	persistent_checkpoint(&rig, list.request, 1, "");
	persistent_checkpoint(&rig, list.request, 2, "before");
	persistent_done(&rig, list.request);
	expect_part(
		rig_hear(&rig),
		"no checkpoint \\\"after\\\" of this sandbox. Its checkpoints are: 1, 2 before.");
	rig_take_nothing(&rig);
}

Test(mcp_changes, wrong_arguments)
{
	static const char *const paths[] = { "",      "/etc",       "..",    "a/../b", "a//b",
					     "./../", "/workspace", "a/./b", "/",      "." };
	char arguments[128];

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		(void)snprintf(arguments, sizeof(arguments),
			       "\"sandbox\":\"b\",\"paths\":[\"a\",\"%s\"]", paths[i]);
		expect_problem(arguments, "but each path must be");
	}
	expect_problem("\"sandbox\":\"b\",\"paths\":[]", "`paths` is empty");
	expect_problem("\"sandbox\":\"b\",\"paths\":[\"a\\u0000\"]", "NUL");
	expect_problem("\"sandbox\":\"b\",\"limit\":1001", "from 1 to 1000");
	expect_problem("\"sandbox\":\"b\",\"since\":\"\"", "number or name");
	expect_problem("\"sandbox\":\"b\",\"text\":\"no\"", "must be true or false");
}

Test(mcp_changes, what_fails_is_said)
{
	uint64_t request;
	int records = begin("", &request);
	struct ipc_changes_done done = { .request = request,
					 .error = EIO,
					 .step = CHANGES_STEP_READ };

	persistent_tell(&rig, records, CHANGE_ADDED, 0, "seen", NULL);
	persistent_changes_done(&rig, records, &done);
	expect_part(rig_hear(&rig),
		    " A seen | 20 bytes\\nIt failed with \\\"Input/output error (EIO)\\\" "
		    "in reading the sandbox's or the host's files.");
	expect_part(rig.line, "\"isError\":true");
	records = begin("", &request);
	cr_assert_eq(fd_write_all(records, "no record", 9), 0);
	expect_part(end(records, request, 1), "is incomplete");
	expect_part(rig.line, "\"isError\":true");
	/* no pipe at all */
	persistent_say(&rig, "diff_changes", "\"sandbox\":\"build\"");
	done = (struct ipc_changes_done){ .request = take_start("").request, .error = ENOENT };
	rig_send(&rig, IPC_TYPE_changes_done, &done, NULL);
	expect_part(rig_hear(&rig), "No such file or directory");
	persistent_say(&rig, "diff_changes", "\"sandbox\":\"build\"");
	persistent_refuse(&rig, take_start("").request, REFUSAL_SANDBOX_ELSEWHERE, "");
	expect_part(rig_hear(&rig), "\\\"build\\\" is in use by another msp of this user.");
}

/* Whoever writes sees that nobody reads. */
Test(mcp_changes, a_cancelled_diff_closes_its_pipe)
{
	uint64_t request;
	struct ipc_changes_done done;
	int records;

	rig_say(&rig, "{\"jsonrpc\":\"2.0\",\"id\":\"c\",\"method\":\"tools/call\",\"params\":"
		      "{\"name\":\"diff_changes\",\"arguments\":{\"sandbox\":\"build\"}}}");
	request = take_start("").request;
	records = persistent_changes(&rig, request);
	rig_say(&rig, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
		      "{\"requestId\":\"c\"}}");
	cr_assert_eq(write(records, "x", 1), -1);
	cr_assert_eq(errno, EPIPE);
	done = (struct ipc_changes_done){ .request = request, .error = EPIPE };
	persistent_changes_done(&rig, records, &done);
	rig_hear_nothing(&rig);
	cr_assert(!server_is_over(rig.server));
}

Test(mcp_changes, so_many_at_once)
{
	uint64_t requests[REQUESTS_CHANGES_MAX];
	int records[REQUESTS_CHANGES_MAX];

	for (size_t i = 0; i < REQUESTS_CHANGES_MAX; i++)
		records[i] = begin("", &requests[i]);
	persistent_say(&rig, "diff_changes", "\"sandbox\":\"build\"");
	expect_part(rig_hear(&rig), "the limit of waiting calls about sandboxes");
	for (size_t i = 0; i < REQUESTS_CHANGES_MAX; i++)
		(void)end(records[i], requests[i], 0);
}

/* --- the resource --------------------------------------------------------------------------- */

#define DIFF_URI "sandbox://" BOX_ID "/diff"

static void say_read(const char *uri)
{
	char line[256];

	(void)snprintf(line, sizeof(line),
		       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":"
		       "{\"uri\":\"%s\"}}",
		       uri);
	rig_say(&rig, line);
}

static void learn(void)
{
	const struct ipc_sandbox_info info = persistent_info(BOX_ID, "build");

	persistent_say(&rig, "list_sandboxes", "");
	(void)persistent_answer_list(&rig, &info);
	(void)rig_hear(&rig);
}

Test(mcp_changes, the_resource)
{
	const struct ipc_sandbox_info info = persistent_info(BOX_ID, "build");
	struct ipc_changes_start start;
	struct ipc_changes_done done = { .total = 1 };
	int records;

	say_read(DIFF_URI); /* not heard of yet */
	(void)persistent_answer_list(&rig, &info);
	start = take_start("");
	cr_assert_eq(start.operation, CHANGES_DIFF);
	cr_assert_eq(start.flags, CHANGES_TEXT);
	cr_assert_str_eq(start.sandbox, BOX_ID);
	records = persistent_changes(&rig, start.request);
	persistent_tell(&rig, records, CHANGE_MODIFIED, 0, "main.c", PATCH);
	done.request = start.request;
	persistent_changes_done(&rig, records, &done);
	expect_part(rig_hear(&rig),
		    "{\"uri\":\"" DIFF_URI "\",\"mimeType\":\"text/plain\",\"text\":"
		    "\" M main.c | +2 -1\\n\\ndiff --git");
	expect_part(rig.line, "[1 change]\\n\"");
	(void)rig_ask(&rig, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\"}");
	expect_part(rig.line, "{\"uri\":\"" DIFF_URI "\",\"name\":\"build/diff\",\"title\":"
			      "\"Changes of the sandbox build\"");
}

Test(mcp_changes, a_resource_that_is_not_there)
{
	say_read(DIFF_URI);
	(void)persistent_answer_list(&rig, NULL);
	expect_part(rig_hear(&rig), "\"code\":-32002,\"message\":\"Resource not found: " DIFF_URI);
	say_read("sandbox://build/diff"); /* by the id only */
	expect_part(rig_hear(&rig), "\"code\":-32002,\"message\":\"Resource not found: ");
	rig_take_nothing(&rig);
	say_read(DIFF_URI);
	persistent_refuse(&rig, rig_body(&rig, sandbox_list)->request, REFUSAL_RESOURCES,
			  "no memory");
	expect_part(
		rig_hear(&rig),
		"\"code\":-32600,\"message\":\"Nothing was done. The machine is out of resources");
}

static void expect_update(void)
{
	expect_part(rig_hear_late(&rig),
		    "\"method\":\"notifications/resources/updated\",\"params\":"
		    "{\"uri\":\"" DIFF_URI "\"}");
}

Test(mcp_changes, who_subscribed_is_told)
{
	static const char subscribe[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/subscribe\",\"params\":"
		"{\"uri\":\"" DIFF_URI "\"}}";
	struct ipc_execution_done done = { .verdict = VERDICT_EXITED };
	struct rig_workload workload;

	expect_part(rig_ask(&rig, subscribe), "\"code\":-32002"); /* not known to be the asker's */
	learn();
	expect_part(rig_ask(&rig, subscribe), "\"result\":{}");
	persistent_say(&rig, "run_command",
		       "\"command\":\"true\",\"yield_ms\":0,\"sandbox\":\"" BOX_ID "\"");
	workload = rig_start(&rig, rig_body(&rig, execution_start)->request);
	expect_part(rig_hear(&rig), "handle");
	done.request = workload.request;
	rig_workload_end(&workload);
	rig_done(&rig, &done);
	expect_update();
	persistent_say(&rig, "checkpoint",
		       "\"sandbox\":\"build\",\"action\":\"rollback\",\"checkpoint\":\"1\"");
	persistent_done(&rig, rig_body(&rig, checkpoint_do)->request);
	expect_part(rig_hear(&rig), "restored to checkpoint");
	expect_update();
	persistent_say(&rig, "destroy_sandbox", "\"sandbox\":\"" BOX_ID "\"");
	persistent_done(&rig, rig_body(&rig, sandbox_end)->request);
	expect_part(rig_hear(&rig), "is removed");
	expect_update();
}

Test(mcp_changes, completion_offers_what_is_known)
{
	learn();
	expect_part(rig_ask(&rig,
			    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"completion/complete\","
			    "\"params\":{\"ref\":{\"type\":\"ref/resource\",\"uri\":"
			    "\"sandbox://{id}/diff\"},\"argument\":{\"name\":\"id\",\"value\":"
			    "\"0\"}}}"),
		    "\"values\":[\"" BOX_ID "\"]");
}
