/* SPDX-License-Identifier: Apache-2.0
 *
 * apply_changes: who may, who is asked, in both eras; and that an answer holds for the changes of
 * its question, and for nothing else.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "applying.h"
#include "asking.h"
#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/refusal.h"
#include "common/ipc/workspace_mode.h"

TestSuite(mcp_apply, .fini = applying_close);

/* --- the policy ----------------------------------------------------------------------------- */

Test(mcp_apply, a_person_has_to)
{
	applying_open(PLAN_APPLY_PERSON, CAN_ASK);
	applying_say("");
	applying_find();
	applying_refused("The policy lets only the user apply");
	/* to look is everybody's */
	applying_say_preview("");
	applying_find();
	applying_preview(applying_held);
	expect_part(rig_hear(&applying_rig),
		    "\"text\":\" M main.c | +1 -1\\n M .git/hooks/pre-commit | 10 "
		    "-> 20 bytes [host-executed]\\n[host-executed: ");
	expect_part(applying_rig.line,
		    "[preview: 2 changes for /home/user/project · 1 held: need the "
		    "user's consent · digest " SHOWN_DIGEST
		    " · nothing was applied · only the user can apply: `msp apply " BOX_ID "`]\"");
	expect_part(applying_rig.line, "\"isError\":false");
	rig_take_nothing(&applying_rig);
}

Test(mcp_apply, a_client_that_cannot_ask)
{
	applying_open(PLAN_APPLY_ASK, "\"elicitation\":{\"url\":{}}");
	applying_say("");
	applying_find();
	applying_refused("this client cannot ask");
}

Test(mcp_apply, an_agent_may)
{
	applying_open(PLAN_APPLY_AGENT, CAN_ASK);
	applying_say("");
	applying_find();
	applying_preview(applying_plain);
	applying_apply(applying_plain, false);
	expect_part(rig_hear(&applying_rig), "[2 changes were applied");
	/* but for what the host executes; then only the answer counts, as with "ask" */
	for (size_t i = 0; i < 2; i++) {
		applying_say("");
		applying_find();
		applying_preview(applying_held);
		expect_part(rig_hear(&applying_rig), "elicitation/create");
		applying_respond(i == 0 ? "\"result\":{\"action\":\"decline\"}"
					: "\"result\":{\"action\":\"cancel\"}");
		applying_find();
		applying_refused(i == 0 ? "The user refused" : "Nobody answered");
		expect_part(applying_rig.line,
			    "not held need no consent: choose them with `paths`.");
	}
	applying_say("");
	applying_find();
	applying_preview(applying_held);
	(void)rig_hear(&applying_rig);
	applying_respond("\"result\":" ACCEPT("apply all but held"));
	applying_find();
	applying_apply(applying_held, false);
	expect_part(rig_hear(&applying_rig),
		    "[1 change was applied to /home/user/project · 1 host-executed, left out: the "
		    "user can apply them with `msp apply " BOX_ID "`");
}

Test(mcp_apply, an_agent_whose_client_cannot_ask_applies_the_rest)
{
	applying_open(PLAN_APPLY_AGENT, "");
	applying_say("");
	applying_find();
	applying_preview(applying_held);
	applying_apply(applying_held, false);
	expect_part(rig_hear(&applying_rig), "1 host-executed, left out");
}

/* The supervisor's word counts, whatever we read in the plan. */
Test(mcp_apply, the_supervisor_refuses)
{
	applying_open(PLAN_APPLY_AGENT, "");
	applying_say("");
	applying_find();
	applying_preview(applying_plain);
	persistent_refuse(&applying_rig, applying_take(CHANGES_APPLY, "").request, REFUSAL_APPLY,
			  "");
	applying_refused("The policy lets only the user apply");
}

Test(mcp_apply, a_profile_that_is_gone)
{
	struct ipc_sandbox_info info = persistent_info(BOX_ID, "build");

	applying_open(PLAN_APPLY_AGENT, CAN_ASK);
	memcpy(info.profile, "gone", 5);
	applying_say("");
	(void)persistent_answer_list(&applying_rig, &info);
	applying_refused("The policy lets only the user apply");
}

