/* SPDX-License-Identifier: Apache-2.0
 *
 * The question of apply_changes: its two lines, its form, and what counts as an answer.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "applying.h"
#include "common/ipc/ipc_persistent.h"

TestSuite(mcp_question, .fini = applying_close);

static const struct found links[] = { { "main.c", 0, "@@ -1 +1 @@\n-a\n+b\n" },
				      { "out", CHANGE_IS_HELD | CHANGE_LEADS_OUT, NULL },
				      { ".h", CHANGE_IS_HELD | CHANGE_IS_DIRECTORY, NULL },
				      { ".h/_", CHANGE_IS_HELD | CHANGE_IS_DIRECTORY, NULL },
				      { ".h/_/a, b", CHANGE_IS_HELD, NULL },
				      { ".hx", CHANGE_IS_HELD | CHANGE_IS_DIRECTORY, NULL },
				      { ".envrc", CHANGE_IS_HELD, NULL },
				      { "fifo", CHANGE_IS_REFUSED | CHANGE_IS_HELD, NULL },
				      { NULL, 0, NULL } };

Test(mcp_question, the_user_is_asked)
{
	applying_open(PLAN_APPLY_ASK, CAN_ASK);
	applying_say("");
	applying_find();
	applying_preview(applying_plain);
	expect_part(rig_hear(&applying_rig),
		    "\"method\":\"elicitation/create\",\"params\":{\"message\":\"Apply 2 changes "
		    "(+1 -1, 1 binary or large) to /home/user/project?"
		    "\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"answer\":{"
		    "\"type\":\"string\",\"title\":\"Choose 1 of 2\",\"description\":\"" REVIEW
		    "\",\"enum\":[\"apply nothing\","
		    "\"apply everything\"],\"default\":\"apply nothing\"}},\"required\":["
		    "\"answer\"]}}");
	rig_take_nothing(&applying_rig);
	applying_respond(EVERYTHING);
	applying_find();
	applying_apply(applying_plain, false);
	expect_part(rig_hear(&applying_rig),
		    "[2 changes were applied to /home/user/project · `msp undo " BOX_ID
		    "` undoes it]\"");
	expect_part(applying_rig.line, "\"isError\":false");
}

/* Only an accepted form with an offered value applies, and the result says which of the others it
 * was. The first rows are those of clients that cannot show the question, or do not. */
static const struct {
	const char *answer, *reason;
} no_answers[] = {
	{ "\"result\":{\"action\":\"decline\"}", "The user refused (\\\"decline\\\")." },
	{ "\"result\":{\"action\":\"cancel\"}", "Nobody answered (\\\"cancel\\\"); ask the user." },
	{ "\"error\":{\"code\":-1,\"message\":\"no\"}",
	  "could not ask its user: the client answered with an error: no." },
	{ "\"result\":{}", "could not ask its user: the answer does not match" },
	{ "\"result\":{\"action\":\"accept\"}", "without one of the offered answers" },
	{ "\"result\":{\"action\":\"accept\",\"content\":{}}",
	  "without one of the offered answers" },
	{ "\"result\":{\"action\":\"accept\",\"content\":{\"answer\":true}}",
	  "without one of the offered answers" },
	{ "\"result\":{\"action\":\"accept\",\"content\":{\"include_held\":true}}",
	  "without one of the offered answers" },
	{ "\"result\":" ACCEPT("apply"), "without one of the offered answers" },
	{ "\"result\":" ACCEPT("apply everything "), "without one of the offered answers" },
	{ "\"result\":" ACCEPT("Apply everything"), "without one of the offered answers" },
	{ "\"result\":" ACCEPT("apply all but held"), "without one of the offered answers" },
	{ "\"result\":{\"action\":\"decline\",\"content\":{\"answer\":\"apply everything\"}}",
	  "The user refused" },
	{ "\"result\":" ACCEPT("apply nothing"), "The user chose \\\"apply nothing\\\"." },
};

Test(mcp_question, a_user_who_does_not_agree)
{
	applying_open(PLAN_APPLY_ASK, CAN_ASK);
	for (size_t i = 0; i < sizeof(no_answers) / sizeof(no_answers[0]); i++) {
		applying_say("");
		applying_find();
		applying_preview(applying_plain);
		(void)rig_hear(&applying_rig);
		applying_respond(no_answers[i].answer);
		applying_find();
		applying_refused(no_answers[i].reason);
	}
}

