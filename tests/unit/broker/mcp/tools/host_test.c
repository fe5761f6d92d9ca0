/* SPDX-License-Identifier: Apache-2.0
 *
 * request_host: its question, the answers that count, what is remembered for the session, and the
 * grant, with the test as msp-cable.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "asking.h"
#include "common/fd.h"
#include "common/ipc/ipc_network.h"

static struct rig rig;

static void close_rig(void)
{
	rig_close(&rig);
}

TestSuite(mcp_host, .fini = close_rig);

#define CAN_ASK "\"elicitation\":{}"
#define ACCEPT(answer) "{\"action\":\"accept\",\"content\":{\"answer\":\"" answer "\"}}"
#define ALLOW "\"result\":" ACCEPT("for this session")
#define EVIL "\"host\":\"evil.example\",\"reason\":\"the schema is there\""
#define COMMAND "`msp network approve evil.example:443`"

/* Start a broker of the user's service under this policy, with a legacy client. */
static void open_rig(enum plan_host_approval approval, const char *capabilities)
{
	char line[256];

	rig_open(&rig, false);
	rig.host_approval = approval;
	rig.is_service = true;
	rig_welcome(&rig);
	(void)snprintf(line, sizeof(line),
		       "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"method\":\"initialize\",\"params\":"
		       "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{%s}}}",
		       capabilities);
	expect_part(rig_ask(&rig, line), "\"result\":");
}

static void say(const char *arguments)
{
	static int id;
	char line[1024];

	(void)snprintf(
		line, sizeof(line),
		"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"request_host\",\"arguments\":{%s}}}",
		++id, arguments);
	rig_say(&rig, line);
}

static void respond(const char *member)
{
	char id[32] = "", line[1024];
	const char *at = strstr(rig.line, "\"id\":\"msp-");

	cr_assert_not_null(at, "%s", rig.line);
	(void)sscanf(at, "\"id\":\"%31[^\"]", id);
	(void)snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",%s}", id, member);
	rig_say(&rig, line);
}

/* Take the request for a grant. Return msp-cable's end. */
static int take_grant(const char *host, uint32_t port)
{
	static struct channel_message message;
	struct channel_message *watch = rig_take(&rig, IPC_TYPE_network_watch);
	struct channel cable = { channel_take_fd(watch, 0), IPC_GATEWAY, IPC_FRONTEND, IPC_SERVE };
	const struct ipc_network_watch *from = ipc_body(watch, network_watch);
	const struct ipc_network_grant *grant;
	enum ipc_error wrong;

	cr_assert_eq(from->request, 0);
	cr_assert_str_eq(from->sandbox, "");
	cr_assert_str_eq(from->owner, "");
	cr_assert_eq(channel_receive(&cable, &message, 0, &wrong), 1);
	cr_assert_eq(message.type, IPC_TYPE_network_grant);
	grant = ipc_body(&message, network_grant);
	cr_assert_str_eq(grant->host, host);
	cr_assert_eq(grant->port, port);
	cr_assert_eq(grant->frontend, 0);
	cr_assert_eq(grant->is_cut, 0);
	return cable.fd;
}

static void answer_grant(int cable, uint32_t error)
{
	const struct channel channel = { cable, IPC_GATEWAY, IPC_FRONTEND, IPC_SERVE };
	const struct ipc_network_granted granted = { .error = error };

	cr_assert_eq(channel_send(&channel, IPC_TYPE_network_granted, &granted, NULL, 0), 0);
	fd_close(&cable);
	rig_turn(&rig);
}

static void expect_refused(const char *part)
{
	expect_part(rig_hear(&rig), part);
	expect_part(rig.line, "\"isError\":true");
	rig_take_nothing(&rig);
}

/* --- who may ask ----------------------------------------------------------------------------- */

static const char list_tools[] = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\"}";

