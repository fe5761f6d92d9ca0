/* SPDX-License-Identifier: Apache-2.0
 *
 * Both eras on one connection: which request belongs to which, and what each era's answers carry.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/text/names.h"
#include "rig.h"

#define META_VERSION "\"io.modelcontextprotocol/protocolVersion\":"
#define META_CAPABILITIES "\"io.modelcontextprotocol/clientCapabilities\":"
#define META META_VERSION "\"2026-07-28\"," META_CAPABILITIES "{}"
#define MODERN "\"params\":{\"_meta\":{" META "}}"
#define SERVER_INFO                                                                                \
	"\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"msp\",\"title\":"           \
	"\"Model Sandbox Protocol\",\"version\":\"" MSP_VERSION "\"}"
/* The same in both eras but for the extensions; what never changes is not said to. */
#define CAPABILITIES                                                                               \
	"\"capabilities\":{\"tools\":{\"listChanged\":true},\"prompts\":{},\"resources\":{"        \
	"\"listChanged\":true,\"subscribe\":true},"                                                \
	"\"completions\":{},\"logging\":{}"
#define EXTENSIONS ",\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}"

static struct rig rig;

static void open_rig(void)
{
	rig_open(&rig, true);
}

static void close_rig(void)
{
	rig_close(&rig);
}

TestSuite(mcp_era, .init = open_rig, .fini = close_rig);

static const char *ask(const char *method, const char *rest)
{
	char line[2048];

	(void)snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\"%s%s}",
		       method, rest[0] ? "," : "", rest);
	return rig_ask(&rig, line);
}

static void expect_error(const char *method, const char *rest, int code)
{
	char frame[64];

	(void)snprintf(frame, sizeof(frame), "\"id\":1,\"error\":{\"code\":%d,", code);
	expect_part(ask(method, rest), frame);
}

static const char *initialize(const char *version)
{
	char params[256];

	(void)snprintf(params, sizeof(params),
		       "\"params\":{\"protocolVersion\":%s,\"capabilities\":{},\"clientInfo\":"
		       "{\"name\":\"t\",\"version\":\"1\"}}",
		       version);
	return ask("initialize", params);
}

Test(mcp_era, initialize_negotiates)
{
	static const char *const known[] = { "2024-11-05", "2025-03-26", "2025-06-18",
					     "2025-11-25" };
	static const char *const unknown[] = { "\"2026-07-28\"", "\"1999-01-01\"", "\"\"", "7",
					       "null" };
	char quoted[32], part[64];

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		(void)snprintf(quoted, sizeof(quoted), "\"%s\"", known[i]);
		(void)snprintf(part, sizeof(part), "\"result\":{\"protocolVersion\":\"%s\",",
			       known[i]);
		expect_part(initialize(quoted), part);
	}
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		expect_part(initialize(unknown[i]), "\"protocolVersion\":\"2025-11-25\"");
	expect_part(ask("initialize", ""), "\"protocolVersion\":\"2025-11-25\"");
}

Test(mcp_era, initialize_says_who_and_what)
{
	const char *line = initialize("\"2025-06-18\"");

	expect_part(line, CAPABILITIES "}");
	expect_part(line, "\"serverInfo\":{\"name\":\"msp\"");
	expect_part(line, "\"instructions\":\"");
	expect_part(line, "run_command");
	expect_part(line, "run_code");
	expect_part(line, "no network");
	expect_part(line, "fallback limits");
	expect_part(line, "`send_input`");
	cr_assert_null(strstr(line, "resultType"));
}

Test(mcp_era, discover)
{
	const char *line = ask("server/discover", MODERN);

	expect_part(line, "\"id\":1,\"result\":{\"resultType\":\"complete\",");
	expect_part(line, "\"supportedVersions\":[\"2026-07-28\"]");
	expect_part(line, CAPABILITIES EXTENSIONS "}");
	expect_part(line, "\"instructions\":\"");
	expect_part(line, "\"ttlMs\":");
	expect_part(line, "\"cacheScope\":\"private\"");
	expect_part(line, SERVER_INFO);
}

Test(mcp_era, modern_methods)
{
	const char *line = ask("tools/list", MODERN);

	expect_part(line, "\"resultType\":\"complete\"");
	expect_part(line, "\"ttlMs\":");
	expect_part(line, "\"cacheScope\":");
	expect_part(line, SERVER_INFO);
	expect_error("initialize", MODERN, -32601);
	expect_error("ping", MODERN, -32601);
	expect_error("logging/setLevel", MODERN, -32601);
	expect_error("resources/subscribe", MODERN, -32601);
	expect_error("no/such", MODERN, -32601);
}

Test(mcp_era, legacy_methods)
{
	const char *line = ask("tools/list", "");

	cr_assert_null(strstr(line, "resultType"));
	cr_assert_null(strstr(line, "ttlMs"));
	cr_assert_null(strstr(line, "_meta"));
	expect_part(ask("ping", ""), "\"result\":{}");
	expect_error("server/discover", "", -32601);
	expect_error("server/discover", "\"params\":{\"_meta\":{\"progressToken\":1}}", -32601);
	expect_error("subscriptions/listen", "\"params\":{\"notifications\":{}}", -32601);
}

