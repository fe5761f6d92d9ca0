/* SPDX-License-Identifier: Apache-2.0
 *
 * apply_changes: who may, who is asked, in which words, in both eras; and that a word holds for
 * what was asked about, and nothing else.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asking.h"
#include "common/plan.h"
#include "persistent.h"

static struct rig rig;

static void close_rig(void)
{
	rig_close(&rig);
}

TestSuite(mcp_apply, .fini = close_rig);

/* A broker under this policy; `capabilities` of its legacy client. */
static void open_rig(enum plan_apply apply, const char *capabilities)
{
	char line[256];

	rig_open(&rig, false);
	rig.apply = apply;
	rig_welcome(&rig);
	(void)snprintf(line, sizeof(line),
		       "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"method\":\"initialize\",\"params\":"
		       "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{%s}}}",
		       capabilities);
	expect_part(rig_ask(&rig, line), "\"result\":");
}

#define CAN_ASK "\"elicitation\":{}"

static void say_apply(const char *arguments)
{
	char all[1024];

	(void)snprintf(all, sizeof(all), "\"sandbox\":\"build\"%s", arguments);
	persistent_say(&rig, "apply_changes", all);
}

static void find_sandbox(void)
{
	const struct ipc_sandbox_info info = persistent_info(BOX_ID, "build");

	(void)persistent_answer_list(&rig, &info);
}

static struct ipc_changes_start take_start(uint32_t operation, const char *chosen)
{
	struct channel_message *message = rig_take(&rig, IPC_TYPE_changes_start);
	const struct ipc_changes_start start = message->body.changes_start;

	cr_assert_eq(start.operation, operation);
	cr_assert_str_eq(start.sandbox, BOX_ID);
	cr_assert_str_eq(persistent_chosen(message), chosen);
	channel_message_done(message);
	return start;
}

/* What a preview finds. */
struct found {
	const char *path;
	uint32_t flags;
	const char *patch;
};

static const struct found plain[] = { { "main.c", 0, "@@ -1 +1 @@\n-a\n+b\n" },
				      { "notes", CHANGE_IS_BINARY, NULL },
				      { NULL, 0, NULL } };
static const struct found held[] = { { "main.c", 0, "@@ -1 +1 @@\n-a\n+b\n" },
				     { ".git/hooks/pre-commit", CHANGE_IS_HELD, NULL },
				     { NULL, 0, NULL } };
static const struct found conflict[] = { { "main.c", CHANGE_IS_CONFLICT, NULL },
					 { NULL, 0, NULL } };

static const uint8_t no_digest[IPC_DIGEST_BYTES];

/* Each byte of that of what was previewed. */
#define DIGEST 0x5a

static void preview(const struct found *found)
{
	const struct ipc_changes_start start = take_start(CHANGES_PREVIEW, "");
	struct ipc_changes_done done = { .request = start.request };
	const int records = persistent_changes(&rig, start.request);

	cr_assert_eq(start.flags, CHANGES_TEXT);
	cr_assert_arr_eq(start.expected, no_digest, sizeof(no_digest));
	memset(done.digest, DIGEST, sizeof(done.digest));
	for (; found->path; found++, done.total++)
		persistent_tell(&rig, records, CHANGE_MODIFIED, found->flags, found->path,
				found->patch);
	persistent_changes_done(&rig, records, &done);
}

/* The apply that must be asked for now. */
static struct ipc_changes_start apply(const struct found *found, bool is_held_too)
{
	const struct ipc_changes_start start = take_start(CHANGES_APPLY, "");
	struct ipc_changes_done done = { .request = start.request };
	const int records = persistent_changes(&rig, start.request);
	uint8_t digest[IPC_DIGEST_BYTES];

	cr_assert_eq(start.flags, is_held_too ? CHANGES_HELD_TOO : 0);
	memset(digest, DIGEST, sizeof(digest));
	cr_assert_arr_eq(start.expected, digest, sizeof(digest));
	for (; found->path; found++, done.total++) {
		const bool stays = (found->flags & CHANGE_IS_HELD) != 0 && !is_held_too;

		persistent_tell(&rig, records, CHANGE_MODIFIED,
				found->flags | (stays ? 0U : CHANGE_IS_APPLIED), found->path, NULL);
		done.held += stays;
		done.applied += !stays;
	}
	persistent_changes_done(&rig, records, &done);
	return start;
}