Test(mcp_apply, held_changes_go_when_the_user_says_so)
{
	static const struct {
		const char *answer;
		bool goes;
	} answers[] = { { "\"result\":" ACCEPT("apply all but held"), false },
			{ EVERYTHING, true } };

	applying_open(PLAN_APPLY_ASK, CAN_ASK);
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		applying_say("");
		applying_find();
		applying_preview(applying_held);
		expect_part(
			rig_hear(&applying_rig),
			"\"Apply 2 changes (+1 -1) to /home/user/project?\\n1 can run by itself: "
			".git/hooks/pre-commit\"");
		expect_part(applying_rig.line,
			    "\"description\":\"Held: runs or leads out. " REVIEW "\"");
		expect_part(applying_rig.line,
			    "\"enum\":[\"apply nothing\",\"apply all but held\",\"apply "
			    "everything\"],\"default\":\"apply nothing\"");
		applying_respond(answers[i].answer);
		applying_find();
		applying_apply(applying_held, answers[i].goes);
		expect_part(rig_hear(&applying_rig),
			    answers[i].goes ? "[2 changes were" : "1 host-executed, left out");
	}
}

/* --- what a word holds for ------------------------------------------------------------------ */

/* msp-layers says that what it found is not what was previewed. */
static void find_others(void)
{
	const struct ipc_changes_start start = applying_take(CHANGES_APPLY, "");
	const struct ipc_changes_done done = { .request = start.request,
					       .error = ESTALE,
					       .step = CHANGES_STEP_CONFIRMED };

	cr_assert_eq(start.expected[0], DIGEST);
	persistent_changes_done(&applying_rig, persistent_changes(&applying_rig, start.request),
				&done);
}

Test(mcp_apply, other_changes_than_those_asked_about_are_not_applied)
{
	applying_open(PLAN_APPLY_ASK, CAN_ASK);
	applying_say("");
	applying_find();
	applying_preview(applying_plain);
	(void)rig_hear(&applying_rig);
	applying_respond(EVERYTHING);
	applying_find();
	find_others();
	applying_refused("The changes differ from the preview");
}

/* A name can be another sandbox's when the answer comes. */
Test(mcp_apply, an_answer_is_of_its_sandbox)
{
	const struct ipc_sandbox_info other = persistent_info(OTHER_ID, "build");
	struct ipc_changes_done done = { .total = 1 };
	struct channel_message *message;
	int records;

	applying_open(PLAN_APPLY_ASK, CAN_ASK);
	applying_say("");
	applying_find();
	applying_preview(applying_plain);
	(void)rig_hear(&applying_rig);
	applying_respond(EVERYTHING);
	(void)persistent_answer_list(&applying_rig, &other);
	message =
		rig_take(&applying_rig, IPC_TYPE_changes_start); /* it is looked at, and no more */
	done.request = ipc_body(message, changes_start)->request;
	cr_assert_eq(ipc_body(message, changes_start)->operation, CHANGES_PREVIEW);
	cr_assert_str_eq(ipc_body(message, changes_start)->sandbox, OTHER_ID);
	channel_message_done(message);
	records = persistent_changes(&applying_rig, done.request);
	persistent_tell(&applying_rig, records, CHANGE_MODIFIED, 0, "main.c", NULL);
	persistent_changes_done(&applying_rig, records, &done);
	expect_part(rig_hear(&applying_rig), "The answer belongs to other changes");
	rig_take_nothing(&applying_rig);
}

Test(mcp_apply, nothing_runs_meanwhile)
{
	struct ipc_sandbox_info info = persistent_info(BOX_ID, "build");

	applying_open(PLAN_APPLY_ASK, CAN_ASK);
	info.executions = 1;
	applying_say("");
	(void)persistent_answer_list(&applying_rig, &info);
	applying_refused("An execution in the sandbox could");
	applying_say("");
	applying_find();
	applying_preview(applying_plain);
	(void)rig_hear(&applying_rig);
	applying_respond(EVERYTHING);
	(void)persistent_answer_list(&applying_rig, &info);
	applying_refused("An execution in the sandbox could");
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
	rig_say(&applying_rig, line);
}

/* The member requestState of the last line. */
static const char *state(void)
{
	static char text[20000];
	const char *at = strstr(applying_rig.line, "\"requestState\":\"");

	cr_assert_not_null(at, "%s", applying_rig.line);
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

	applying_open(PLAN_APPLY_ASK, "");
	say_modern("1", "");
	applying_find();
	applying_preview(applying_held);
	expect_part(rig_hear(&applying_rig),
		    "\"resultType\":\"input_required\",\"inputRequests\":{\"apply\":{\"method\":"
		    "\"elicitation/create\",\"params\":{\"message\":\"Apply 2 changes");
	(void)strcpy(kept, state());
	say_again("2", kept, ACCEPT("apply everything"));
	applying_find();
	applying_apply(applying_held, true);
	expect_part(rig_hear(&applying_rig), "\"resultType\":\"complete\"");
	expect_part(applying_rig.line, "[2 changes were applied");
	/* said again, it holds for nothing else */
	say_again("3", kept, ACCEPT("apply everything"));
	applying_find();
	find_others();
	applying_refused("differ from the preview");
	say_again("4", kept, "{\"action\":\"decline\"}");
	applying_find();
	applying_refused("The user refused");
	say_again("6", kept, "{\"action\":\"cancel\"}");
	applying_find();
	applying_refused("Nobody answered");
	/* a client that cannot show a choice sends an empty form, and repeats it */
	say_again("7", kept, "{\"action\":\"accept\",\"content\":{}}");
	applying_find();
	applying_refused("without one of the offered answers");
	/* an answer without what it answers is none that we asked for */
	say_modern("5", ",\"inputResponses\":{\"apply\":" ACCEPT("apply everything") "}");
	applying_find();
	applying_preview(applying_plain);
	applying_refused("The answer belongs to other changes");
}

