/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client may send by mistake or malice, and the answer it gets. After each, the connection
 * lives.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/text/names.h"
#include "io/lines.h"
#include "mcp/core/message.h"
#include "rig.h"

static struct rig rig;

static void open_rig(void)
{
	rig_open(&rig, true);
}

static void close_rig(void)
{
	cr_assert_str_eq(rig_ask(&rig, "{\"jsonrpc\":\"2.0\",\"id\":\"end\",\"method\":\"ping\"}"),
			 "{\"jsonrpc\":\"2.0\",\"id\":\"end\",\"result\":{}}");
	rig_close(&rig);
}

TestSuite(mcp_edge, .init = open_rig, .fini = close_rig);

/* Copy a text with its terminator; its length. */
static size_t put_text(char *to, const char *text)
{
	const size_t size = strlen(text);

	memcpy(to, text, size + 1);
	return size;
}

static void expect_error(const char *line, const char *id, int code)
{
	char frame[256];

	(void)snprintf(frame, sizeof(frame),
		       "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,", id, code);
	rig_say(&rig, line);
	cr_assert_eq(strncmp(rig_hear(&rig), frame, strlen(frame)), 0, "%s\ngave %s", line,
		     rig.line);
}

static void expect_pong(const char *line, const char *id)
{
	char frame[256];

	(void)snprintf(frame, sizeof(frame), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}", id);
	rig_say(&rig, line);
	cr_assert_str_eq(rig_hear(&rig), frame, "%s", line);
}

static void expect_silence(const char *line)
{
	rig_say(&rig, line);
	rig_hear_nothing(&rig);
	rig_take_nothing(&rig);
}

Test(mcp_edge, bad_json)
{
	expect_error("nonsense", "null", -32700);
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", "null", -32700);
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}", "null", -32700);
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\xffng\"}", "null", -32700);
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\xed\xa0\x80ng\"}", "null",
		     -32700);
}

Test(mcp_edge, no_object)
{
	expect_error("7", "null", -32600);
	expect_error("\"text\"", "null", -32600);
	expect_error("null", "null", -32600);
	expect_error("true", "null", -32600);
	expect_error("[]", "null", -32600);
}

Test(mcp_edge, wrong_jsonrpc)
{
	expect_error("{\"id\":1,\"method\":\"ping\"}", "null", -32600);
	expect_error("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", "null", -32600);
	expect_error("{\"jsonrpc\":2.0,\"id\":1,\"method\":\"ping\"}", "null", -32600);
	expect_error("{}", "null", -32600);
}

Test(mcp_edge, ids_that_are_none)
{
	static const char *const ids[] = {
		"null", "1.5", "1e400", "true", "{}", "[]", "9007199254740993", "-9007199254740993",
		"false"
	};
	char line[256];

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		(void)snprintf(line, sizeof(line),
			       "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}", ids[i]);
		expect_error(line, "null", -32600);
	}
}

Test(mcp_edge, ids_that_are_echoed_exactly)
{
	static const char *const ids[] = {
		"\"\"",
		"-7",
		"1.0",
		"0",
		"\"a\\u0041\\n\"",
		"\"\\ud800\"",
		"\"\xc3\xa9\"",
		"1e2",
		"9007199254740991",
		"\"\\\"\\\\\\/\"",
		"\"\\u0000\"",
		"-0",
	};
	char line[256];

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		(void)snprintf(line, sizeof(line),
			       "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}", ids[i]);
		expect_pong(line, ids[i]);
	}
}

Test(mcp_edge, an_id_that_is_too_long_to_echo)
{
	const size_t size = 70000;
	char *line = malloc(size + 128);
	size_t used;

	cr_assert_not_null(line);
	used = put_text(line, "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":\"");
	memset(line + used, 'i', size);
	memcpy(line + used + size, "\"}", 3);
	expect_error(line, "null", -32600);
	memcpy(line + used + 60000, "\"}", 3);
	rig_say(&rig, line);
	cr_assert_gt(strlen(rig_hear(&rig)), 60000);
	free(line);
}

Test(mcp_edge, no_method)
{
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1}", "1", -32600);
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", "1", -32600);
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":null}", "1", -32600);
	expect_error("{\"jsonrpc\":\"2.0\"}", "null", -32600);
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}", "1", -32601);
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/lost\"}", "1", -32601);
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\\u0000\\ud800\"}", "1", -32601);
}

Test(mcp_edge, params)
{
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", "1",
		     -32602);
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":7}", "1",
		     -32602);
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":\"x\"}", "1",
		     -32602);
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":[]}}",
		     "1", -32602);
	expect_pong("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":null}", "1");
	expect_pong(
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":null}}",
		"1");
	expect_pong("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"x\":1}}", "1");
}