/* The id that our last question has. */
static void respond(const char *member)
{
	char id[32] = "", line[1024];
	const char *at = strstr(rig.line, "\"id\":\"msp-");

	cr_assert_not_null(at, "%s", rig.line);
	(void)sscanf(at, "\"id\":\"%31[^\"]", id);
	(void)snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",%s}", id, member);
	rig_say(&rig, line);
}

#define AGREED "\"result\":{\"action\":\"accept\",\"content\":{}}"

static void expect_refused(const char *part)
{
	expect_part(rig_hear(&rig), part);
	expect_part(rig.line, "Nothing was applied.");
	expect_part(rig.line, "`msp apply " BOX_ID "`");
	expect_part(rig.line, "\"isError\":true");
	rig_take_nothing(&rig);
}

/* --- the policy ----------------------------------------------------------------------------- */

Test(mcp_apply, a_person_has_to)
{
	open_rig(PLAN_APPLY_PERSON, CAN_ASK);
	say_apply("");
	find_sandbox();
	expect_refused("The policy lets only the user apply");
	/* to look is everybody's */
	say_apply(",\"preview\":true");
	find_sandbox();
	preview(held);
	expect_part(rig_hear(&rig), "\"text\":\" M main.c | +1 -1\\n M .git/hooks/pre-commit | 10 "
				    "-> 20 bytes [host-executed]\\n[host-executed: ");
	expect_part(rig.line, "[preview: 2 changes for /home/user/project · 1 host-executed: the "
			      "user has to agree · nothing was applied]\"");
	expect_part(rig.line, "\"isError\":false");
	rig_take_nothing(&rig);
}

Test(mcp_apply, the_user_is_asked)
{
	open_rig(PLAN_APPLY_ASK, CAN_ASK);
	say_apply("");
	find_sandbox();
	preview(plain);
	expect_part(rig_hear(&rig),
		    "\"method\":\"elicitation/create\",\"params\":{\"message\":\"The agent wants "
		    "to apply 2 changes from the sandbox \\\"build\\\" to /home/user/project:\\n M "
		    "main.c | +1 -1\\n M notes | binary, 10 -> 20 bytes\\n\\n`msp diff " BOX_ID
		    "` shows every line.\",\"requestedSchema\":{\"type\":\"object\","
		    "\"properties\":{}}}");
	rig_take_nothing(&rig);
	respond("\"result\":{\"action\":\"accept\"}"); /* a form that asks for nothing */
	find_sandbox();
	apply(plain, false);
	expect_part(rig_hear(&rig),
		    "[2 changes were applied to /home/user/project · `msp undo " BOX_ID
		    "` undoes it]\"");
	expect_part(rig.line, "\"isError\":false");
}

Test(mcp_apply, a_user_who_does_not_agree)
{
	static const char *const answers[] = { "\"result\":{\"action\":\"decline\"}",
					       "\"result\":{\"action\":\"cancel\"}",
					       "\"error\":{\"code\":-1,\"message\":\"no\"}",
					       "\"result\":{}" };

	open_rig(PLAN_APPLY_ASK, CAN_ASK);
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		say_apply("");
		find_sandbox();
		preview(plain);
		(void)rig_hear(&rig);
		respond(answers[i]);
		find_sandbox();
		expect_refused(i < 2 ? "The user did not agree." : "could not ask its user");
	}
}

Test(mcp_apply, a_client_that_cannot_ask)
{
	open_rig(PLAN_APPLY_ASK, "\"elicitation\":{\"url\":{}}");
	say_apply("");
	find_sandbox();
	expect_refused("this client cannot ask");
}

Test(mcp_apply, an_agent_may)
{
	open_rig(PLAN_APPLY_AGENT, CAN_ASK);
	say_apply("");
	find_sandbox();
	preview(plain);
	apply(plain, false);
	expect_part(rig_hear(&rig), "[2 changes were applied");
	/* but for what the host executes */
	say_apply("");
	find_sandbox();
	preview(held);
	expect_part(rig_hear(&rig), "elicitation/create");
	expect_part(rig.line, "The other changes are applied in any case");
	respond("\"result\":{\"action\":\"decline\"}");
	find_sandbox();
	apply(held, false);
	expect_part(rig_hear(&rig),
		    "[1 change was applied to /home/user/project · 1 host-executed, left out: the "
		    "user can apply them with `msp apply " BOX_ID "`");
}