Test(mcp_apply, a_modern_client_that_cannot_ask)
{
	applying_open(PLAN_APPLY_ASK, CAN_ASK); /* the legacy handshake does not count */
	rig_say(&applying_rig,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"apply_changes\",\"arguments\":{\"sandbox\":\"build\"}," META_START META_END
		"}}");
	applying_find();
	applying_refused("this client cannot ask");
}

/* --- conflicts, and what else there is ------------------------------------------------------ */

static const struct found conflict[] = { { "main.c", CHANGE_IS_CONFLICT, NULL },
					 { NULL, 0, NULL } };

Test(mcp_apply, conflicts)
{
	static const char *const words[] = { "project?\\n1 keeps the host's newer version\"",
					     "project?\\n1 REPLACES a newer file of the host\"" };
	static const char *const choices[] = { ",\"conflict\":\"host\"",
					       ",\"conflict\":\"sandbox\"" };
	static const uint32_t conflicts[] = { CONFLICT_HOST, CONFLICT_SANDBOX };

	applying_open(PLAN_APPLY_ASK, CAN_ASK);
	applying_say("");
	applying_find();
	applying_preview(conflict);
	expect_part(rig_hear(&applying_rig),
		    "[nothing was applied: 1 change in conflict with newer changes in "
		    "/home/user/project · ask the user: conflict=\\\"merge\\\"");
	expect_part(applying_rig.line, "\"isError\":true");
	rig_take_nothing(&applying_rig);
	applying_say(",\"conflict\":\"merge\"");
	applying_find();
	applying_preview(conflict);
	expect_part(rig_hear(&applying_rig),
		    "in /home/user/project and cannot be merged · ask the user: "
		    "conflict=\\\"host\\\"");
	rig_take_nothing(&applying_rig);
	for (size_t i = 0; i < 2; i++) {
		applying_say(choices[i]);
		applying_find();
		applying_preview(conflict);
		expect_part(rig_hear(&applying_rig), words[i]);
		applying_respond(EVERYTHING);
		applying_find();
		cr_assert_eq(applying_apply(conflict, false).conflict, conflicts[i]);
		expect_part(rig_hear(&applying_rig), "1 change was applied");
	}
}

Test(mcp_apply, sandboxes_without_a_copy_of_the_hosts)
{
	struct ipc_sandbox_info info = persistent_info(BOX_ID, "build");

	applying_open(PLAN_APPLY_AGENT, "");
	info.workspace_mode = WORKSPACE_WRITE;
	applying_say("");
	(void)persistent_answer_list(&applying_rig, &info);
	expect_part(rig_hear(&applying_rig), "which has its changes already");
	info.workspace_mode = WORKSPACE_NONE;
	applying_say("");
	(void)persistent_answer_list(&applying_rig, &info);
	expect_part(rig_hear(&applying_rig),
		    "no project to apply to; it was created without workspace");
	applying_say("");
	(void)persistent_answer_list(&applying_rig, NULL);
	expect_part(rig_hear(&applying_rig), "There is no sandbox \\\"build\\\".");
}

static void expect_failure(uint32_t error, const char *expected)
{
	struct ipc_changes_done done = { .error = error, .step = CHANGES_STEP_WRITE };
	int records;

	applying_say("");
	applying_find();
	applying_preview(applying_plain);
	done.request = applying_take(CHANGES_APPLY, "").request;
	records = persistent_changes(&applying_rig, done.request);
	persistent_changes_done(&applying_rig, records, &done);
	applying_refused(expected);
}

Test(mcp_apply, what_fails_is_said)
{
	applying_open(PLAN_APPLY_AGENT, "");
	expect_failure(ENOSPC, "It failed with \\\"No space left on device (ENOSPC)\\\" in "
			       "changing the host's files, which were restored.");
	expect_failure(EROFS, "msp apply --standalone`.");
	expect_failure(EOWNERDEAD,
		       "The process that reads git's objects ended early, killed or out "
		       "of memory. Nothing was changed. Call again.");
}
