/* SPDX-License-Identifier: Apache-2.0
 *
 * The logs of executions as resources: for reading, byte for byte, and who is told that they grow.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/text/names.h"
#include "rig.h"

static struct rig rig;
static struct rig_workload workload;
static char base[128]; /* the log's URI */

static void open_rig(void)
{
	rig_open(&rig, true);
}

static void close_rig(void)
{
	rig_workload_end(&workload);
	rig_close(&rig);
}

TestSuite(mcp_logs, .init = open_rig, .fini = close_rig);

static const char *ask(const char *method, const char *params)
{
	char line[2048];

	(void)snprintf(line, sizeof(line),
		       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s}}", method,
		       params);
	return rig_ask(&rig, line);
}

/* An execution that goes on after its call; its log's URI is known then. */
static void start(void)
{
	const char *handle;

	rig_say(&rig, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\""
		      ":\"run_command\",\"arguments\":{\"command\":\"make it\",\"yield_ms\":0}}}");
	workload = rig_start(&rig, rig_body(&rig, execution_start)->request);
	handle = strstr(rig_hear(&rig), "\"handle\":\"");
	cr_assert_not_null(handle, "%s", rig.line);
	(void)snprintf(base, sizeof(base), "sandbox://%.26s/log/1",
		       handle + strlen("\"handle\":\""));
}

static void finish(void)
{
	const struct ipc_execution_done done = { .request = workload.request,
						 .verdict = VERDICT_EXITED,
						 .exit_code = 3,
						 .wall_us = 20000 };

	rig_workload_end(&workload);
	rig_done(&rig, &done);
}

static void print(int fd, const void *bytes, size_t size)
{
	cr_assert_eq(write(fd, bytes, size), (ssize_t)size);
	rig_turn(&rig);
}

static const char *read_log(const char *suffix)
{
	char params[256];

	(void)snprintf(params, sizeof(params), "\"uri\":\"%s%s\"", base, suffix);
	return ask("resources/read", params);
}

static void expect_meta(const char *format, const char *end)
{
	char part[256];

	(void)snprintf(part, sizeof(part), "\"_meta\":{\"msp/log\":{%s%s", format, end);
	expect_part(rig.line, part);
}

Test(mcp_logs, listed_and_read)
{
	char part[256];

	start();
	print(workload.out, "one\ntwo", 7);
	print(workload.err, "bad\n", 4);
	expect_part(read_log(""),
		    "\"text\":\"one\\ntwo\\n[stderr]\\nbad\\n[still running]\\n\"}]}");
	finish();
	expect_part(read_log(""),
		    "\"mimeType\":\"text/plain\",\"text\":\"one\\ntwo\\n[stderr]\\nbad"
		    "\\n[exit 3 · 0.02 s]\\n\"}]}");
	(void)snprintf(part, sizeof(part),
		       "\"resources\":[{\"uri\":\"%s\",\"name\":\"%.26s-1\","
		       "\"title\":\"Log of: make it\"",
		       base, base + strlen("sandbox://"));
	expect_part(ask("resources/list", ""), part);
	expect_part(rig.line, "\"priority\":0.3,\"lastModified\":\"2");
	expect_part(rig.line, "\"size\":11},{\"uri\":\"policy://default\"");
}

Test(mcp_logs, streams)
{
	start();
	print(workload.out, "one\ntwo", 7);
	print(workload.err, "\xff\x00z", 3);
	expect_part(read_log("/stdout"), "\"text\":\"one\\ntwo\"");
	expect_meta("\"offset\":0,\"size\":7,\"total\":7,\"running\":true", "}}}]}");
	expect_part(read_log("/stdout/4"), "\"text\":\"two\"");
	expect_part(read_log("/stdout/7"), "\"text\":\"\"");
	expect_part(read_log("/stderr"),
		    "\"mimeType\":\"application/octet-stream\",\"blob\":\"/wB6\"");
	expect_part(read_log("/stderr/2"), "\"mimeType\":\"text/plain\",\"text\":\"z\"");
	expect_part(read_log(""), "[stderr]\\n\\\\xff\\\\x00z\\n[still running]");
	finish();
	expect_part(read_log("/stdout"), "\"running\":false");
}