Test(mcp_apply, an_agent_whose_client_cannot_ask_applies_the_rest)
{
	open_rig(PLAN_APPLY_AGENT, "");
	say_apply("");
	find_sandbox();
	preview(held);
	apply(held, false);
	expect_part(rig_hear(&rig), "1 host-executed, left out");
}

/* The supervisor's word counts, whatever we read in the plan. */
Test(mcp_apply, the_supervisor_refuses)
{
	open_rig(PLAN_APPLY_AGENT, "");
	say_apply("");
	find_sandbox();
	preview(plain);
	persistent_refuse(&rig, take_start(CHANGES_APPLY, "").request, REFUSAL_APPLY, "");
	expect_refused("The policy lets only the user apply");
}

Test(mcp_apply, a_profile_that_is_gone)
{
	struct ipc_sandbox_info info = persistent_info(BOX_ID, "build");

	open_rig(PLAN_APPLY_AGENT, CAN_ASK);
	memcpy(info.profile, "gone", 5);
	say_apply("");
	(void)persistent_answer_list(&rig, &info);
	expect_refused("The policy lets only the user apply");
}

/* --- what is held --------------------------------------------------------------------------- */

Test(mcp_apply, held_changes_go_when_the_user_says_so)
{
	static const struct {
		const char *content;
		bool goes;
	} forms[] = { { "{}", false },
		      { "{\"include_held\":false}", false },
		      { "{\"include_held\":\"true\"}", false },
		      { "{\"include_held\":true}", true } };
	char answer[256];

	open_rig(PLAN_APPLY_ASK, CAN_ASK);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		say_apply("");
		find_sandbox();
		preview(held);
		expect_part(rig_hear(&rig), "1 of them can be executed by this machine");
		expect_part(rig.line,
			    "  .git/hooks/pre-commit\\nThey are left out unless you tick");
		expect_part(rig.line, "\"properties\":{\"include_held\":{\"type\":\"boolean\","
				      "\"title\":\"Also apply files that this machine can execute "
				      "automatically\",\"default\":false}}");
		(void)snprintf(answer, sizeof(answer),
			       "\"result\":{\"action\":\"accept\",\"content\":%s}",
			       forms[i].content);
		respond(answer);
		find_sandbox();
		apply(held, forms[i].goes);
		expect_part(rig_hear(&rig),
			    forms[i].goes ? "[2 changes were" : "1 host-executed, left out");
	}
}

/* More than the question can name are not the question's to let through. */
Test(mcp_apply, held_changes_that_are_not_shown_stay)
{
	static char names[60][64];
	static struct found many[61];

	for (int i = 0; i < 60; i++) {
		(void)snprintf(names[i], sizeof(names[i]), ".github/workflows/%040d.yml", i);
		many[i] = (struct found){ names[i], CHANGE_IS_HELD, NULL };
	}
	open_rig(PLAN_APPLY_ASK, CAN_ASK);
	say_apply("");
	find_sandbox();
	preview(many);
	expect_part(rig_hear(&rig), "60 of them can be executed");
	expect_part(rig.line, "more. They are left out; `msp apply` asks about each.");
	expect_part(rig.line, "\"properties\":{}}");
	cr_assert_lt(strlen(rig.line), 6000);
	respond("\"result\":{\"action\":\"accept\",\"content\":{\"include_held\":true}}");
	find_sandbox();
	apply(many, false);
	expect_part(rig_hear(&rig), "60 host-executed, left out");
}

/* --- what a word holds for ------------------------------------------------------------------ */

/* msp-layers says that what it found is not what was previewed. */
static void find_others(void)
{
	const struct ipc_changes_start start = take_start(CHANGES_APPLY, "");
	const struct ipc_changes_done done = { .request = start.request,
					       .error = ESTALE,
					       .step = CHANGES_STEP_CONFIRMED };

	cr_assert_eq(start.expected[0], DIGEST);
	persistent_changes_done(&rig, persistent_changes(&rig, start.request), &done);
}