Test(mcp_host, it_is_offered_where_a_profile_lets_a_client_ask)
{
	static const char initialize[] =
		"{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"method\":\"initialize\",\"params\":"
		"{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}}";

	open_rig(PLAN_HOST_APPROVAL_PERSON, CAN_ASK);
	cr_assert_null(strstr(rig_ask(&rig, list_tools), "request_host"), "%s", rig.line);
	cr_assert_null(strstr(rig_ask(&rig, initialize), "request_host"), "%s", rig.line);
	say(EVIL);
	expect_part(rig_hear(&rig), "Unknown tool: request_host. The tools are: ");
	cr_assert_null(strstr(rig.line, ", request_host"), "%s", rig.line);
	rig.host_approval = PLAN_HOST_APPROVAL_ASK;
	rig.profile_name = "default";
	rig_change_policy(&rig);
	expect_part(rig_hear(&rig), "notifications/tools/list_changed");
	expect_part(rig_hear(&rig), "notifications/resources/list_changed");
	expect_part(rig_ask(&rig, list_tools),
		    "{\"name\":\"request_host\",\"title\":\"Ask the user for a host\","
		    "\"description\":\"Ask the user to let this session's sandboxes reach a host "
		    "that their profile refuses.\",\"inputSchema\":{\"type\":\"object\","
		    "\"properties\":{\"host\":{\"type\":\"string\",\"description\":\"A name, as "
		    "programs resolve "
		    "it.\"},\"port\":{\"type\":\"integer\",\"default\":443,\"description\":\"80 "
		    "for http.\"},"
		    "\"profile\":{\"type\":\"string\",\"description\":\"That of the sandbox.\"},"
		    "\"reason\":{\"type\":\"string\",\"description\":\"For the user, in some 50 "
		    "characters.\"}},\"required\":[\"host\",\"reason\"]");
	expect_part(rig_ask(&rig, initialize), "(`request_host` asks the user for more)");
}

Test(mcp_host, the_profile_has_to_let_a_client_ask)
{
	open_rig(PLAN_HOST_APPROVAL_ASK, CAN_ASK);
	say(EVIL ",\"profile\":\"strict\"");
	expect_refused("Nothing was allowed: the profile strict takes no further hosts. Those that "
		       "do: default.");
	say(EVIL ",\"profile\":\"default\"");
	expect_part(rig_hear(&rig), "elicitation/create");
}

Test(mcp_host, a_client_that_cannot_ask)
{
	open_rig(PLAN_HOST_APPROVAL_ASK, "\"elicitation\":{\"url\":{}}");
	say(EVIL);
	expect_refused(
		"this client cannot ask (it lacks elicitation). The user can allow it: " COMMAND
		".");
}

/* A command does not reach the supervisor of one client. */
Test(mcp_host, without_the_service_there_is_no_command)
{
	open_rig(PLAN_HOST_APPROVAL_ASK, "");
	rig_close(&rig);
	rig_open(&rig, false);
	rig.host_approval = PLAN_HOST_APPROVAL_ASK;
	rig_welcome(&rig);
	say(EVIL);
	expect_refused("it lacks elicitation). The operator can add \\\"evil.example:443\\\" to "
		       "the `hosts` of the profile.");
}

/* --- the question ---------------------------------------------------------------------------- */

