/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions to the client in the middle of a call: the same tools in both eras.
 */
#include "mcp/asking/ask.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asking.h"
#include "fake_clock.h"

static struct rig rig;

static void open_rig(void)
{
	rig_open(&rig, true);
}

static void close_rig(void)
{
	rig_close(&rig);
}

TestSuite(mcp_ask, .init = open_rig, .fini = close_rig);

#define ACCEPTED(content) "{\"action\":\"accept\",\"content\":" content "}"

static void initialize(const char *capabilities)
{
	char line[512];

	(void)snprintf(line, sizeof(line),
		       "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"method\":\"initialize\",\"params\":"
		       "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{%s}}}",
		       capabilities);
	expect_part(rig_ask(&rig, line), "\"protocolVersion\":\"2025-11-25\"");
}

static void say_legacy(const char *id, const char *tool, const char *arguments)
{
	char line[512];

	(void)snprintf(line, sizeof(line),
		       "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":"
		       "{\"name\":\"%s\",\"arguments\":%s}}",
		       id, tool, arguments);
	rig_say(&rig, line);
}

static void respond(const char *id, const char *member)
{
	char line[1024];

	(void)snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":%s,%s}", id, member);
	rig_say(&rig, line);
}

/* The retry of a call in the modern era, with the state that the last line had. */
static const char *retry(const char *id, const char *tool, const char *arguments,
			 const char *inputs)
{
	static char more[200000];
	char *line;

	(void)snprintf(more, sizeof(more),
		       ",\"arguments\":%s,\"inputResponses\":%s,\"requestState\":\"%s\"", arguments,
		       inputs, asking_member(&rig, "requestState"));
	line = malloc(strlen(more) + 1024);
	cr_assert(line);
	(void)sprintf(line,
		      "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":"
		      "{\"name\":\"%s\"%s," META_START CAPABILITIES_ALL META_END "}}",
		      id, tool, more);
	rig_say(&rig, line);
	free(line);
	return rig_hear(&rig);
}

Test(mcp_ask, legacy_questions_are_requests_of_ours)
{
	initialize(CAPABILITIES_ALL);
	say_legacy("1", "ask_name", "{}");
	cr_assert_str_eq(rig_hear(&rig),
			 "{\"jsonrpc\":\"2.0\",\"id\":\"msp-1\",\"method\":\"elicitation/create\","
			 "\"params\":{\"message\":\"Who?\",\"requestedSchema\":"
			 "{\"type\":\"object\",\"properties\":{}}}}");
	respond("\"msp-1\"", "\"result\":" ACCEPTED("{\"name\":\"Alice\"}"));
	expect_part(rig_hear(&rig), "\"id\":1,");
	expect_part(rig.line, "got {\\\"name\\\":\\\"Alice\\\"};");
	respond("\"msp-1\"", "\"result\":" ACCEPTED("{}")); /* too late */
	rig_hear_nothing(&rig);
}

Test(mcp_ask, legacy_answers_come_in_any_order)
{
	initialize(CAPABILITIES_ALL);
	say_legacy("1", "ask_three", "{}");
	expect_part(rig_hear(&rig), "\"id\":\"msp-1\",\"method\":\"elicitation/create\"");
	expect_part(rig_hear(&rig), "\"id\":\"msp-2\",\"method\":\"sampling/createMessage\"");
	cr_assert_str_eq(rig_hear(&rig),
			 "{\"jsonrpc\":\"2.0\",\"id\":\"msp-3\",\"method\":\"roots/list\"}");
	respond("\"msp-3\"", "\"result\":{\"roots\":[{\"uri\":\"test://a\"}]}");
	respond("\"msp-1\"", "\"result\":{\"action\":\"decline\"}");
	rig_hear_nothing(&rig);
	respond("\"msp-2\"", "\"result\":{\"role\":\"assistant\",\"model\":\"m\",\"content\":"
			     "{\"type\":\"text\",\"text\":\"hi\"}}");
	expect_part(rig_hear(&rig), "got {\\\"action\\\":\\\"decline\\\"};{\\\"role\\\"");
	expect_part(rig.line, "{\\\"roots\\\":[{\\\"uri\\\":\\\"test://a\\\"}]};");
}

Test(mcp_ask, legacy_handlers_run_again_with_the_same_arguments)
{
	initialize(CAPABILITIES_ALL);
	say_legacy("1", "ask_steps", "{\"text\":\"a\\u0000\\\"b\"}");
	expect_part(rig_hear(&rig), "One?");
	respond("\"msp-1\"", "\"result\":" ACCEPTED("{\"a\":1}"));
	expect_part(rig_hear(&rig), "\"id\":\"msp-2\"");
	respond("\"msp-2\"", "\"result\":" ACCEPTED("{\"b\":[2,{\"c\":null}],\"d\":true}"));
	expect_part(rig_hear(&rig), "got {\\\"a\\\":1};"
				    "{\\\"b\\\":[2,{\\\"c\\\":null}],\\\"d\\\":true};");
}