Test(mcp_apply, other_changes_than_those_asked_about_are_not_applied)
{
	open_rig(PLAN_APPLY_ASK, CAN_ASK);
	say_apply("");
	find_sandbox();
	preview(plain);
	(void)rig_hear(&rig);
	respond(AGREED);
	find_sandbox();
	find_others();
	expect_refused("The changes differ from the preview");
}

/* A name can be another sandbox's when the answer comes. */
Test(mcp_apply, an_answer_is_of_its_sandbox)
{
	const struct ipc_sandbox_info other = persistent_info(OTHER_ID, "build");
	struct ipc_changes_done done = { .total = 1 };
	struct channel_message *message;
	int records;

	open_rig(PLAN_APPLY_ASK, CAN_ASK);
	say_apply("");
	find_sandbox();
	preview(plain);
	(void)rig_hear(&rig);
	respond(AGREED);
	(void)persistent_answer_list(&rig, &other);
	message = rig_take(&rig, IPC_TYPE_changes_start); /* it is looked at, and no more */
	done.request = message->body.changes_start.request;
	cr_assert_eq(message->body.changes_start.operation, CHANGES_PREVIEW);
	cr_assert_str_eq(message->body.changes_start.sandbox, OTHER_ID);
	channel_message_done(message);
	records = persistent_changes(&rig, done.request);
	persistent_tell(&rig, records, CHANGE_MODIFIED, 0, "main.c", NULL);
	persistent_changes_done(&rig, records, &done);
	expect_part(rig_hear(&rig), "The answer belongs to other changes");
	rig_take_nothing(&rig);
}

Test(mcp_apply, nothing_runs_meanwhile)
{
	struct ipc_sandbox_info info = persistent_info(BOX_ID, "build");

	open_rig(PLAN_APPLY_ASK, CAN_ASK);
	info.executions = 1;
	say_apply("");
	(void)persistent_answer_list(&rig, &info);
	expect_refused("An execution in the sandbox could");
	say_apply("");
	find_sandbox();
	preview(plain);
	(void)rig_hear(&rig);
	respond(AGREED);
	(void)persistent_answer_list(&rig, &info);
	expect_refused("An execution in the sandbox could");
}

/* --- the modern era ------------------------------------------------------------------------- */

static void say_modern(const char *id, const char *more)
{
	static char line[40000];

	(void)snprintf(
		line, sizeof(line),
		"{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":"
		"{\"name\":\"apply_changes\",\"arguments\":{\"sandbox\":\"build\"}%s," META_START
			CAN_ASK META_END "}}",
		id, more);
	rig_say(&rig, line);
}

/* The member requestState of the last line. */
static const char *state(void)
{
	static char text[20000];
	const char *at = strstr(rig.line, "\"requestState\":\"");

	cr_assert_not_null(at, "%s", rig.line);
	(void)sscanf(at, "\"requestState\":\"%19999[^\"]", text);
	return text;
}

static void say_again(const char *id, const char *kept, const char *answer)
{
	static char more[30000];

	(void)snprintf(more, sizeof(more),
		       ",\"inputResponses\":{\"apply\":%s},\"requestState\":\"%s\"", answer, kept);
	say_modern(id, more);
}

Test(mcp_apply, the_modern_era_asks_by_its_result)
{
	char kept[20000];

	open_rig(PLAN_APPLY_ASK, "");
	say_modern("1", "");
	find_sandbox();
	preview(held);
	expect_part(rig_hear(&rig),
		    "\"resultType\":\"input_required\",\"inputRequests\":{\"apply\":{\"method\":"
		    "\"elicitation/create\",\"params\":{\"message\":\"The agent wants to apply 2 "
		    "changes");
	(void)strcpy(kept, state());
	say_again("2", kept, "{\"action\":\"accept\",\"content\":{\"include_held\":true}}");
	find_sandbox();
	apply(held, true);
	expect_part(rig_hear(&rig), "\"resultType\":\"complete\"");
	expect_part(rig.line, "[2 changes were applied");
	/* said again, it holds for nothing else */
	say_again("3", kept, "{\"action\":\"accept\",\"content\":{\"include_held\":true}}");
	find_sandbox();
	find_others();
	expect_refused("differ from the preview");
	say_again("4", kept, "{\"action\":\"decline\"}");
	find_sandbox();
	expect_refused("The user did not agree.");
	/* an answer without what it answers is none that we asked for */
	say_modern("5", ",\"inputResponses\":{\"apply\":{\"action\":\"accept\",\"content\":{}}}");
	find_sandbox();
	preview(plain);
	expect_refused("The answer belongs to other changes");
}