Test(mcp_logs, those_that_are_not_there)
{
	static const char *const suffixes[] = { "2",          "/stdout/8",
						"/stdout/-1", "/stdout/x",
						"/stdin",     "/stdout/9999999999999999",
						"/",          "/stdout/0x1" };

	start();
	print(workload.out, "one\ntwo", 7);
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		expect_part(read_log(suffixes[i]), "\"code\":-32002");
		expect_part(rig.line, "sandbox://{id}/log/{execution}");
	}
}

static void print_much(size_t size)
{
	static char block[32768];

	memset(block, 'x', sizeof(block));
	for (size_t i = 0; i < size / sizeof(block); i++)
		print(workload.out, block, sizeof(block));
}

/* The middle of a long output is not kept: the text says so where it is missing, and whoever asks
 * for a byte of it hears where to go on. */
Test(mcp_logs, a_gap)
{
	char *next;

	rig.log_bytes = 65536;
	start();
	print_much(1 << 20);
	expect_part(read_log(""), "x\\n[");
	expect_part(rig.line, " bytes of stdout are not kept]\\nx");
	(void)read_log("/stdout");
	next = strstr(rig.line, "\"next\":\"sandbox://");
	cr_assert_not_null(next);
	cr_assert_eq(strncmp(next + strlen("\"next\":\""), base, strlen(base)), 0);
	expect_part(read_log("/stdout/600000"), "\"code\":-32602");
	expect_part(rig.line, "is not kept from byte 600000 on; read on at sandbox://");
}

/* No answer is longer than it may be, and each says where to go on. */
Test(mcp_logs, pieces)
{
	char part[256];

	start();
	print_much(1 << 19);
	(void)snprintf(part, sizeof(part),
		       "x\\n[stdout has 524288 bytes; this is as far as byte 126976, read on at "
		       "%s/stdout/126976]\\n[still running]\\n\"",
		       base);
	expect_part(read_log(""), part);
	(void)read_log("/stdout/126976");
	expect_meta("\"offset\":126976,\"size\":131072,\"total\":524288,\"running\":true,",
		    "\"next\":");
	(void)read_log("/stdout/393216");
	expect_meta("\"offset\":393216,\"size\":131072,\"total\":524288,\"running\":true", "}");
}

/* Escaping makes six bytes of one at worst. */
Test(mcp_logs, the_worst_bytes)
{
	static char block[32768];

	memset(block, 1, sizeof(block));
	start();
	for (int i = 0; i < 4; i++)
		print(workload.out, block, sizeof(block));
	expect_part(read_log("/stdout"), "\"size\":131072,\"total\":131072");
	cr_assert_lt(strlen(rig.line), 1 << 20);
	cr_assert_lt(strlen(read_log("")), 1 << 20);
}

/* A piece never ends within a character. */
Test(mcp_logs, characters_stay_whole)
{
	start();
	print(workload.out, "a\xc3", 2);
	expect_part(read_log("/stdout"), "\"blob\":\"YcM=\"");
	print(workload.out, "\xbc", 1);
	expect_part(read_log("/stdout"), "\"text\":\"a\xc3\xbc\"");
}

Test(mcp_logs, completion)
{
	char params[512], part[128];
	static const char format[] =
		"\"ref\":{\"type\":\"ref/resource\",\"uri\":\"sandbox://{id}/log/{execution}\"},"
		"\"argument\":{\"name\":\"%s\",\"value\":\"%s\"},\"context\":{\"arguments\":{%s}}";

	start();
	(void)snprintf(params, sizeof(params), format, "id", "", "");
	(void)snprintf(part, sizeof(part), "\"values\":[\"%.26s\"],\"total\":1",
		       base + strlen("sandbox://"));
	expect_part(ask("completion/complete", params), part);
	(void)snprintf(params, sizeof(params), format, "execution", "", "");
	expect_part(ask("completion/complete", params), "\"values\":[]");
	(void)snprintf(part, sizeof(part), "\"id\":\"%.26s\"", base + strlen("sandbox://"));
	(void)snprintf(params, sizeof(params), format, "execution", "", part);
	expect_part(ask("completion/complete", params), "\"values\":[\"1\"]");
	expect_part(ask("completion/complete",
			"\"ref\":{\"type\":\"ref/resource\",\"uri\":"
			"\"sandbox://{id}/log/{execution}/{stream}\"},"
			"\"argument\":{\"name\":\"stream\",\"value\":\"stde\"}"),
		    "\"values\":[\"stderr\"]");
}

