/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that are carried on as tasks.
 */
#include "mcp/asking/tasks.h"

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

TestSuite(mcp_tasks, .init = open_rig, .fini = close_rig);

#define HUNG_ID "0123456789abcdefghjkmnpqrs-1"
#define CAPABILITY_TASKS "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}"

/* A request of the modern era about a task; `more` are further members of its params. */
static const char *ask(const char *method, const char *capabilities, const char *id,
		       const char *more)
{
	char line[2048];

	(void)snprintf(line, sizeof(line),
		       "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"%s\",\"params\":"
		       "{\"taskId\":\"%s\"%s," META_START "%s" META_END "}}",
		       method, id, more, capabilities);
	return rig_ask(&rig, line);
}

static const char *get(const char *id)
{
	return ask("tasks/get", CAPABILITY_TASKS, id, "");
}

static void expect_no_part(const char *part)
{
	cr_assert_null(strstr(rig.line, part), "%s", rig.line);
}

/* The id of the task that the last line made. */
static char *made_id(void)
{
	static char id[TASK_ID_ROOM];

	expect_part(rig.line, "\"result\":{\"resultType\":\"task\",");
	cr_assert_lt(strlen(asking_member(&rig, "taskId")), sizeof(id));
	(void)strcpy(id, asking_member(&rig, "taskId"));
	return id;
}

Test(mcp_tasks, a_call_becomes_a_task_when_its_client_polls)
{
	asking_say(&rig, "7", CAPABILITY_TASKS, "hang", "");
	expect_part(rig_hear(&rig), "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"resultType\":"
				    "\"task\",\"taskId\":\"" HUNG_ID "\",\"status\":\"working\","
				    "\"createdAt\":\"20");
	expect_part(rig.line, "\"lastUpdatedAt\":\"20");
	expect_part(rig.line, "\"ttlMs\":36000"); /* some milliseconds may have gone by */
	expect_part(rig.line, "\"pollIntervalMs\":500,");
	expect_part(rig.line, "io.modelcontextprotocol/serverInfo");
	expect_part(get(HUNG_ID), "\"resultType\":\"complete\",\"taskId\":\"" HUNG_ID
				  "\",\"status\":\"working\"");
	expect_no_part("\"result\":{\"content");
	cr_assert_not_null(asking_hung);
	call_fail(asking_hung, "done");
	asking_hung = NULL;
	rig_hear_nothing(&rig);
	expect_part(get(HUNG_ID), "\"status\":\"completed\"");
	expect_part(rig.line, "\"result\":{\"resultType\":\"complete\",\"content\":[{\"type\":"
			      "\"text\",\"text\":\"done\"}],\"isError\":true,\"_meta\":");
	expect_part(rig.line, "}}},\"_meta\":{\"io.modelcontextprotocol/serverInfo\"");
}

Test(mcp_tasks, its_requests_id_is_free_again)
{
	asking_say(&rig, "7", CAPABILITY_TASKS, "hang", "");
	(void)rig_hear(&rig);
	asking_say(&rig, "7", "", "instant_task", "");
	expect_part(rig_hear(&rig), "no room");
	rig_say(&rig, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
		      "{\"requestId\":7}}");
	cr_assert_eq(asking_given_up, 0);
}

Test(mcp_tasks, without_the_extension_it_stays_a_call)
{
	asking_say(&rig, "1", CAPABILITIES_ALL, "hang", "");
	rig_hear_nothing(&rig);
	call_fail(asking_hung, "done");
	asking_hung = NULL;
	expect_part(rig_hear(&rig), "\"id\":1,");
	expect_part(rig.line, "done");
}

Test(mcp_tasks, no_progress_is_said_of_a_task)
{
	rig_say(&rig,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"hang\",\"_meta\":{\"progressToken\":\"t\","
		"\"io.modelcontextprotocol/logLevel\":\"debug\","
		"\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
		"\"io.modelcontextprotocol/clientCapabilities\":{" CAPABILITY_TASKS "}}}}");
	expect_part(rig_hear(&rig), "{\"progressToken\":\"t\",\"progress\":0.5,");
	(void)rig_hear(&rig);
	(void)made_id();
	call_say_progress(asking_hung, 1, 1, "half");
	call_say_log(asking_hung, LOG_LEVEL_EMERGENCY, "x", &(struct buffer){ 0 });
	rig_hear_nothing(&rig);
}