Test(mcp_apply, a_modern_client_that_cannot_ask)
{
	open_rig(PLAN_APPLY_ASK, CAN_ASK); /* the legacy handshake does not count */
	rig_say(&rig,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"apply_changes\",\"arguments\":{\"sandbox\":\"build\"}," META_START META_END
		"}}");
	find_sandbox();
	expect_refused("this client cannot ask");
}

/* --- conflicts, and what else there is ------------------------------------------------------ */

Test(mcp_apply, conflicts)
{
	static const char *const words[] = { "will keep the host's version", "will be REPLACED" };
	static const char *const choices[] = { ",\"conflict\":\"theirs\"",
					       ",\"conflict\":\"ours\"" };
	static const uint32_t conflicts[] = { CONFLICT_THEIRS, CONFLICT_OURS };

	open_rig(PLAN_APPLY_ASK, CAN_ASK);
	say_apply("");
	find_sandbox();
	preview(conflict);
	expect_part(rig_hear(&rig),
		    "[nothing was applied: 1 change in conflict with newer changes in "
		    "/home/user/project · ask the user: conflict=\\\"theirs\\\"");
	expect_part(rig.line, "\"isError\":true");
	rig_take_nothing(&rig);
	for (size_t i = 0; i < 2; i++) {
		say_apply(choices[i]);
		find_sandbox();
		preview(conflict);
		expect_part(rig_hear(&rig), words[i]);
		respond(AGREED);
		find_sandbox();
		cr_assert_eq(apply(conflict, false).conflict, conflicts[i]);
		expect_part(rig_hear(&rig), "1 change was applied");
	}
}

Test(mcp_apply, paths_and_nothing)
{
	struct ipc_changes_start start;
	struct ipc_changes_done done = { .total = 0 };
	int records;

	open_rig(PLAN_APPLY_AGENT, "");
	say_apply(",\"paths\":[\"src/\",\"b\"]");
	find_sandbox();
	start = take_start(CHANGES_PREVIEW, "src|b|");
	records = persistent_changes(&rig, start.request);
	done.request = start.request;
	persistent_changes_done(&rig, records, &done);
	expect_part(rig_hear(&rig),
		    "[nothing to apply: no chosen file differs from /home/user/project]");
	expect_part(rig.line, "\"isError\":false");
	say_apply(",\"paths\":[\"../x\"]");
	expect_part(rig_hear(&rig), "Each of `paths`");
}

Test(mcp_apply, sandboxes_without_a_copy_of_the_hosts)
{
	struct ipc_sandbox_info info = persistent_info(BOX_ID, "build");

	open_rig(PLAN_APPLY_AGENT, "");
	info.workspace_mode = WORKSPACE_WRITE;
	say_apply("");
	(void)persistent_answer_list(&rig, &info);
	expect_part(rig_hear(&rig), "which has its changes already");
	info.workspace_mode = WORKSPACE_NONE;
	say_apply("");
	(void)persistent_answer_list(&rig, &info);
	expect_part(rig_hear(&rig), "no copy of a project");
	say_apply("");
	(void)persistent_answer_list(&rig, NULL);
	expect_part(rig_hear(&rig), "There is no sandbox \\\"build\\\".");
}

Test(mcp_apply, what_fails_is_said)
{
	struct ipc_changes_done done = { .error = ENOSPC, .step = CHANGES_STEP_WRITE };
	int records;

	open_rig(PLAN_APPLY_AGENT, "");
	say_apply("");
	find_sandbox();
	preview(plain);
	done.request = take_start(CHANGES_APPLY, "").request;
	records = persistent_changes(&rig, done.request);
	persistent_changes_done(&rig, records, &done);
	expect_refused("It failed with \\\"No space left on device (ENOSPC)\\\" in changing the "
		       "host's files, which were restored.");
	done.error = EROFS;
	say_apply("");
	find_sandbox();
	preview(plain);
	done.request = take_start(CHANGES_APPLY, "").request;
	records = persistent_changes(&rig, done.request);
	persistent_changes_done(&rig, records, &done);
	expect_refused("msp apply --standalone`.");
}