Test(mcp_edge, other_members_are_accepted)
{
	expect_pong("{\"extra\":[1],\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"more\":{}}",
		    "1");
}

Test(mcp_edge, white_space_and_line_ends)
{
	expect_pong("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r", "1");
	expect_pong("\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "1");
	expect_pong("\n\r\n\n \t{ \"jsonrpc\" : \"2.0\" , \"id\" : 1 ,\t\"method\" : \"ping\" } ",
		    "1");
	expect_silence("");
	expect_silence("\r");
}

Test(mcp_edge, a_line_of_blanks_is_not_empty)
{
	expect_error("   ", "null", -32700);
	expect_error("\t \r", "null", -32700);
}

Test(mcp_edge, what_needs_no_answer)
{
	expect_silence("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
	expect_silence("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unknown\",\"params\":{}}");
	expect_silence("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unknown\",\"params\":[]}");
	expect_silence("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}");
	expect_silence("{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}");
	expect_silence("{\"jsonrpc\":\"2.0\",\"method\":\"initialize\"}");
	expect_silence("{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}");
	expect_silence("{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":1,\"message\":\"m\"}}");
	expect_silence(
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"m\"}}");
	expect_silence("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
		       "{\"requestId\":7}}");
	expect_silence("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
		       "{\"requestId\":null}}");
	expect_silence(
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{}}");
	expect_silence("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}");
}

Test(mcp_edge, a_call_without_id_never_runs)
{
	expect_silence("{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"name\":"
		       "\"run_command\",\"arguments\":{\"command\":\"true\"}}}");
}

Test(mcp_edge, an_id_in_flight)
{
	struct rig_workload workload = rig_run(&rig, "5");
	const struct ipc_execution_done done = { .request = workload.request };

	expect_error("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}", "5", -32600);
	expect_error(
		"{\"jsonrpc\":\"2.0\",\"id\":5.0,\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"run_command\",\"arguments\":{\"command\":\"true\"}}}",
		"5.0", -32600);
	rig_take_nothing(&rig);
	expect_pong("{\"jsonrpc\":\"2.0\",\"id\":\"5\",\"method\":\"ping\"}", "\"5\"");
	rig_workload_end(&workload);
	rig_done(&rig, &done);
	expect_part(rig_hear(&rig), "\"id\":5,\"result\":");
	expect_pong("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}", "5");
}

Test(mcp_edge, nesting)
{
	char line[2048];
	char *at = line;

	at += put_text(at, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":");
	memset(at, '[', 126);
	memset(at + 126, ']', 126);
	memcpy(at + 252, "}}", 3);
	expect_pong(line, "1");
	memset(at, '[', 127);
	memset(at + 127, ']', 127);
	memcpy(at + 254, "}}", 3);
	expect_error(line, "1", -32600);
}

Test(mcp_edge, deep_nesting)
{
	const size_t depth = 200000;
	char *line = malloc(2 * depth + 128);
	char *at = line;

	cr_assert_not_null(line);
	at += put_text(at, "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":{\"a\":");
	memset(at, '[', depth);
	memset(at + depth, ']', depth);
	memcpy(at + 2 * depth, "},\"id\":1}", 10);
	expect_error(line, "1", -32600);
	free(line);
}

Test(mcp_edge, duplicate_keys)
{
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"method\":\"ping\"}", "1",
		     -32600);
	expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", "null", -32600);
	expect_error(
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":1,\"a\":1}}",
		"1", -32600);
}

Test(mcp_edge, long_lines)
{
	const size_t size = LINE_BYTES_MAX + 1;
	char *line = malloc(size + 1);
	char *at = line;

	cr_assert_not_null(line);
	at += put_text(at,
		       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"a\":\"");
	memset(at, 'a', 1000000);
	memcpy(at + 1000000, "\"}}", 4);
	expect_pong(line, "1");
	memset(line, 'x', size);
	line[size] = '\0';
	expect_error(line, "null", -32600);
	line[size - 1] = '\0'; /* the longest that is looked at */
	expect_error(line, "null", -32700);
	free(line);
}

#define PING_1 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define PING_2 "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}"
#define PONG_1 "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"
#define PONG_2 "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}"
#define INITIALIZE(version)                                                                        \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" \
	"\"" version "\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"

Test(mcp_edge, batches_belong_to_one_revision)
{
	static const char *const others[] = { INITIALIZE("2024-11-05"), INITIALIZE("2025-06-18"),
					      INITIALIZE("2025-11-25") };

	expect_error("[" PING_1 "]", "null", -32600);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		(void)rig_ask(&rig, others[i]);
		expect_error("[" PING_1 "]", "null", -32600);
	}
	(void)rig_ask(&rig, INITIALIZE("2025-03-26"));
	cr_assert_str_eq(rig_ask(&rig, "[" PING_1 "]"), "[" PONG_1 "]");
}

Test(mcp_edge, batches)
{
	(void)rig_ask(&rig, INITIALIZE("2025-03-26"));
	cr_assert_str_eq(rig_ask(&rig, "[" PING_1 "," PING_2 "]"), "[" PONG_1 "," PONG_2 "]");
	expect_error("[]", "null", -32600);
	expect_silence("[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}]");
	expect_part(rig_ask(&rig, "[1," PING_1 "]"), "[{\"jsonrpc\":\"2.0\",\"id\":null,\"error\"");
	expect_part(rig.line, PONG_1 "]");
	expect_part(rig_ask(&rig, "[" INITIALIZE("2025-11-25") "]"), "\"code\":-32600");
	cr_assert_str_eq(rig_ask(&rig, "[" PING_2 "]"),
			 "[" PONG_2 "]"); /* it was not carried out */
}

Test(mcp_edge, a_batch_is_answered_when_all_of_it_is)
{
	static struct ipc_execution_done done;
	struct rig_workload workload;

	(void)rig_ask(&rig, INITIALIZE("2025-03-26"));
	rig_say(&rig,
		"[" PING_1 ",{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":"
		"{\"name\":\"run_command\",\"arguments\":{\"command\":\"true\"}}}]");
	rig_hear_nothing(&rig);
	workload = rig_start(&rig, rig_body(&rig, execution_start)->request);
	rig_workload_end(&workload);
	done.request = workload.request;
	rig_done(&rig, &done);
	expect_part(rig_hear(&rig), "[" PONG_1 ",{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":");
	rig_say(&rig,
		"[" PING_1 ",{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/call\",\"params\":"
		"{\"name\":\"run_command\",\"arguments\":{\"command\":\"true\"}}}]");
	(void)rig_take(&rig, IPC_TYPE_execution_start);
	rig_say(&rig, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
		      "{\"requestId\":8}}");
	cr_assert_str_eq(rig_hear(&rig), "[" PONG_1 "]");
}

Test(mcp_edge, batches_are_bounded)
{
	static char line[16384];
	char *at = line;

	(void)rig_ask(&rig, INITIALIZE("2025-03-26"));
	for (int i = 0; i < 101; i++)
		at += put_text(at, i ? "," PING_1 : "[" PING_1);
	(void)put_text(at, "]");
	expect_error(line, "null", -32600);
}

Test(mcp_edge, any_order_is_served)
{
	expect_part(rig_ask(&rig, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}"),
		    "\"tools\":[");
	expect_part(rig_ask(&rig, INITIALIZE("2025-06-18")), "\"protocolVersion\":\"2025-06-18\"");
	expect_part(rig_ask(&rig, INITIALIZE("2025-11-25")), "\"protocolVersion\":\"2025-11-25\"");
}

/* One line of bytes from a generator that never changes: nothing breaks, everything is answered. */
Test(mcp_edge, noise)
{
	static const char pieces[][12] = { "{",        "}",           "[",    "]",
					   "\"id\":",  "\"",          ",",    ":",
					   "1",        "\\u",         "null", "\xff",
					   "\xc3\xa9", "\"method\":", "true", "\\" };
	char line[512];
	unsigned int state = 42;

	for (int round = 0; round < 3000; round++) {
		size_t size = 0;

		for (int i = 0; i < 24; i++) {
			state = state * 1103515245 + 12345;
			const char *piece = pieces[(state >> 16) % 16];

			memcpy(line + size, piece, strlen(piece));
			size += strlen(piece);
		}
		line[size] = '\0';
		rig_say(&rig, line);
		(void)rig_hear(&rig);
	}
}

/* A transport may look at the id before the message's method does. */
Test(mcp_edge, an_id_that_is_read_twice_is_echoed_as_it_came)
{
	static const char *const ids[] = { "\"\\u0041\"", "\"\\\"\"", "\"\\\\\"",
					   "\"\\ud800\"", "\"\"",     "1.0" };
	struct json_document document;
	struct rpc_id first = { 0 }, second = { 0 };
	char text[64];

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		cr_assert_eq(json_read(&document, text, put_text(text, ids[i])), JSON_OK);
		cr_assert(rpc_id_read(json_top(&document), &first));
		cr_assert(rpc_id_read(json_top(&document), &second));
		cr_assert_eq(second.raw.size, strlen(ids[i]));
		cr_assert_eq(memcmp(second.raw.bytes, ids[i], second.raw.size), 0, "%s", ids[i]);
		cr_assert(rpc_id_equals(&first, &second));
		rpc_id_done(&first);
		rpc_id_done(&second);
		json_done(&document);
	}
}
