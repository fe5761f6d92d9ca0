/* SPDX-License-Identifier: Apache-2.0
 *
 * completion/complete: values for arguments of prompts and variables of resources' URIs.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "mcp/prompts/completion.h"
#include "rig.h"

#define PROMPT(name) "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"" name "\"}"
#define RESOURCE(uri) "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"" uri "\"}"
#define ARGUMENT(name, value) "\"argument\":{\"name\":\"" name "\",\"value\":\"" value "\"}"

static struct rig rig;

static void open_rig(void)
{
	rig_open(&rig, true);
}

static void close_rig(void)
{
	rig_close(&rig);
}

TestSuite(mcp_completion, .init = open_rig, .fini = close_rig);

static const char *ask(const char *params)
{
	char line[2048];

	(void)snprintf(line, sizeof(line),
		       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"completion/complete\","
		       "\"params\":{%s}}",
		       params);
	return rig_ask(&rig, line);
}

static void expect_refusal(const char *params, const char *part)
{
	expect_part(ask(params), "\"error\":{\"code\":-32602,");
	expect_part(rig.line, part);
}

Test(mcp_completion, names_and_languages)
{
	expect_part(ask(PROMPT("try_code") "," ARGUMENT("language", "")),
		    "\"result\":{\"completion\":{\"values\":[\"python\",\"bash\"],\"total\":2,"
		    "\"hasMore\":false}}");
	expect_part(ask(PROMPT("try_code") "," ARGUMENT("language", "py")),
		    "\"values\":[\"python\"],\"total\":1");
	expect_part(ask(PROMPT("try_code") "," ARGUMENT("language", "python\\u0000")),
		    "\"values\":[],\"total\":0");
	expect_part(ask(PROMPT("explore_sandbox") "," ARGUMENT("profile", "s")),
		    "\"values\":[\"strict\"]");
	expect_part(ask(PROMPT("try_code") "," ARGUMENT("task", "w")), "\"values\":[],\"total\":0");
}

Test(mcp_completion, variables_of_resources)
{
	expect_part(ask(RESOURCE("policy://{profile}") "," ARGUMENT("profile", "d")),
		    "\"values\":[\"default\"],\"total\":1,\"hasMore\":false");
	expect_part(ask(RESOURCE("policy://{profile}") "," ARGUMENT(
			    "profile",
			    "x") ","
				 "\"context\":{\"arguments\":{\"profile\":\"y\",\"more\":\"z\"}}"),
		    "\"values\":[]");
}

Test(mcp_completion, modern)
{
	expect_part(ask(PROMPT("try_code") "," ARGUMENT(
			    "language",
			    "b") ",\"_meta\":{"
				 "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
				 "\"io.modelcontextprotocol/clientCapabilities\":{}}"),
		    "\"result\":{\"resultType\":\"complete\",\"completion\":{\"values\":[\"bash\"]"
		    ",\"total\":1,\"hasMore\":false},\"_meta\":{");
}

Test(mcp_completion, refusals)
{
	expect_refusal("", "argument must be");
	expect_refusal(ARGUMENT("language", ""), "ref must be");
	expect_refusal(PROMPT("try_code"), "argument must be");
	expect_refusal(PROMPT("try_code") ",\"argument\":{\"name\":\"language\"}",
		       "argument.value must be a string");
	expect_refusal("\"ref\":{\"type\":\"ref/other\"}," ARGUMENT("a", "b"), "ref must be");
	expect_refusal("\"ref\":{\"type\":\"ref/prompt\"}," ARGUMENT("a", "b"), "ref.name");
	expect_refusal("\"ref\":{\"type\":\"ref/resource\"}," ARGUMENT("a", "b"), "ref.uri");
	expect_refusal("\"ref\":7," ARGUMENT("a", "b"), "ref must be");
	expect_refusal(PROMPT("none") "," ARGUMENT("a", "b"), "Unknown prompt");
	expect_refusal(PROMPT("try_code") "," ARGUMENT("a", "b"), "no argument of this name: a");
	expect_refusal(RESOURCE("policy://default") "," ARGUMENT("profile", ""),
		       "Unknown URI template");
	expect_refusal(RESOURCE("policy://{profile}") "," ARGUMENT("x", ""),
		       "no variable of this name: x");
	expect_refusal(RESOURCE("policy://{profile}") "," ARGUMENT("profile", "") ",\"context\":7",
		       "context must be an object");
}

/* More than 100 values: the first hundred, and that there are more. */
Test(mcp_completion, at_most_a_hundred)
{
	struct buffer out = { 0 };
	struct json_writer writer = { .out = &out };
	struct completion completion = { .prefix = "v", .prefix_size = 1, .writer = &writer };
	char value[16];

	for (unsigned int i = 0; i < 150; i++) {
		(void)snprintf(value, sizeof(value), "v%u", i);
		completion_offer(&completion, value);
		completion_offer(&completion, "other");
	}
	cr_assert_eq(completion.total, 150);
	buffer_append(&out, "", 1);
	expect_part(out.bytes, "\"v99\"");
	cr_assert_null(strstr(out.bytes, "v100"));
	cr_assert_null(strstr(out.bytes, "other"));
	buffer_done(&out);
}