Test(mcp_ask, what_was_not_asked_is_ignored)
{
	initialize(CAPABILITIES_ALL);
	say_legacy("1", "ask_name", "{}");
	(void)rig_hear(&rig);
	respond("\"msp-2\"", "\"result\":" ACCEPTED("{}"));
	respond("\"msp-0\"", "\"result\":" ACCEPTED("{}"));
	respond("1", "\"result\":" ACCEPTED("{}"));
	respond("null", "\"result\":" ACCEPTED("{}"));
	rig_say(&rig, "{\"jsonrpc\":\"2.0\",\"result\":{}}");
	rig_hear_nothing(&rig);
	respond("\"\\u006dsp-1\"", "\"result\":" ACCEPTED("{\"a\":0}")); /* the same id */
	expect_part(rig_hear(&rig), "got {\\\"a\\\":0};");
}

Test(mcp_ask, errors_and_nonsense_reach_the_handler)
{
	initialize(CAPABILITIES_ALL);
	say_legacy("1", "ask_name", "{}");
	(void)rig_hear(&rig);
	respond("\"msp-1\"", "\"error\":{\"code\":-1,\"message\":\"no\\u001buser\"}");
	expect_part(rig_hear(&rig), "problem: the client answered with an error: no\\\\x1buser;");
	say_legacy("2", "ask_name", "{}");
	(void)rig_hear(&rig);
	respond("\"msp-2\"", "\"result\":{\"action\":\"perhaps\"}");
	expect_part(rig_hear(&rig), "problem: the answer does not match the form");
	say_legacy("3", "ask_name", "{}");
	(void)rig_hear(&rig);
	respond("\"msp-3\"", "\"result\":null,\"error\":7");
	expect_part(rig_hear(&rig), "problem: the answer does not match the form");
}

Test(mcp_ask, questions_of_a_cancelled_call_are_withdrawn)
{
	initialize(CAPABILITIES_ALL);
	say_legacy("1", "ask_three", "{}");
	for (int i = 0; i < 3; i++)
		(void)rig_hear(&rig);
	respond("\"msp-2\"", "\"result\":{\"role\":\"assistant\",\"model\":\"m\",\"content\":{}}");
	rig_say(&rig, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
		      "{\"requestId\":1}}");
	cr_assert_str_eq(rig_hear(&rig),
			 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
			 "{\"requestId\":\"msp-1\"}}");
	expect_part(rig_hear(&rig), "{\"requestId\":\"msp-3\"}");
	respond("\"msp-1\"", "\"result\":" ACCEPTED("{}"));
	rig_hear_nothing(&rig);
}

Test(mcp_ask, a_client_is_asked_only_what_it_declared)
{
	say_legacy("1", "ask_name", "{}"); /* before any initialize */
	expect_part(rig_hear(&rig), "\"isError\":true");
	expect_part(rig.line, "client has not declared elicitation");
	initialize("\"elicitation\":{\"url\":{}}"); /* but no forms */
	say_legacy("2", "ask_name", "{}");
	expect_part(rig_hear(&rig), "\"isError\":true");
	initialize("\"elicitation\":{\"url\":{},\"form\":{}}");
	say_legacy("3", "ask_name", "{}");
	expect_part(rig_hear(&rig), "elicitation/create");
	initialize("\"elicitation\":true,\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}");
	say_legacy("4", "ask_name", "{}");
	expect_part(rig_hear(&rig), "\"isError\":true");
	say_legacy("5", "ask_in_task", "{}"); /* of the other era only */
	expect_part(rig_hear(&rig), "the extension io.modelcontextprotocol/tasks");
	expect_part(rig.line, "\"isError\":true");
}

Test(mcp_ask, modern_errors_name_the_missing_capabilities)
{
	asking_say(&rig, "1", "\"roots\":{}", "ask_three", "");
	expect_part(rig_hear(&rig), "\"code\":-32021");
	expect_part(rig.line,
		    "\"data\":{\"requiredCapabilities\":{\"elicitation\":{},\"sampling\":{}}}");
	asking_say(&rig, "2", CAPABILITIES_ALL, "failing_task", "");
	expect_part(rig_hear(&rig), "\"data\":{\"requiredCapabilities\":{\"extensions\":"
				    "{\"io.modelcontextprotocol/tasks\":{}}}}");
	asking_say(&rig, "3", "", "failing_task", "");
	expect_part(rig_hear(&rig), "{\"sampling\":{},\"extensions\":{");
}