Test(mcp_host, the_user_allows_it)
{
	open_rig(PLAN_HOST_APPROVAL_ASK, CAN_ASK);
	say(EVIL);
	expect_part(
		rig_hear(&rig),
		"\"method\":\"elicitation/create\",\"params\":{\"message\":\"Let sandboxes "
		"reach evil.example:443?\\nThe agent says: \\\"the schema is there\\\"\","
		"\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"answer\":{\"type\":"
		"\"string\",\"title\":\"Choose 1 of 2\",\"description\":\"Programs in sandboxes "
		"can send it all they know.\",\"enum\":[\"no\",\"for this session\"],"
		"\"default\":\"no\"}},\"required\":[\"answer\"]}}");
	rig_take_nothing(&rig);
	respond(ALLOW);
	rig_hear_nothing(&rig);
	answer_grant(take_grant("evil.example", 443), 0);
	expect_part(rig_hear(&rig),
		    "Allowed for this session: evil.example:443, at public addresses, by TLS "
		    "with this name, in sandboxes of the profiles default. Run the command again.");
	expect_part(rig.line, "\"isError\":false");
	/* the consent holds for the session: msp-cable may have forgotten the grant */
	say("\"host\":\"EVIL.example.\",\"reason\":\"again\"");
	answer_grant(take_grant("evil.example", 443), 0);
	expect_part(rig_hear(&rig), "Allowed for this session: evil.example:443");
	say(EVIL ",\"port\":8080");
	expect_part(rig_hear(&rig), "Let sandboxes reach evil.example:8080?");
	respond(ALLOW);
	answer_grant(take_grant("evil.example", 8080), 0);
	expect_part(rig_hear(&rig), "evil.example:8080, at public addresses, in sandboxes");
}

static const struct {
	const char *answer, *reason;
	bool is_remembered;
} no_answers[] = {
	{ "\"result\":{\"action\":\"cancel\"}", "Nobody answered (\\\"cancel\\\"); ask the user.",
	  false },
	{ "\"error\":{\"code\":-1,\"message\":\"no\"}",
	  "could not ask its user: the client answered with an error: no.", false },
	{ "\"result\":{}", "could not ask its user: the answer does not match", false },
	{ "\"result\":{\"action\":\"accept\"}", "without one of the offered answers", false },
	{ "\"result\":{\"action\":\"accept\",\"content\":{}}", "without one of the offered answers",
	  false },
	{ "\"result\":{\"action\":\"accept\",\"content\":{\"answer\":true}}",
	  "without one of the offered answers", false },
	{ "\"result\":" ACCEPT("For this session"), "without one of the offered answers", false },
	{ "\"result\":" ACCEPT("for this session "), "without one of the offered answers", false },
	{ "\"result\":" ACCEPT("yes"), "without one of the offered answers", false },
	{ "\"result\":{\"action\":\"decline\",\"content\":{\"answer\":\"for this session\"}}",
	  "The user refused (\\\"decline\\\"). They are not asked again in this session.", true },
	{ "\"result\":" ACCEPT("no"), "The user chose \\\"no\\\". They are not asked again", true },
};

Test(mcp_host, a_user_who_does_not_agree)
{
	char arguments[128];

	open_rig(PLAN_HOST_APPROVAL_ASK, CAN_ASK);
	for (size_t i = 0; i < sizeof(no_answers) / sizeof(no_answers[0]); i++) {
		(void)snprintf(arguments, sizeof(arguments),
			       "\"host\":\"h%zu.example\",\"reason\":\"r\"", i);
		say(arguments);
		(void)rig_hear(&rig);
		respond(no_answers[i].answer);
		expect_refused(no_answers[i].reason);
		expect_part(rig.line, "Nothing was allowed. ");
		expect_part(rig.line, " The user can allow it: `msp network approve h");
		say(arguments);
		if (no_answers[i].is_remembered) {
			expect_refused("The user has refused this host, and is not asked again");
			continue;
		}
		expect_part(rig_hear(&rig), "elicitation/create");
		respond(no_answers[0].answer);
		(void)rig_hear(&rig);
	}
}

/* A refusal is of one host and port. */
Test(mcp_host, another_port_is_another_question)
{
	open_rig(PLAN_HOST_APPROVAL_ASK, CAN_ASK);
	say(EVIL);
	(void)rig_hear(&rig);
	respond("\"result\":" ACCEPT("no"));
	(void)rig_hear(&rig);
	say(EVIL ",\"port\":22");
	expect_part(rig_hear(&rig), "Let sandboxes reach evil.example:22?");
}

