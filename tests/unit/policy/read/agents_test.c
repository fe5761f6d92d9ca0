/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of agents: the built-in ones, those of a file, and mistakes in them.
 */
#include "policy/read/agents.h"
#include "web.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define ROW(keys) "agents:\n- name: mine\n" keys
#define GOOD_ROW ROW("  programs: [mine]\n  hosts: [api.example.org]\n")
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

TestSuite(agents, .fini = unload);

static const struct agent *find_agent(const char *name)
{
	return agents_find(policy_agents(loaded.policy), name);
}

static void expect_lines(const char *name, const char *lines)
{
	struct buffer text = { .bytes = NULL };

	cr_assert_not_null(find_agent(name), "%s", name);
	agents_print(find_agent(name), &text);
	cr_expect_str_eq(text.bytes, lines);
	buffer_done(&text);
}

static void expect_part(const char *name, const char *part, bool is_there)
{
	struct buffer text = { .bytes = NULL };

	agents_print(find_agent(name), &text);
	cr_expect_eq(strstr(text.bytes, part) != NULL, is_there, "%s: %s", part, text.bytes);
	buffer_done(&text);
}

Test(agents, built_in_rows_are_read_only_when_they_are_wanted)
{
	cr_assert(load(""), "%s", mistake.text);
	cr_expect_null(policy_agents(loaded.policy));
	cr_assert_eq(policy_load_agents(loaded.policy, &mistake), 0, "%s", mistake.text);
	cr_expect_not_null(find_agent("claude"));
	cr_expect_not_null(find_agent("codex"));
	cr_expect_null(find_agent("mine"));
	for (uint32_t i = 0; i < policy_agents(loaded.policy)->count; i++) {
		const struct agent *agent = &policy_agents(loaded.policy)->of[i];

		cr_expect_str_eq(agent->file, "agents.yaml", "%s", agent->name);
		cr_expect_gt(node_texts(&agent->row, "programs").count, 0U, "%s", agent->name);
	}
}

Test(agents, six_lines_add_an_agent)
{
	cr_assert(load_file(GOOD_ROW), "%s", mistake.text);
	expect_lines("mine", "agent\tmine\nprogram\tmine\nhost\tapi.example.org\n");
	cr_expect_str_eq(find_agent("mine")->file, "web.yaml");
	cr_expect_not_null(find_agent("claude"));
}

Test(agents, each_key_is_a_line_and_texts_are_escaped)
{
	cr_assert(
		load_file(ROW("  description: Mine\n"
			      "  extends: default\n"
			      "  programs: [mine, mine-cli]\n"
			      "  install: make it\n"
			      "  hosts: [api.example.org, {host: model.local, to: 127.0.0.1:99}]\n"
			      "  login_hosts: [login.example.org]\n"
			      "  keys: [{name: A_KEY, header: X-Key, hosts: [api.example.org]}]\n"
			      "  base_url: A_URL\n"
			      "  arguments: [-a, b c]\n"
			      "  note: off\n"
			      "  environment: [A=1]\n"
			      "  login: {arguments: [login], port: 1455}\n"
			      "  resume: [-c]\n"
			      "  files: [{path: .a/b, text: \"x\\ty\\n\\\\\"}]\n"
			      "  version: 1.2\n")),
		"%s", mistake.text);
	expect_lines("mine", "agent\tmine\ndescription\tMine\nextends\tdefault\nprogram\tmine\n"
			     "program\tmine-cli\ninstall\tmake it\nhost\tapi.example.org\n"
			     "host\tmodel.local to 127.0.0.1:99\nlogin_host\tlogin.example.org\n"
			     "key\tA_KEY\nbase_url\tA_URL\nargument\t-a\nargument\tb c\nnote\toff\n"
			     "environment\tA=1\nlogin_argument\tlogin\nlogin_port\t1455\n"
			     "resume\t-c\nfile\t.a/b\ntext\tx\\ty\\n\\\\\nversion\t1.2\n");
}