/* The kinds of held changes, the most dangerous first; a name that could be taken for two is in
 * quotation marks, a directory is not named beside its only change, and a change that is never
 * applied is not counted. */
Test(mcp_question, the_question_names_each_risk)
{
	applying_open(PLAN_APPLY_ASK, CAN_ASK);
	applying_say("");
	applying_find();
	applying_preview(links);
	expect_part(rig_hear(&applying_rig),
		    "\"Apply 7 changes (+1 -1) to /home/user/project?\\n3 can run by themselves: "
		    "\\\".h/_/a, b\\\", .hx/, .envrc; 1 leads outside: out\"");
}

/* A file that runs with its tool comes last; each line is filled. */
Test(mcp_question, the_question_fills_its_lines)
{
	static const struct found tools[] = { { "build.rs", CHANGE_IS_HELD | CHANGE_IS_TOOL, NULL },
					      { "eslint.config.js", CHANGE_IS_HELD | CHANGE_IS_TOOL,
						NULL },
					      { "out", CHANGE_IS_HELD | CHANGE_LEADS_OUT, NULL },
					      { NULL, 0, NULL } };

	applying_open(PLAN_APPLY_ASK, CAN_ASK);
	applying_say("");
	applying_find();
	applying_preview(tools);
	expect_part(rig_hear(&applying_rig),
		    "\"Apply 3 changes (+0 -0) to /home/user/project? 1 leads outside: "
		    "out\\n2 run with their tools: build.rs, eslint.config.js\"");
	expect_part(applying_rig.line, "\"enum\":[\"apply nothing\",\"apply everything\"],");
}

#define NEW_ONES(at)                                                                               \
	{ ".toolrc", CHANGE_MAY_RUN, NULL },                                                       \
	{                                                                                          \
		at, CHANGE_MAY_RUN, NULL                                                           \
	}

/* Files that no table knows come after what is held, and before what is not named at all. */
Test(mcp_question, new_files_are_named)
{
	static const struct found some[] = { { "main.c", 0, NULL },
					     NEW_ONES("bin/go"),
					     { NULL, 0, NULL } };

	applying_open(PLAN_APPLY_ASK, CAN_ASK);
	applying_say("");
	applying_find();
	applying_preview(some);
	expect_part(rig_hear(&applying_rig),
		    "\"Apply 3 changes (+0 -0) to /home/user/project?\\n2 new files may run: "
		    ".toolrc, bin/go\"");
	expect_part(applying_rig.line, "\"enum\":[\"apply nothing\",\"apply everything\"],");
}

/* A name without room is counted, and takes no held change its name. */
Test(mcp_question, new_files_hide_no_held_change)
{
	static const struct found some[] = {
		{ ".env", CHANGE_IS_HELD, NULL },
		{ ".mspignore", CHANGE_IS_HELD | CHANGE_IS_RULES, NULL },
		NEW_ONES("scripts/a-name-that-is-longer-than-the-room-which-is-left.sh"),
		{ NULL, 0, NULL },
	};

	applying_open(PLAN_APPLY_ASK, CAN_ASK);
	applying_say("");
	applying_find();
	applying_preview(some);
	expect_part(rig_hear(&applying_rig),
		    "\"Apply 4 changes (+0 -0) to /home/user/project? 1 can run by itself: .env"
		    "\\n1 decides what is asked: .mspignore; 2 new may run, not held\"");
	expect_part(applying_rig.line, "\"enum\":[\"apply nothing\",\"apply all but held\","
				       "\"apply everything\"],");
}

/* Without held changes all can be applied, however many are new. */
Test(mcp_question, many_new_files_are_counted)
{
	static char names[99][64];
	static struct found many[100];

	for (int i = 0; i < 99; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "bin/%040d", i);
		many[i] = (struct found){ names[i], CHANGE_MAY_RUN, NULL };
	}
	applying_open(PLAN_APPLY_ASK, CAN_ASK);
	applying_say("");
	applying_find();
	applying_preview(many);
	expect_part(rig_hear(&applying_rig), "project? 99 new files may run\"");
	expect_part(applying_rig.line, "\"enum\":[\"apply nothing\",\"apply everything\"],");
}