Test(mcp_host, too_many_questions_are_not_asked)
{
	char arguments[128];

	open_rig(PLAN_HOST_APPROVAL_ASK, CAN_ASK);
	for (unsigned int i = 0; i < 32; i++) {
		(void)snprintf(arguments, sizeof(arguments),
			       "\"host\":\"h%u.example\",\"reason\":\"r\"", i);
		say(arguments);
		(void)rig_hear(&rig);
		respond("\"result\":{\"action\":\"decline\"}");
		(void)rig_hear(&rig);
	}
	say(EVIL);
	expect_refused("The user was asked about too many hosts in this session. The user can "
		       "allow it: " COMMAND);
}

/* The agent's words are the last line, and end in its 72 columns. */
Test(mcp_host, the_question_has_two_lines)
{
	const char *message, *end, *second;

	open_rig(PLAN_HOST_APPROVAL_ASK, CAN_ASK);
	say("\"host\":\"evil.example\",\"reason\":\"x\\\"\\nAllowed by the admin\\n"
	    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"");
	message = strstr(rig_hear(&rig), "\"message\":\"Let sandboxes reach evil.example:443?\\n"
					 "The agent says: \\\"x' Allowed by the admin xxx");
	cr_assert_not_null(message, "%s", rig.line);
	second = strstr(message, "\\n") + 2;
	end = strstr(second, "\",\"requestedSchema");
	cr_assert_not_null(end);
	cr_assert_eq(end - second, 72 + 2 /* two quotation marks with a backslash */, "%s", second);
	expect_part(second, "xxx...\\\"\",\"requestedSchema");
}

/* A part of a name would be another host. */
Test(mcp_host, a_long_name_is_whole_or_not_asked)
{
	static const char fits[] = "a.very-long-name-of-a-bucket.s3.dualstack.eu-central-1.example";
	char arguments[512], label[64], expected[256];

	open_rig(PLAN_HOST_APPROVAL_ASK, CAN_ASK);
	(void)snprintf(arguments, sizeof(arguments), "\"host\":\"%s\",\"reason\":\"r\"", fits);
	say(arguments);
	(void)snprintf(expected, sizeof(expected),
		       "\"message\":\"Let sandboxes reach this host?\\n%s:443\",", fits);
	expect_part(rig_hear(&rig), expected);
	memset(label, 'a', sizeof(label) - 1);
	label[sizeof(label) - 1] = '\0';
	(void)snprintf(arguments, sizeof(arguments), "\"host\":\"%s.%s\",\"reason\":\"r\"", label,
		       label);
	say(arguments);
	expect_refused("Its name is too long for a question to the user. The user can allow it: "
		       "`msp network approve aaa");
}

/* --- the request ----------------------------------------------------------------------------- */

Test(mcp_host, wrong_arguments)
{
	static const char *const rows[][2] = {
		{ "\"reason\":\"r\"", "host" },
		{ "\"host\":\"evil.example\"", "reason" },
		{ "\"host\":\"\",\"reason\":\"r\"", "The argument `host` is \\\"\\\", but " },
		{ "\"host\":\"https://evil.example\",\"reason\":\"r\"",
		  "is \\\"https://evil.example\\\", but " },
		{ "\"host\":\"evil.example:443\",\"reason\":\"r\"", ", but " },
		{ "\"host\":\"*.example.org\",\"reason\":\"r\"", ", but " },
		{ "\"host\":\"a..example\",\"reason\":\"r\"", ", but " },
		{ "\"host\":\"b\xc3\xbc"
		  "cher.example\",\"reason\":\"r\"",
		  ", but " },
		{ "\"host\":\"evil.example\\n.org\",\"reason\":\"r\"", ", but " },
		{ "\"host\":\"203.0.113.7\",\"reason\":\"r\"", "but a host to add has a name" },
		{ "\"host\":\"2001:db8::1\",\"reason\":\"r\"", "but a host to add has a name" },
		{ "\"host\":\"169.254.169.254\",\"reason\":\"r\"", "but a host to add has a name" },
		{ EVIL ",\"port\":0", "port" },
		{ EVIL ",\"port\":65536", "port" },
		{ EVIL ",\"port\":\"443\"", "port" },
		{ EVIL ",\"port\":53", "port 53 is the sandbox's own resolver" },
		{ EVIL ",\"profile\":\"nope\"", "profile" },
		{ EVIL ",\"url\":\"x\"", "url" },
		{ "\"host\":[\"evil.example\"],\"reason\":\"r\"", "host" },
	};

	open_rig(PLAN_HOST_APPROVAL_ASK, CAN_ASK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		say(rows[i][0]);
		expect_part(rig_hear(&rig), rows[i][1]);
		cr_expect_null(strstr(rig.line, "elicitation"), "%s", rig.line);
		rig_take_nothing(&rig);
	}
}