Test(mcp_tasks, cancel_gives_the_work_up)
{
	asking_say(&rig, "1", CAPABILITY_TASKS, "hang", "");
	(void)rig_hear(&rig);
	for (int i = 0; i < 2; i++) { /* again: the same answer */
		expect_part(ask("tasks/cancel", CAPABILITY_TASKS, HUNG_ID, ""),
			    "\"result\":{\"resultType\":\"complete\",\"_meta\":");
		cr_assert_eq(asking_given_up, 1);
	}
	expect_part(get(HUNG_ID), "\"status\":\"cancelled\"");
	rig_hear_nothing(&rig);
}

Test(mcp_tasks, errors_of_the_protocol_are_failures)
{
	asking_say(&rig, "1", CAPABILITIES_TASKS, "failing_task", "");
	(void)rig_hear(&rig);
	expect_part(get(made_id()), "\"status\":\"failed\"");
	expect_part(rig.line, "\"error\":{\"code\":-32600,\"message\":\"not today\"}");
	expect_no_part("\"result\":{\"content");
}

Test(mcp_tasks, undeclared_comes_before_unknown)
{
	static const char *const methods[] = { "tasks/get", "tasks/update", "tasks/cancel" };

	asking_say(&rig, "1", CAPABILITY_TASKS, "hang", "");
	(void)rig_hear(&rig);
	for (size_t i = 0; i < 3; i++) {
		expect_part(ask(methods[i], "", HUNG_ID, ""), "\"code\":-32021");
		expect_part(rig.line, "\"data\":{\"requiredCapabilities\":{\"extensions\":"
				      "{\"io.modelcontextprotocol/tasks\":{}}}}");
		expect_part(ask(methods[i], "", "no-such", ""), "\"code\":-32021");
		expect_part(ask(methods[i], CAPABILITY_TASKS, "no-such", ""), "\"code\":-32602");
		expect_part(ask(methods[i], CAPABILITY_TASKS, HUNG_ID "x", ""), "Unknown task");
		expect_part(ask(methods[i], CAPABILITY_TASKS, "", ""), "\"code\":-32602");
	}
	expect_part(ask("tasks/result", CAPABILITY_TASKS, HUNG_ID, ""), "\"code\":-32601");
	expect_part(ask("tasks/list", CAPABILITY_TASKS, HUNG_ID, ""), "\"code\":-32601");
	rig_say(&rig, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks/get\",\"params\":"
		      "{\"taskId\":\"" HUNG_ID "\"}}"); /* the legacy era has none of it */
	expect_part(rig_hear(&rig), "\"code\":-32601");
	cr_assert_eq(asking_given_up, 0);
}