Test(mcp_ask, modern_questions_are_the_answer)
{
	asking_say(&rig, "1", CAPABILITIES_ALL, "ask_name", "");
	expect_part(rig_hear(&rig), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":"
				    "\"input_required\",\"inputRequests\":{\"user_name\":"
				    "{\"method\":\"elicitation/create\",\"params\":{\"message\":"
				    "\"Who?\",\"requestedSchema\":{\"type\":\"object\","
				    "\"properties\":{}}}}},\"requestState\":\"");
	expect_part(rig.line, "io.modelcontextprotocol/serverInfo");
	expect_part(retry("2", "ask_name", "{}",
			  "{\"user_name\":" ACCEPTED("{\"name\":\"Alice\"}") ",\"other\":{}}"),
		    "\"resultType\":\"complete\"");
	expect_part(rig.line, "got {\\\"name\\\":\\\"Alice\\\"};");
	rig_hear_nothing(&rig);
}

Test(mcp_ask, answers_may_come_unasked_and_without_state)
{
	asking_say(&rig, "1", CAPABILITIES_ALL, "ask_name",
		   ",\"inputResponses\":{\"x\":{},\"user_name\":" ACCEPTED("{\"a\":1}") "}");
	expect_part(rig_hear(&rig), "got {\\\"a\\\":1};");
	asking_say(&rig, "2", CAPABILITIES_ALL, "ask_name",
		   ",\"inputResponses\":{\"wrong\":" ACCEPTED("{\"a\":1}") "}");
	expect_part(rig_hear(&rig), "\"input_required\"");
	asking_say(&rig, "3", CAPABILITIES_ALL, "ask_name", ",\"inputResponses\":null");
	expect_part(rig_hear(&rig), "\"input_required\"");
}

Test(mcp_ask, answers_of_the_wrong_form_are_refused)
{
	asking_say(&rig, "1", CAPABILITIES_ALL, "ask_name",
		   ",\"inputResponses\":{\"user_name\":12345}");
	expect_part(rig_hear(&rig), "\"code\":-32602");
	expect_part(rig.line, "no object for: user_name");
	asking_say(&rig, "2", CAPABILITIES_ALL, "ask_name", ",\"inputResponses\":[]");
	expect_part(rig_hear(&rig), "\"code\":-32602");
	asking_say(&rig, "3", CAPABILITIES_ALL, "ask_name",
		   ",\"inputResponses\":{\"user_name\":{\"roots\":[]}}");
	expect_part(rig_hear(&rig), "\"code\":-32602");
	expect_part(rig.line, "inputResponses.user_name: the answer does not match the form");
	asking_say(&rig, "4", CAPABILITIES_ALL, "ask_name", ",\"requestState\":7");
	expect_part(rig_hear(&rig), "\"code\":-32602");
}

Test(mcp_ask, rounds_carry_the_answers_before)
{
	static const char arguments[] = "{\"text\":\"\\u00e4b\"}";
	char first[4096];

	asking_say(&rig, "1", CAPABILITIES_ALL, "ask_steps",
		   ",\"arguments\":{\"text\":\"\\u00e4b\"}");
	expect_part(rig_hear(&rig), "\"step1\"");
	(void)strcpy(first, asking_member(&rig, "requestState"));
	(void)retry("2", "ask_steps", arguments, "{\"step1\":" ACCEPTED("{\"a\":\"\\u0001\"}") "}");
	expect_part(rig.line, "\"inputRequests\":{\"step2\":");
	cr_assert_str_neq(first, asking_member(&rig, "requestState"));
	(void)retry("3", "ask_steps",
		    "{\"text\":\"\xc3\xa4\x62\"}", /* the same, spelled otherwise */
		    "{\"step2\":" ACCEPTED("{\"b\":2.50}") "}");
	expect_part(rig.line, "got {\\\"a\\\":\\\"\\\\u0001\\\"};{\\\"b\\\":2.50};");
}

Test(mcp_ask, a_state_works_for_its_request_only)
{
	char more[4096], state[2048];

	asking_say(&rig, "1", CAPABILITIES_ALL, "ask_steps", ",\"arguments\":{\"text\":\"a\"}");
	(void)rig_hear(&rig);
	(void)strcpy(state, asking_member(&rig, "requestState"));
	(void)retry("2", "ask_steps", "{\"text\":\"b\"}", "{}");
	expect_part(rig.line, "\"code\":-32602");
	expect_part(rig.line, "belongs to another request");
	(void)snprintf(more, sizeof(more), ",\"requestState\":\"%s\"", state);
	asking_say(&rig, "3", CAPABILITIES_ALL, "ask_name", more);
	expect_part(rig_hear(&rig), "belongs to another request");
	(void)snprintf(more, sizeof(more),
		       ",\"arguments\":{\"text\":\"a\"},\"requestState\":\"%s-TAMPERED\"", state);
	asking_say(&rig, "4", CAPABILITIES_ALL, "ask_steps", more);
	expect_part(rig_hear(&rig), "\"code\":-32602");
	expect_part(rig.line, "requestState is unknown");
	/* it may be used again: it gives no right that the request has not */
	for (int i = 0; i < 2; i++) {
		(void)snprintf(more, sizeof(more),
			       ",\"arguments\":{\"text\":\"a\"},\"requestState\":\"%s\"", state);
		asking_say(&rig, "5", CAPABILITIES_ALL, "ask_steps", more);
		expect_part(rig_hear(&rig), "\"step1\"");
	}
}