Test(agents, a_row_of_a_known_name_replaces_its_keys_alone)
{
	cr_assert(load_file("agents:\n- name: codex\n  arguments: [--mine]\n"), "%s", mistake.text);
	expect_part("codex", "argument\t--mine\n", true);
	expect_part("codex", "--dangerously", false);
	expect_part("codex", "program\tcodex\n", true);
	cr_expect_eq(node_line(&find_agent("codex")->row, "arguments"), 3U);
	cr_expect_eq(node_line(&find_agent("codex")->row, "programs[0]"), 2U);
	cr_expect_str_eq(find_agent("codex")->file, "web.yaml");
	expect_part("claude", "argument\t--dangerously-skip-permissions\n", true);
}

static const struct {
	const char *text, *expected;
} mistakes[] = {
	{ "agents: [{programs: [a]}]", "1: agents[0].name: missing; expected the agent's" },
	{ "agents: [{name: Mine}]", "agents[0].name: \"Mine\" is not a name; expected up" },
	{ "agents: [{name: 9a}]", "agents[0].name: \"9a\" is not a name" },
	{ "agents: [{name: abcdefghijklmnopqrstuvwxy}]", "is not a name; expected up to 24" },
	{ "agents: [{name: a, hosts: [b.example.org]}]",
	  "agents[0].programs: missing; expected the names of its program" },
	{ "agents: [{name: a, programs: [a]}]",
	  "agents[0].hosts: missing; expected the hosts of its model" },
	{ GOOD_ROW "- name: mine\n", "5: agents[1].name: there is an agent \"mine\" in line 2" },
	{ ROW("  programs: [a/b]\n"), "3: agents[0].programs[0]: \"a/b\" is not the name of" },
	{ ROW("  programs: [..]\n"), "3: agents[0].programs[0]: \"..\" is not the name" },
	{ ROW("  programs: [-a]\n"), "3: agents[0].programs[0]: \"-a\" is not the name" },
	{ ROW("  base_url: A-B\n"), "3: agents[0].base_url: \"A-B\" is not a variable's" },
	{ ROW("  login: {port: 65536}\n"), "3: agents[0].login.port: \"65536\" is not a port" },
	{ ROW("  arguments: [\"a\\nb\"]\n"), "3: agents[0].arguments[0]: holds a control" },
	{ ROW("  note: \"a\\tb\"\n"), "3: agents[0].note: holds a control character" },
	{ ROW("  install: \"\"\n"), "3: agents[0].install: empty or too long; expected" },
	{ ROW("  files: [{path: /a, text: b}]\n"),
	  "3: agents[0].files[0].path: \"/a\" is not a path below the home" },
	{ ROW("  files: [{path: a/../b, text: b}]\n"), "is not a path below the home" },
	{ ROW("  files: [{path: a}]\n"), "3: agents[0].files[0].text: missing; expected a" },
	{ ROW("  files: [{path: a, text: b}, {path: a, text: c}]\n"),
	  "3: agents[0].files[1].path: a given twice; expected once" },
	{ ROW("  programs: [a]\n  hosts: [\"*.com\"]\n"),
	  "web.yaml:4: agents[0].hosts[0]: \"*.com\" covers hosts of anybody" },
	{ ROW("  programs: [a]\n  hosts: [a.example.org]\n  login_hosts: [b.example.org,\n"
	      "    127.0.0.1]\n"),
	  "web.yaml:6: agents[0].login_hosts[1]: \"127.0.0.1\" is a loopback address, "
	  "which" },
	{ ROW("  programs: [a]\n  hosts: [a.example.org]\n"
	      "  keys: [{name: A, header: X-Key, hosts: [b.example.org]}]\n"),
	  "web.yaml:5: agents[0].keys[0].hosts: A: b.example.org has no entry of its own" },
	{ ROW("  programs: [a]\n  hosts: [a.example.org]\n"
	      "  keys: [{name: A, header: Host, hosts: [a.example.org]}]\n"),
	  "web.yaml:5: agents[0].keys[0].header: \"Host\" decides how a request is read" },
	{ ROW("  programs: [a]\n  hosts: [a.example.org]\n  environment: [A]\n"),
	  "web.yaml:5: agents[0].environment[0]: \"A\" is not a variable; expected" },
	{ ROW("  programs: [a]\n  hosts: [a.example.org]\n  extends: none\n"),
	  "web.yaml:5: agents[0].extends: there is no profile \"none\" that can be used" },
	{ ROW("  programs: [a]\n  hosts: [a.example.org]\n  extends: _helper\n"),
	  "there is no profile \"_helper\" that can be used" },
	{ "agents:\n- name: claude\n  hosts: [a.example.org]\n",
	  "web.yaml:2: agents[0].keys[0].hosts: ANTHROPIC_API_KEY: api.anthropic.com has "
	  "no" },
	{ ROW("  wish: 1\n"), "3: agents[0].wish: unknown key; expected one of: name, desc" },
	{ ROW("  keys: [{name: A, file: /a}]\n"),
	  "3: agents[0].keys[0].file: unknown key; expected one of: name, header, hosts" },
};