Test(mcp_era, log_levels)
{
	static const char *const levels[] = { "debug", "info",     "notice", "warning",
					      "error", "critical", "alert",  "emergency" };
	char params[64];

	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		(void)snprintf(params, sizeof(params), "\"params\":{\"level\":\"%s\"}", levels[i]);
		expect_part(ask("logging/setLevel", params), "\"id\":1,\"result\":{}}");
	}
	expect_error("logging/setLevel", "\"params\":{\"level\":\"loud\"}", -32602);
	expect_part(rig.line, "emergency");
	expect_error("logging/setLevel", "\"params\":{\"level\":7}", -32602);
	expect_error("logging/setLevel", "", -32602);
}

Test(mcp_era, a_claim_must_be_whole)
{
	expect_error("tools/list", "\"params\":{\"_meta\":{" META_VERSION "\"2026-07-28\"}}",
		     -32602);
	expect_error("tools/list", "\"params\":{\"_meta\":{" META_CAPABILITIES "{}}}", -32602);
	expect_error("tools/list",
		     "\"params\":{\"_meta\":{" META_VERSION "7," META_CAPABILITIES "{}}}", -32602);
	expect_error("tools/list",
		     "\"params\":{\"_meta\":{" META_VERSION "\"2026-07-28\"," META_CAPABILITIES
		     "[]}}",
		     -32602);
	expect_error("tools/list",
		     "\"params\":{\"_meta\":{" META ",\"io.modelcontextprotocol/clientInfo\":7}}",
		     -32602);
	/* what is missing comes before what is unknown */
	expect_error("no/such", "\"params\":{\"_meta\":{" META_VERSION "\"2026-07-28\"}}", -32602);
}

Test(mcp_era, versions_that_are_not_supported)
{
	const char *rest =
		"\"params\":{\"_meta\":{" META_VERSION "\"2099-01-01\"," META_CAPABILITIES "{}}}";

	expect_error("tools/list", rest, -32022);
	expect_part(rig.line,
		    "\"data\":{\"supported\":[\"2026-07-28\"],\"requested\":\"2099-01-01\"}");
	expect_error("server/discover", rest, -32022);
	expect_error("tools/list",
		     "\"params\":{\"_meta\":{" META_VERSION "\"2025-11-25\"," META_CAPABILITIES
		     "{}}}",
		     -32022);
}

/* `initialize` without a valid modern _meta is the legacy handshake. */
Test(mcp_era, initialize_with_another_meta)
{
	expect_part(ask("initialize",
			"\"params\":{\"protocolVersion\":\"2025-06-18\",\"_meta\":{" META_VERSION
			"\"2099-01-01\"," META_CAPABILITIES "{}}}"),
		    "\"protocolVersion\":\"2025-06-18\"");
	expect_part(ask("initialize", "\"params\":{\"_meta\":{" META_VERSION "\"2026-07-28\"}}"),
		    "\"protocolVersion\":\"2025-11-25\"");
}

Test(mcp_era, both_on_one_connection)
{
	expect_part(ask("server/discover", MODERN), "supportedVersions");
	(void)initialize("\"2025-06-18\"");
	expect_part(ask("tools/list", MODERN), "ttlMs");
	cr_assert_null(strstr(ask("tools/list", ""), "ttlMs"));
}

static const char *call(const char *meta)
{
	struct ipc_execution_done done = { .verdict = VERDICT_EXITED };
	struct rig_workload workload;
	char line[1024];

	(void)snprintf(
		line, sizeof(line),
		"{\"jsonrpc\":\"2.0\",\"id\":\"c\",\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"run_command\",\"arguments\":{\"command\":\"true\"}%s}}",
		meta);
	rig_say(&rig, line);
	done.request = rig_body(&rig, execution_start)->request;
	workload = rig_start(&rig, done.request);
	rig_workload_end(&workload);
	rig_done(&rig, &done);
	return rig_hear(&rig);
}

Test(mcp_era, calls)
{
	const char *line = call("");

	cr_assert_null(strstr(line, "resultType"));
	expect_part(line, "\"_meta\":{\"msp/execution\":{\"verdict\":\"exited\",\"exit_code\":0,");
	line = call(",\"_meta\":{" META ",\"progressToken\":5}");
	expect_part(line, "\"result\":{\"resultType\":\"complete\",\"content\":[");
	expect_part(line, SERVER_INFO ",\"msp/execution\":{");
}

Test(mcp_era, cursors)
{
	expect_part(ask("tools/list", "\"params\":{\"cursor\":\"\"}"), "\"tools\":[");
	expect_error("tools/list", "\"params\":{\"cursor\":\"abc\"}", -32602);
	expect_error("tools/list", "\"params\":{\"cursor\":7}", -32602);
}

/* The list is the same, byte for byte, whoever asks and however often. */
Test(mcp_era, lists_are_deterministic)
{
	char *first = strdup(ask("tools/list", ""));

	cr_assert_not_null(first);
	(void)initialize("\"2025-06-18\"");
	cr_assert_str_eq(ask("tools/list", ""), first);
	free(first);
}
