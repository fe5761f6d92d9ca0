/* SPDX-License-Identifier: Apache-2.0 */
#include "client/client_edit.h"

#include <criterion/criterion.h>
#include <string.h>

#include "client/json_text.h"
#include "client/toml_text.h"
#include "common/limits_mode.h"

static struct buffer steps[CLIENT_EDIT_STEPS];
static char why[CLIENT_EDIT_TEXT_MAX];

/* Edit a text for a client; the new text is in `steps`, the last of *ret_count. */
static enum client_edit edit(const char *name, const struct client_wish *wish, const char *old,
			     size_t *ret_count)
{
	struct buffer text = { 0 };
	enum client_edit result;

	buffer_append(&text, old, strlen(old));
	for (size_t i = 0; i < CLIENT_EDIT_STEPS; i++)
		buffer_done(&steps[i]);
	result = client_edit(client_find(name), wish, &text, steps, ret_count, why);
	buffer_done(&text);
	return result;
}

static const struct client_wish stdio = { .path = "/bin/msp", .limits = LIMITS_CGROUP };
static const struct client_wish http = { .path = "/bin/msp", .url = "http://h/mcp" };

static void becomes(const char *name, const struct client_wish *wish, const char *old,
		    const char *now)
{
	size_t count;
	enum client_edit result = edit(name, wish, old, &count);

	cr_assert_eq(result, CLIENT_EDIT_CHANGED, "%s: %s", old, why);
	cr_expect_str_eq(steps[count - 1].bytes, now);
	result = edit(name, wish, now, &count);
	cr_expect_eq(result, CLIENT_EDIT_SAME, "again: %s", now);
	cr_expect_eq(count, 0UL);
}

static void refused(const char *name, const char *old, const char *part)
{
	size_t count;

	cr_expect_eq(edit(name, &stdio, old, &count), CLIENT_EDIT_REFUSED, "%s", old);
	cr_expect(strstr(why, part), "%s: %s", old, why);
	cr_expect_eq(count, 0UL, "%s", old);
}

#define ALONE                                                                                      \
	"{\n  \"mcpServers\": {\n    \"msp\": {\n      \"command\": \"/bin/msp\",\n"               \
	"      \"args\": [\n        \"serve\"\n      ]\n    }\n  }\n}\n"

Test(client_edit, a_new_file)
{
	becomes("claude", &stdio, "", ALONE);
	becomes("claude", &stdio, " \n", ALONE);
	becomes("claude", &stdio, "{}\n", ALONE);
}

Test(client_edit, everything_else_is_kept)
{
	becomes("claude", &stdio,
		"{\n\t\"b\": 1e5,\t\"a\":\"\\u00e9{\",\n\t\"mcpServers\": {\n\t\t\"x\": {}\n\t}\n}",
		"{\n\t\"b\": 1e5,\t\"a\":\"\\u00e9{\",\n\t\"mcpServers\": {\n\t\t\"x\": {},\n"
		"\t\t\"msp\": {\n\t\t\t\"command\": \"/bin/msp\",\n\t\t\t\"args\": [\n"
		"\t\t\t\t\"serve\"\n\t\t\t]\n\t\t}\n\t}\n}");
	becomes("gemini", &stdio, "{\r\n    \"theme\": \"x\"\r\n}\r\n",
		"{\r\n    \"theme\": \"x\",\r\n    \"mcpServers\": {\r\n        \"msp\": {\r\n"
		"            \"command\": \"/bin/msp\",\r\n            \"args\": [\r\n"
		"                \"serve\"\r\n            ]\r\n        }\r\n    }\r\n}\r\n");
}

Test(client_edit, another_command_is_replaced_and_the_users_members_stay)
{
	becomes("claude", &stdio,
		"{\"mcpServers\": {\"msp\": {\"url\": \"http://x\", \"env\": {\"A\": \"}\"},"
		" \"type\": \"http\"}, \"z\": []}}",
		"{\"mcpServers\": {\"msp\": {\n      \"command\": \"/bin/msp\",\n"
		"      \"args\": [\n        \"serve\"\n      ],\n      \"env\": {\"A\": \"}\"}\n"
		"    }, \"z\": []}}");
}

Test(client_edit, the_same_server_in_another_form)
{
	static const char *const texts[] = {
		"{\"mcpServers\": {\"msp\": {\"args\": [\"serve\"], \"command\": \"/bin/msp\"}}}",
		"{\"mcp\\u0053ervers\": {\"m\\u0073p\": {\"command\":\n\"/bin/msp\", \"env\": {},"
		" \"args\": [ \"serve\" ], \"type\": \"stdio\"}}}",
	};
	size_t count;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_expect_eq(edit("claude", &stdio, texts[i], &count), CLIENT_EDIT_SAME, "%s",
			     texts[i]);
	cr_expect_eq(edit("claude", &http, texts[0], &count), CLIENT_EDIT_CHANGED);
}