Test(agents, mistakes_have_line_key_and_rule)
{
	for (size_t i = 0; i < COUNT(mistakes); i++) {
		cr_expect_not(load_file(mistakes[i].text), "row %zu", i);
		cr_expect_not_null(strstr(mistake.text, mistakes[i].expected), "row %zu: %s", i,
				   mistake.text);
		unload();
	}
}

/* Derive the profile of each built-in agent with all of its keys. */
Test(agents, each_built_in_row_becomes_a_profile)
{
	cr_assert(load(""), "%s", mistake.text);
	cr_assert_eq(policy_load_agents(loaded.policy, &mistake), 0, "%s", mistake.text);
	for (uint32_t i = 0; i < policy_agents(loaded.policy)->count; i++) {
		const struct agent *agent = &policy_agents(loaded.policy)->of[i];
		struct agent_use use = { .has_login = true };
		const struct profile *profile;
		const struct node *keys;

		for (uint32_t k = 0; k < PLAN_SECRETS_MAX; k++)
			use.keys[k] = "/key";
		profile = policy_derive_agent(loaded.policy, agent, &use, &mistake);
		cr_assert_not_null(profile, "%s: %s", agent->name, mistake.text);
		keys = node_find(&agent->row, "keys");
		cr_expect_eq(profile->secret_count, keys != NULL ? keys->count : 0, "%s",
			     agent->name);
		cr_expect_geq(profile->host_count,
			      node_texts(&agent->row, "hosts").count +
				      node_texts(&agent->row, "login_hosts").count);
	}
	cr_expect_null(policy_find(loaded.policy, "agent"), "no file offers it");
}

Test(agents, requirements_of_the_file_hold_for_their_profiles)
{
	const struct agent_use use = { .has_login = false };
	const struct profile *profile;

	cr_assert(load_file("limits: fallback\nrequirements: {landlock: 3}\n" GOOD_ROW), "%s",
		  mistake.text);
	profile = policy_derive_agent(loaded.policy, find_agent("mine"), &use, &mistake);
	cr_assert_not_null(profile, "%s", mistake.text);
	cr_expect_eq(profile->numbers.limits_fallback, 1U);
	cr_expect_eq(profile->numbers.landlock_abi_min, 3U);
	cr_expect_eq(profile->secret_count, 0U);
}

Test(agents, a_profile_of_the_file_can_be_extended_in_place_of_the_shipped_one)
{
	const struct agent_use use = { .has_login = false };
	const struct profile *profile;

	cr_assert(load_file("profiles:\n"
			    "- name: agent\n"
			    "  extends: default\n"
			    "  network: hosts\n"
			    "  hosts: [b.example.org]\n"
			    "  through: proxy.example.org:3128\n"
			    "  limits: {pids: 99}\n" GOOD_ROW),
		  "%s", mistake.text);
	profile = policy_derive_agent(loaded.policy, find_agent("mine"), &use, &mistake);
	cr_assert_not_null(profile, "%s", mistake.text);
	cr_expect_eq(profile->numbers.pids, 99U);
	cr_expect_str_eq(profile->numbers.through.host, "proxy.example.org");
	cr_expect_eq(profile->host_count, 1U);
	cr_expect_str_eq(profile->hosts[0].pattern, "api.example.org");
}

Test(agents, there_is_room_for_as_many_as_are_bounded)
{
	char text[AGENTS_MAX * 64 + 64] = "agents:\n";
	size_t size = strlen(text);

	for (unsigned int i = 0; i < AGENTS_MAX; i++)
		size += (size_t)snprintf(text + size, sizeof(text) - size,
					 "- {name: a%u, programs: [a], hosts: [a.example.org]}\n",
					 i);
	cr_expect_not(load_file(text));
	cr_expect_not_null(strstr(mistake.text, ".name: too many agents; expected at most 64"),
			   "%s", mistake.text);
}