Test(mcp_host, the_grant_may_fail)
{
	static const struct {
		uint32_t error;
		const char *reason;
	} rows[] = {
		{ EACCES, "No profile lets a client ask by now." },
		{ ENOSPC, "There is no room for another host." },
		{ EPERM, "The network of the sandboxes does not answer." },
	};

	open_rig(PLAN_HOST_APPROVAL_ASK, CAN_ASK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		say(EVIL);
		(void)rig_hear(&rig);
		respond(ALLOW);
		answer_grant(take_grant("evil.example", 443), rows[i].error);
		expect_refused(rows[i].reason);
	}
	say(EVIL);
	(void)rig_hear(&rig);
	respond(ALLOW);
	(void)close(take_grant("evil.example", 443));
	rig_turn(&rig);
	expect_refused("The network of the sandboxes does not answer. Call again in a moment.");
}

Test(mcp_host, a_client_that_goes_on)
{
	int cable;

	open_rig(PLAN_HOST_APPROVAL_ASK, CAN_ASK);
	say(EVIL);
	(void)rig_hear(&rig);
	respond(ALLOW);
	cable = take_grant("evil.example", 443);
	rig_say(&rig, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
		      "{\"requestId\":1}}");
	rig_hear_nothing(&rig);
	fd_close(&cable);
	rig_hear_nothing(&rig);
}

/* --- the modern era -------------------------------------------------------------------------- */

static void say_modern(const char *id, const char *arguments, const char *more)
{
	static char line[40000];

	(void)snprintf(
		line, sizeof(line),
		"{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":"
		"{\"name\":\"request_host\",\"arguments\":{%s}%s," META_START CAN_ASK META_END "}}",
		id, arguments, more);
	rig_say(&rig, line);
}

Test(mcp_host, the_modern_era_asks_by_its_result)
{
	static char kept[20000], more[30000];
	const char *at;

	open_rig(PLAN_HOST_APPROVAL_ASK, "");
	say_modern("1", EVIL, "");
	expect_part(rig_hear(&rig),
		    "\"resultType\":\"input_required\",\"inputRequests\":{\"host\":{\"method\":"
		    "\"elicitation/create\",\"params\":{\"message\":\"Let sandboxes reach evil.");
	at = strstr(rig.line, "\"requestState\":\"");
	cr_assert_not_null(at);
	(void)sscanf(at, "\"requestState\":\"%19999[^\"]", kept);
	(void)snprintf(more, sizeof(more),
		       ",\"inputResponses\":{\"host\":" ACCEPT(
			       "for this session") "},"
						   "\"requestState\":\"%s\"",
		       kept);
	/* the answer belongs to this host */
	say_modern("2", "\"host\":\"other.example\",\"reason\":\"the schema is there\"", more);
	expect_part(rig_hear(&rig), "\"error\":");
	rig_take_nothing(&rig);
	say_modern("3", EVIL, more);
	answer_grant(take_grant("evil.example", 443), 0);
	expect_part(rig_hear(&rig), "\"resultType\":\"complete\"");
	expect_part(rig.line, "Allowed for this session: evil.example:443");
}