Test(mcp_logs, who_subscribed_is_told)
{
	char params[256], part[256];

	start();
	(void)snprintf(params, sizeof(params), "\"uri\":\"%s/stdout\"", base);
	expect_part(ask("resources/subscribe", params), "\"result\":{}");
	rig_hear_nothing(&rig);
	print(workload.out, "x", 1);
	(void)snprintf(part, sizeof(part),
		       "\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"%s"
		       "/stdout\"}}",
		       base);
	expect_part(rig_hear(&rig), part);
	rig_hear_nothing(&rig);
	expect_part(ask("resources/unsubscribe", params), "\"result\":{}");
	finish();
	rig_hear_nothing(&rig);
	(void)snprintf(params, sizeof(params), "\"uri\":\"%s/stdout/1\"", base);
	expect_part(ask("resources/subscribe", params), "subscribe to the whole resource");
}

/* What the client's log says of an execution, for the level that was set. */
static void finish_call(const char *meta, uint32_t verdict)
{
	struct ipc_execution_done done = { .verdict = verdict, .wall_us = 20000 };
	char line[1024];

	(void)snprintf(
		line, sizeof(line),
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\""
		":\"run_command\",\"arguments\":{\"command\":\"true\"}%s}}",
		meta);
	rig_say(&rig, line);
	done.request = rig_body(&rig, execution_start)->request;
	workload = rig_start(&rig, done.request);
	print(workload.out, "secret", 6);
	rig_workload_end(&workload);
	rig_done(&rig, &done);
}

static void expect_log(const char *part)
{
	expect_part(rig_hear(&rig),
		    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{"
		    "\"level\":\"debug\",\"logger\":\"msp.executions\",\"data\":{\"event\":");
	expect_part(rig.line, part);
	cr_assert_null(strstr(rig.line, "secret"));
}

Test(mcp_logs, the_log_of_a_legacy_client)
{
	finish_call("", VERDICT_EXITED);
	expect_part(rig_hear(&rig), "\"result\":");
	(void)ask("logging/setLevel", "\"level\":\"debug\"");
	finish_call("", VERDICT_EXITED);
	expect_log("\"started\",\"handle\":\"");
	expect_log("\"ended\",\"handle\":\"");
	expect_part(rig.line, "\"verdict\":\"exited\",\"exit_code\":0,\"wall_ms\":20}");
	expect_part(rig_hear(&rig), "\"result\":");
	(void)ask("logging/setLevel", "\"level\":\"info\"");
	finish_call("", VERDICT_INTERNAL);
	expect_part(rig_hear(&rig), "\"result\":");
}

/* In the modern era each request says what it wants to hear, whatever the session was told. */
Test(mcp_logs, the_log_of_a_modern_request)
{
	static const char plain[] =
		",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
		"\"io.modelcontextprotocol/clientCapabilities\":{}}";
	static const char loud[] =
		",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
		"\"io.modelcontextprotocol/clientCapabilities\":{},"
		"\"io.modelcontextprotocol/logLevel\":\"debug\"}";

	(void)ask("logging/setLevel", "\"level\":\"debug\"");
	finish_call(plain, VERDICT_INTERNAL);
	expect_part(rig_hear(&rig), "\"resultType\":");
	finish_call(loud, VERDICT_EXITED);
	expect_log("\"started\"");
	expect_log("\"ended\"");
	expect_part(rig_hear(&rig), "\"resultType\":");
}