Test(mcp_tasks, questions_wait_in_the_task)
{
	char id[TASK_ID_ROOM];

	asking_say(&rig, "1", CAPABILITIES_TASKS, "ask_in_task", "");
	(void)rig_hear(&rig);
	(void)strcpy(id, made_id());
	expect_no_part("inputRequests");
	expect_part(get(id), "\"status\":\"input_required\"");
	expect_part(rig.line, "\"inputRequests\":{\"first\":{\"method\":\"elicitation/create\"");
	expect_part(rig.line, "\"second\":{\"method\":");
	expect_no_part("requestState");
	expect_part(ask("tasks/update", CAPABILITIES_TASKS, id,
			",\"inputResponses\":{\"first\":{\"action\":\"accept\",\"content\":"
			"{\"a\":1}},\"other\":{}}"),
		    "\"result\":{\"resultType\":\"complete\",\"_meta\":");
	expect_part(get(id), "\"status\":\"input_required\"");
	expect_no_part("\"first\"");
	expect_part(ask("tasks/update", CAPABILITIES_TASKS, id,
			",\"inputResponses\":{\"second\":{\"roots\":[]}}"),
		    "\"code\":-32602");
	expect_part(rig.line, "the answer to second does not match the form");
	expect_part(ask("tasks/update", CAPABILITIES_TASKS, id, ",\"inputResponses\":7"),
		    "\"code\":-32602");
	(void)ask("tasks/update", CAPABILITIES_TASKS, id,
		  ",\"inputResponses\":{\"first\":{\"action\":\"cancel\"},"
		  "\"second\":{\"action\":\"decline\"}}");
	expect_part(rig.line, "\"resultType\":\"complete\"");
	expect_part(get(id), "\"status\":\"completed\"");
	expect_part(rig.line, "got {\\\"a\\\":1};{\\\"action\\\":\\\"decline\\\"};");
	(void)ask("tasks/update", CAPABILITIES_TASKS, id,
		  ",\"inputResponses\":{\"second\":{\"action\":\"decline\"}}");
	expect_part(rig.line, "\"resultType\":\"complete\"");
}

Test(mcp_tasks, cancel_drops_its_questions)
{
	char id[TASK_ID_ROOM];

	asking_say(&rig, "1", CAPABILITIES_TASKS, "ask_in_task", "");
	(void)rig_hear(&rig);
	(void)strcpy(id, made_id());
	(void)ask("tasks/cancel", CAPABILITY_TASKS, id, "");
	expect_part(get(id), "\"status\":\"cancelled\"");
	expect_no_part("inputRequests");
}

Test(mcp_tasks, ids_cannot_be_guessed_and_do_not_repeat)
{
	char first[TASK_ID_ROOM];

	asking_say(&rig, "1", CAPABILITY_TASKS, "instant_task", "");
	(void)rig_hear(&rig);
	(void)strcpy(first, made_id());
	cr_assert_eq(strlen(first), 26);
	cr_assert_eq(strspn(first, "0123456789abcdefghjkmnpqrstvwxyz"), 26);
	asking_say(&rig, "1", CAPABILITY_TASKS, "instant_task", "");
	(void)rig_hear(&rig);
	cr_assert_str_neq(first, made_id());
}

Test(mcp_tasks, the_oldest_that_is_over_makes_room)
{
	char first[TASK_ID_ROOM], second[TASK_ID_ROOM];

	asking_say(&rig, "1", CAPABILITIES_TASKS, "ask_in_task", "");
	(void)rig_hear(&rig);
	(void)strcpy(first, made_id());
	for (unsigned int i = 1; i < TASKS_PER_PRINCIPAL_MAX + 1; i++) {
		asking_say(&rig, "1", CAPABILITY_TASKS, "instant_task", "");
		(void)rig_hear(&rig);
		if (i == 1)
			(void)strcpy(second, made_id());
	}
	(void)made_id();
	expect_part(get(first), "input_required");
	expect_part(get(second), "\"code\":-32602");
}

Test(mcp_tasks, a_principal_with_too_many_is_answered_as_usual)
{
	for (unsigned int i = 0; i < TASKS_PER_PRINCIPAL_MAX; i++) {
		asking_say(&rig, "1", CAPABILITIES_TASKS, "ask_in_task", "");
		(void)rig_hear(&rig);
		(void)made_id();
	}
	asking_say(&rig, "1", CAPABILITIES_TASKS, "instant_task", "");
	expect_part(rig_hear(&rig), "no room");
}

static void listen_to(const char *capabilities, const char *filter)
{
	char line[1024];

	(void)snprintf(line, sizeof(line),
		       "{\"jsonrpc\":\"2.0\",\"id\":\"l\",\"method\":\"subscriptions/listen\","
		       "\"params\":{\"notifications\":%s," META_START "%s" META_END "}}",
		       filter, capabilities);
	(void)rig_ask(&rig, line);
}

#define LISTENING "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":\"l\"}"