/* One change of each kind, and conflicts: no third line. */
Test(mcp_question, all_kinds_have_two_lines)
{
	static const struct found all[] = {
		{ ".envrc", CHANGE_IS_HELD, NULL },
		{ "out", CHANGE_IS_HELD | CHANGE_LEADS_OUT, NULL },
		{ ".mspignore", CHANGE_IS_HELD | CHANGE_IS_RULES, NULL },
		{ "build.rs", CHANGE_IS_HELD | CHANGE_IS_TOOL, NULL },
		{ ".dot", CHANGE_IS_HELD | CHANGE_MAY_RUN, NULL },
		{ "bin/x", CHANGE_MAY_RUN, NULL },
		{ "both", CHANGE_IS_CONFLICT, NULL },
		{ NULL, 0, NULL },
	};

	applying_open(PLAN_APPLY_ASK, CAN_ASK);
	applying_say(",\"conflict\":\"sandbox\"");
	applying_find();
	applying_preview(all);
	expect_part(rig_hear(&applying_rig),
		    "\"Apply 7 changes (+0 -0) to /home/user/project? 5 held\\n1 new may run, "
		    "not held; 1 REPLACES a newer file of the host\"");
	expect_part(applying_rig.line, "\"enum\":[\"apply nothing\",\"apply all but held\"],");
}

/* Changes that the question cannot name are not offered. */
Test(mcp_question, held_changes_that_are_not_shown_stay)
{
	static char names[60][64];
	static struct found many[62];

	for (int i = 0; i < 60; i++) {
		(void)snprintf(names[i], sizeof(names[i]), ".github/workflows/%040d.yml", i);
		many[i] = (struct found){ names[i], CHANGE_IS_HELD, NULL };
	}
	applying_open(PLAN_APPLY_ASK, CAN_ASK);
	applying_say("");
	applying_find();
	applying_preview(many);
	applying_refused("their names are too long for a question");
	many[60] = (struct found){ "main.c", 0, NULL };
	applying_say("");
	applying_find();
	applying_preview(many);
	expect_part(rig_hear(&applying_rig),
		    "\"Apply 61 changes (+0 -0) to /home/user/project? 60 can run by themselves\"");
	expect_part(applying_rig.line, "\"enum\":[\"apply nothing\",\"apply all but held\"],");
	applying_respond(EVERYTHING);
	applying_find();
	applying_refused("without one of the offered answers");
	applying_say("");
	applying_find();
	applying_preview(many);
	(void)rig_hear(&applying_rig);
	applying_respond("\"result\":" ACCEPT("apply all but held"));
	applying_find();
	applying_apply(many, false);
	expect_part(rig_hear(&applying_rig), "60 host-executed, left out");
}

/* A fourth line, and the columns beyond a terminal's 80, are read by nobody. */
Test(mcp_question, the_question_has_two_lines)
{
	struct ipc_sandbox_info info = persistent_info(BOX_ID, "build");
	const char *message, *end, *second;

	applying_open(PLAN_APPLY_ASK, CAN_ASK);
	memset(info.workspace, 'p', 900);
	memcpy(info.workspace, "/home/", 6);
	memcpy(info.workspace + 895, "/last", 6);
	applying_say(",\"conflict\":\"sandbox\"");
	(void)persistent_answer_list(&applying_rig, &info);
	applying_preview(links);
	message =
		strstr(rig_hear(&applying_rig), "\"message\":\"Apply 7 changes (+1 -1) to ...ppp");
	cr_assert_not_null(message, "%s", applying_rig.line);
	message += strlen("\"message\":\"");
	end = strstr(message, "\",\"requestedSchema");
	second = strstr(message, "\\n");
	cr_assert(second && end && second < end);
	expect_part(message, "ppp/last?\\n");
	cr_assert_leq(second - message, 72);
	cr_assert_leq(end - second, 2 + 72 + 2 /* quotation marks have a backslash each */);
	second = strstr(second + 2, "\\n");
	cr_assert(!second || second > end);
}
