/* SPDX-License-Identifier: Apache-2.0
 *
 * Prompts: the list, the check of arguments, and what comes of the product's own.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rig.h"

#define META                                                                                       \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                   \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"

static struct rig rig;

static void open_rig(void)
{
	rig_open(&rig, true);
}

static void close_rig(void)
{
	rig_close(&rig);
}

TestSuite(mcp_prompts, .init = open_rig, .fini = close_rig);

static const char *ask(const char *method, const char *params)
{
	char line[2048];

	(void)snprintf(line, sizeof(line),
		       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s}}", method,
		       params);
	return rig_ask(&rig, line);
}

static void expect_refusal(const char *params, const char *part)
{
	expect_part(ask("prompts/get", params), "\"error\":{\"code\":-32602,");
	expect_part(rig.line, part);
}

Test(mcp_prompts, list)
{
	const char *line = ask("prompts/list", "");

	expect_part(line, "\"result\":{\"prompts\":[{\"name\":\"try_code\",\"title\":\"");
	expect_part(line, "\"name\":\"compare_commands\"");
	expect_part(line, "\"name\":\"explore_sandbox\"");
	expect_part(line, "{\"name\":\"language\",\"description\":\"The language to write the "
			  "program in\",\"required\":true}");
	expect_part(line, "\"required\":false}");
	cr_assert_null(strstr(line, "ttlMs"));
	cr_assert_null(strstr(line, "nextCursor"));
	line = ask("prompts/list", META);
	expect_part(line, "\"resultType\":\"complete\",\"prompts\":[");
	expect_part(line, "\"ttlMs\":300000,\"cacheScope\":\"private\"");
	expect_part(ask("prompts/list", "\"cursor\":\"x\""), "\"code\":-32602");
}

Test(mcp_prompts, values_go_into_the_text)
{
	const char *line =
		ask("prompts/get", "\"name\":\"try_code\",\"arguments\":{\"language\":\"python\","
				   "\"task\":\"sum the \\\"numbers\\\"\\nof a file\"}");

	expect_part(line, "\"result\":{\"description\":\"Writes a program");
	expect_part(line, "\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
			  "\"text\":\"Write a program in python for this task");
	expect_part(line, "\\n\\nsum the \\\"numbers\\\"\\nof a file\\n\\n");
	expect_part(line, "run_code");
	line = ask("prompts/get", "\"name\":\"compare_commands\",\"arguments\":{\"first\":\"sort -u"
				  "\",\"second\":\"sort | uniq\",\"input\":\"words\"}," META);
	expect_part(line, "\"result\":{\"resultType\":\"complete\",\"description\":");
	expect_part(line, "First command:\\n\\nsort -u\\n\\nSecond command:\\n\\nsort | uniq\\n");
	expect_part(line, "What they work on:\\n\\nwords");
}

/* What is left out has no heading, and the default profile is the server's. */
Test(mcp_prompts, optional_arguments)
{
	const char *line = ask("prompts/get", "\"name\":\"compare_commands\",\"arguments\":{"
					      "\"first\":\"a\",\"second\":\"b\"}");

	cr_assert_null(strstr(line, "What they work on"));
	line = ask("prompts/get", "\"name\":\"explore_sandbox\"");
	expect_part(line, "policy://default and");
	cr_assert_null(strstr(line, "Use the profile"));
	line = ask("prompts/get",
		   "\"name\":\"explore_sandbox\",\"arguments\":{\"profile\":\"strict\"}");
	expect_part(line, "Use the profile strict in every call");
	expect_part(line, "policy://strict and");
}

Test(mcp_prompts, refusals_name_what_is_wrong_and_what_there_is)
{
	expect_refusal("", "name must be a string");
	expect_refusal("\"name\":7", "name must be a string");
	expect_refusal("\"name\":\"no_such\"",
		       "Unknown prompt: no_such. The prompts are: try_code, "
		       "compare_commands, explore_sandbox");
	expect_refusal("\"name\":\"try_code\"",
		       "a required argument is missing: language. The arguments of try_code are: "
		       "language (required), task (required)");
	expect_refusal("\"name\":\"try_code\",\"arguments\":{\"language\":\"c\",\"task\":\"\"}",
		       "a required argument is missing: task");
	expect_refusal("\"name\":\"explore_sandbox\",\"arguments\":{\"profil\":\"x\"}",
		       "unknown argument: profil. The arguments of explore_sandbox are: profile");
	expect_refusal("\"name\":\"explore_sandbox\",\"arguments\":{\"profile\":7}",
		       "the value must be a string: profile");
	expect_refusal("\"name\":\"explore_sandbox\",\"arguments\":[]",
		       "arguments must be an object");
}

Test(mcp_prompts, a_value_has_a_bound)
{
	static const char start[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/get\","
				    "\"params\":{\"name\":\"explore_sandbox\",\"arguments\":"
				    "{\"profile\":\"";
	const size_t sizes[] = { 65536, 65537 };

	for (size_t i = 0; i < 2; i++) {
		char *value = malloc(sizes[i]);

		cr_assert_not_null(value);
		memset(value, 'x', sizes[i]);
		rig_say_bytes(&rig, start, sizeof(start) - 1);
		rig_say_bytes(&rig, value, sizes[i]);
		rig_say_bytes(&rig, "\"}}}\n", 5);
		expect_part(rig_hear(&rig), i == 0 ? "\"messages\":[" : "longer than 65536 bytes");
		free(value);
	}
}