Test(mcp_tasks, those_who_listen_hear_of_it)
{
	char filter[256], id[TASK_ID_ROOM];

	asking_say(&rig, "1", CAPABILITIES_TASKS, "ask_in_task", "");
	(void)rig_hear(&rig);
	(void)strcpy(id, made_id());
	(void)snprintf(filter, sizeof(filter), "{\"taskIds\":[\"%s\",\"unknown\"]}", id);
	listen_to(CAPABILITY_TASKS, filter);
	(void)snprintf(filter, sizeof(filter), "\"notifications\":{\"taskIds\":[\"%s\"]}", id);
	expect_part(rig.line, "notifications/subscriptions/acknowledged");
	expect_part(rig.line, filter);
	asking_say(&rig, "2", CAPABILITIES_TASKS, "instant_task", ""); /* another one */
	(void)rig_hear(&rig);
	rig_hear_nothing(&rig);
	(void)ask("tasks/update", CAPABILITIES_TASKS, id,
		  ",\"inputResponses\":{\"first\":{\"action\":\"cancel\"},"
		  "\"second\":{\"action\":\"decline\"}}");
	(void)snprintf(filter, sizeof(filter), LISTENING ",\"taskId\":\"%s\",\"status\":", id);
	expect_part(rig_hear(&rig), "\"method\":\"notifications/tasks\",\"params\":{" LISTENING);
	expect_part(rig.line, filter);
	expect_part(rig.line, "\"working\"");
	expect_part(rig_hear(&rig), "\"completed\"");
	expect_part(rig.line, filter);
	expect_part(rig.line, "\"result\":{\"resultType\":\"complete\",\"content\":[");
	rig_hear_nothing(&rig);
}

Test(mcp_tasks, only_clients_that_declared_tasks_listen_to_them)
{
	asking_say(&rig, "1", CAPABILITY_TASKS, "hang", "");
	(void)rig_hear(&rig);
	listen_to("", "{\"taskIds\":[\"" HUNG_ID "\"]}");
	expect_part(rig.line, "\"notifications\":{}");
	(void)ask("tasks/cancel", CAPABILITY_TASKS, HUNG_ID, "");
	rig_hear_nothing(&rig);
	listen_to(CAPABILITY_TASKS, "{\"taskIds\":[7]}");
	expect_part(rig.line, "\"code\":-32600"); /* the id is in flight */
	rig_say(&rig, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
		      "{\"requestId\":\"l\"}}");
	listen_to(CAPABILITY_TASKS, "{\"taskIds\":[7]}");
	expect_part(rig.line, "taskIds must be an array of strings, at most 256");
	listen_to(CAPABILITY_TASKS, "{\"taskIds\":\"" HUNG_ID "\"}");
	expect_part(rig.line, "\"code\":-32602");
}

/* Tasks of a host that nobody polls, straight at the table. */
Test(mcp_tasks, a_task_is_its_principals_and_is_forgotten)
{
	char id[TASK_ID_ROOM];
	struct host *host;
	struct task *task;

	asking_say(&rig, "1", CAPABILITY_TASKS, "hang", "");
	(void)rig_hear(&rig);
	host = asking_hung->session->host;
	(void)strcpy(id, made_id());
	task = tasks_find(host, 0, id, strlen(id));
	cr_assert_not_null(task);
	cr_assert_null(tasks_find(host, 1, id, strlen(id)));
	cr_assert_null(tasks_find(host, 0, id, strlen(id) - 1));
	fake_clock_ahead_ms = 100 * TASK_KEPT_MS; /* it still runs */
	cr_assert_eq(tasks_find(host, 0, id, strlen(id)), task);
	expect_part(get(id), "\"ttlMs\":3636");
	call_fail(asking_hung, "done");
	fake_clock_ahead_ms += TASK_KEPT_MS - 1000;
	expect_part(get(id), "\"status\":\"completed\"");
	fake_clock_ahead_ms += 2000;
	expect_part(get(id), "\"code\":-32602");
	cr_assert_null(host->tasks);
}