Test(client_edit, an_input_of_vscode)
{
	static const char *const there =
		"{\"servers\": {}, \"inputs\": [{\"id\": \"other\"}, {\"id\": \"msp-token\"}]}";
	size_t count;

	cr_assert_eq(edit("vscode", &http, "", &count), CLIENT_EDIT_CHANGED);
	cr_expect_eq(count, 2UL);
	cr_expect(strstr(steps[1].bytes, "\"id\": \"msp-token\""), "%s", steps[1].bytes);
	cr_assert_eq(edit("vscode", &http, there, &count), CLIENT_EDIT_CHANGED);
	cr_expect_eq(count, 1UL, "the input is there");
	cr_expect_eq(edit("vscode", &http, "{\"inputs\": {}}", &count), CLIENT_EDIT_REFUSED);
}

Test(client_edit, files_for_a_person)
{
	static const struct {
		const char *text;
		const char *part;
	} rows[] = {
		{ "{\n// mine\n}", "line 2 has a comment" },
		{ "{\"a\": 1 /* b */}", "a comment" },
		{ "{} // end", "a comment" },
		{ "{\"a\": 1,}", "a comma without a value" },
		{ "{\"a\": [1,]}", "a comma without a value" },
		{ "{\"a\": 1", "missing comma or closing bracket" },
		{ "{\"a\": {\n", "an end before the last bracket" },
		{ "{\"a\":", "an end before the last bracket" },
		{ "{\"a\" 1}", "without ':'" },
		{ "{a: 1}", "a key without quotes" },
		{ "{\"a\": 'b'}", "no value" },
		{ "{\"a\": \"b}", "a string without its end" },
		{ "{\"a\": \"b\n\"}", "control character" },
		{ "{\"a\": \"\\x\"}", "an escape" },
		{ "{\"a\": \"\\u12g4\"}", "an escape" },
		{ "{\"a\": \"\xff\"}", "not UTF-8" },
		{ "{\"a\": 01}", "missing comma" },
		{ "{\"a\": 1.}", "a number" },
		{ "{} {}", "text behind the end" },
		{ "[]", "no JSON object" },
		{ "{\"mcpServers\": []}", "no object" },
		{ "{\"mcpServers\": {}, \"mcpServers\": {}}", "twice" },
		{ "{\"mcpServers\": {\"msp\": 1}}", "no object" },
		{ "{\"mcpServers\": {\"msp\": {}, \"msp\": {}}}", "twice" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		refused("claude", rows[i].text, rows[i].part);
}

Test(client_edit, depth)
{
	char text[2 * JSON_TEXT_DEPTH_MAX + 3];
	struct json_span root;
	size_t line;

	memset(text, '[', JSON_TEXT_DEPTH_MAX);
	memset(text + JSON_TEXT_DEPTH_MAX, ']', JSON_TEXT_DEPTH_MAX);
	cr_expect_null(json_text_check(text, sizeof(text) - 3, &root, &line));
	memset(text, '[', JSON_TEXT_DEPTH_MAX + 1);
	memset(text + JSON_TEXT_DEPTH_MAX + 1, ']', JSON_TEXT_DEPTH_MAX + 1);
	cr_expect(json_text_check(text, sizeof(text) - 1, &root, &line));
}

#define TABLE "[mcp_servers.msp]\ncommand = \"/bin/msp\"\nargs = [\"serve\"]\n"

Test(client_edit, toml)
{
	becomes("codex", &stdio, "", TABLE);
	becomes("codex", &stdio, "model = \"x\"\n[mcp_servers]\n[mcp_servers.mspx]\ncommand=1",
		"model = \"x\"\n[mcp_servers]\n[mcp_servers.mspx]\ncommand=1\n\n" TABLE);
	becomes("codex", &stdio, "# [mcp_servers.msp]\n", "# [mcp_servers.msp]\n\n" TABLE);
}

Test(client_edit, toml_for_a_person)
{
	static const char *const texts[] = {
		"[mcp_servers.msp]\ncommand = \"/old\"\n",
		" [ mcp_servers . \"msp\" ] # x\n",
		"['mcp_servers'.msp.env]\n",
		"[[mcp_servers]]\n",
		"[mcp_servers]\nmsp = { command = \"x\" }\n",
		"[mcp_servers]\nmsp.command = \"x\"\n",
		"mcp_servers = {}\n",
		"mcp_servers.msp.command = \"x\"\n",
		"[\"mcp\\u005fservers\".msp]\n",
		TABLE "env = { A = \"b\" }\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		refused("codex", texts[i], "another server msp");
	cr_expect(toml_text_has_lines("a = 1\n" TABLE "\n[b]\n", TABLE));
	cr_expect_not(toml_text_has_lines("#" TABLE, TABLE));
}