Test(mcp_ask, a_state_expires)
{
	asking_say(&rig, "1", CAPABILITIES_ALL, "ask_name", "");
	(void)rig_hear(&rig);
	fake_clock_ahead_ms = ASK_STATE_MS - 1000;
	expect_part(retry("2", "ask_name", "{}", "{}"), "\"input_required\""); /* and a new state */
	fake_clock_ahead_ms += ASK_STATE_MS + 1000;
	expect_part(retry("3", "ask_name", "{}", "{}"), "\"code\":-32602");
	expect_part(rig.line, "the requestState has expired");
}

Test(mcp_ask, questions_end_after_eight_rounds)
{
	char inputs[64];

	asking_say(&rig, "1", CAPABILITIES_ALL, "ask_forever", "");
	expect_part(rig_hear(&rig), "input_required");
	for (unsigned int i = 0; i < ASK_ROUNDS_MAX; i++) {
		(void)snprintf(inputs, sizeof(inputs), "{\"q%u\":{\"action\":\"cancel\"}}", i);
		(void)retry("2", "ask_forever", "{}", inputs);
		cr_assert_eq(strstr(rig.line, "input_required") != NULL, i + 1 < ASK_ROUNDS_MAX);
	}
	expect_part(rig.line, "\"isError\":true");
	expect_part(rig.line, "eight rounds of answers");
}

Test(mcp_ask, answers_too_long_to_carry_end_the_call)
{
	static char inputs[ASK_INPUTS_MAX + 100];

	asking_say(&rig, "1", CAPABILITIES_ALL, "ask_steps", ",\"arguments\":{\"text\":\"a\"}");
	(void)rig_hear(&rig);
	(void)snprintf(inputs, sizeof(inputs), "{\"step1\":" ACCEPTED("{\"a\":\"%0*d\"}") "}",
		       (int)ASK_INPUTS_MAX, 0);
	(void)retry("2", "ask_steps", "{\"text\":\"a\"}", inputs);
	expect_part(rig.line, "\"isError\":true");
	expect_part(rig.line, "answers are too long");
}

Test(mcp_ask, long_answers_in_the_legacy_era_are_a_problem)
{
	char *line = malloc(ASK_ANSWER_BYTES_MAX + 1024);

	cr_assert(line);
	initialize(CAPABILITIES_ALL);
	say_legacy("1", "ask_name", "{}");
	(void)rig_hear(&rig);
	(void)sprintf(line,
		      "{\"jsonrpc\":\"2.0\",\"id\":\"msp-1\",\"result\":" ACCEPTED(
			      "{\"a\":\"%0*d\"}") "}",
		      (int)ASK_ANSWER_BYTES_MAX, 0);
	rig_say(&rig, line);
	expect_part(rig_hear(&rig), "problem: the answer is too long");
	free(line);
}

/* Whoever does not answer keeps calls open: what they hold is bounded. */
Test(mcp_ask, waiting_calls_hold_bounded_memory)
{
	const size_t size = 1900000;
	const size_t most = ASK_BYTES_MAX / size;
	char *line = malloc(size + 1024);
	size_t asked = 0;

	cr_assert(line);
	initialize(CAPABILITIES_ALL);
	for (size_t i = 0; i <= most; i++) {
		(void)sprintf(line,
			      "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/call\","
			      "\"params\":{\"name\":\"ask_steps\",\"arguments\":{\"text\":"
			      "\"%0*d\"}}}",
			      i, (int)size, 0);
		rig_say(&rig, line);
		if (strstr(rig_hear(&rig), "elicitation/create"))
			asked++;
	}
	cr_assert_geq(asked, most - 1);
	cr_assert_leq(asked, most);
	expect_part(rig.line, "too many calls wait");
	rig_say(&rig, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
		      "{\"requestId\":0}}");
	expect_part(rig_hear(&rig), "notifications/cancelled");
	rig_say(&rig, line);
	expect_part(rig_hear(&rig), "elicitation/create");
	free(line);
}
