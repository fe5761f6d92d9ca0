/* SPDX-License-Identifier: Apache-2.0
 *
 * Hosts of a profile: the entries, their mistakes, and the answers to connections.
 */
#include "web.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/hosts/groups.h"
#include "gateway/hosts/list.h"
#include "policy/decide/decide.h"
#include "policy/write/facts.h"
#include "policy/write/show.h"

static void expect_mistake(const char *entry, const char *part)
{
	char keys[1024];

	(void)snprintf(keys, sizeof(keys),
		       "  network: hosts\n  hosts:\n    - example.org\n    - \"%s\"\n", entry);
	cr_expect_not(load(keys), "%s is accepted", entry);
	cr_expect_eq(strncmp(mistake.text, "web.yaml:8: profiles[0].hosts[1]: ", 34), 0, "%s",
		     mistake.text);
	cr_expect_not_null(strstr(mistake.text, part), "%s: %s", entry, mistake.text);
	unload();
}

Test(network, entries)
{
	compile("  network: hosts\n"
		"  hosts:\n"
		"    - Index.Example.ORG.\n"
		"    - \"*.python.org\"\n"
		"    - github.com:22,443\n"
		"    - registry.example:8443 tls\n"
		"    - nexus.corp.example:443,8081 private\n"
		"    - 10.20.0.0/24:5432\n"
		"    - 8.8.8.8:853 tls\n"
		"    - packages.example.org:80\n");
	expect_shown("network: hosts (web.yaml:5)\n"
		     "hosts:\n"
		     "  index.example.org:443 tls (web.yaml:7)\n"
		     "  *.python.org:443 tls (web.yaml:8)\n"
		     "  github.com:22 tcp (web.yaml:9)\n"
		     "  github.com:443 tls (web.yaml:9)\n"
		     "  registry.example:8443 tls (web.yaml:10)\n"
		     "  nexus.corp.example:443 tls private (web.yaml:11)\n"
		     "  nexus.corp.example:8081 tcp private (web.yaml:11)\n"
		     "  10.20.0.0/24:5432 tcp (web.yaml:12)\n"
		     "  8.8.8.8:853 tls (web.yaml:13)\n"
		     "  packages.example.org:80 tcp (web.yaml:14)\n"
		     "environment:\n");
	unload();
}

Test(network, wrong_names)
{
	static const char *const rows[][2] = {
		{ "", "empty" },
		{ " ", "empty" },
		{ "*", "an asterisk stands for the whole first part" },
		{ "*.*.example.org", "an asterisk" },
		{ "a*.example.org", "an asterisk" },
		{ "example.*", "an asterisk" },
		{ "*.com", "com is a public suffix" },
		{ "*.co.uk", "co.uk is a public suffix" },
		{ "*.github.io", "github.io is a public suffix" },
		{ "*.CO.UK.", "co.uk is a public suffix" },
		{ "*.githubusercontent.com", "githubusercontent.com is a public suffix" },
		{ "*.unknowntoplevel", "is a public suffix" },
		{ "localhost", "is the sandbox itself" },
		{ "db.localhost.", "is the sandbox itself" },
		{ "*.localhost", "is the sandbox itself" },
		{ "msp-probe.invalid", "is a name that no host has" },
		{ "*.invalid", "is a name that no host has" },
		{ "a.INVALID.", "is a name that no host has" },
		{ "https://example.org", "is a URL; expected its host" },
		{ "example.org/path", "is not a network" },
		{ "user@example.org", "letters, digits, hyphens" },
		{ "a..example.org", "no two in a row" },
		{ "-a.example.org", "hyphen" },
		{ "b\xc3\xbc"
		  "cher.example",
		  "xn--" },
		{ "127.1", "is not a network" },
		{ "0x7f.1", "ends in a number" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_mistake(rows[i][0], rows[i][1]);
}

Test(network, wrong_addresses)
{
	static const char *const rows[][2] = {
		{ "127.0.0.1", "is a loopback address, which no profile can allow" },
		{ "127.0.0.0/8:80", "is a loopback address" },
		{ "0.0.0.0", "is the unspecified address" },
		{ "0.0.0.0/0", "is the unspecified address" },
		{ "169.254.169.254:80", "metadata service" },
		{ "169.254.0.0/16", "link-local" },
		{ "100.100.100.200", "metadata service" },
		{ "224.0.0.1", "multicast" },
		{ "240.0.0.0/4", "reserved" },
		{ "10.20.0.1/24", "is not a network" },
		{ "10.0.0.0/33", "is not a network" },
		{ "10.0.0.0/", "is not a network" },
		{ "10.0.0/24", "is not a network" },
		{ "[::1]:443", "is an IPv6 address" },
		{ "::1", "is an IPv6 address" },
		{ "2001:db8::/32", "is an IPv6 address" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_mistake(rows[i][0], rows[i][1]);
}

Test(network, wrong_ports_and_words)
{
	static const char *const rows[][2] = {
		{ "a.example:", "a port is missing" },
		{ "a.example:,80", "a port is missing" },
		{ "a.example:80,", "a port is missing" },
		{ "a.example:80,,81", "a port is missing" },
		{ "a.example:0", "is not a port" },
		{ "a.example:65536", "is not a port" },
		{ "a.example:-1", "is not a port" },
		{ "a.example:http", "is not a port" },
		{ "a.example:080000", "is not a port" },
		{ "a.example:1-9", "is not a port" },
		{ "a.example:53", "the sandbox's own resolver" },
		{ "a.example:80,80", "given twice" },
		{ "example.org", "example.org:443 given twice" },
		{ "EXAMPLE.org.", "example.org:443 given twice" },
		{ "a.example udp", "is not known; expected tls, tcp, http or https" },
		{ "a.example tls tcp", "is not known" },
		{ "a.example:443 80", "is not known" },
		{ "a.example http https", "is not known" },
		{ "10.0.0.1:80 http", "is an address, whose requests have no name" },
		{ "10.0.0.0/8 https", "is an address, whose requests have no name" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_mistake(rows[i][0], rows[i][1]);
}

Test(network, hosts_and_network_fit)
{
	cr_expect_not(load("  network: hosts\n"));
	cr_expect_not_null(strstr(mistake.text, "profiles[0].hosts: missing"), "%s", mistake.text);
	unload();
	cr_expect_not(load("  hosts: [example.org]\n"));
	cr_expect_not_null(strstr(mistake.text, "hosts: without effect, since network is loopback"),
			   "%s", mistake.text);
	unload();
	cr_expect_not(load("  network: hosts\n  hosts: example.org\n"));
	cr_expect_not_null(strstr(mistake.text, "profiles[0].hosts: expected a list"), "%s",
			   mistake.text);
	unload();
}

Test(network, the_right_to_approve_hosts)
{
	compile("  network: hosts\n"
		"  hosts: []\n"
		"  host_approval: ask\n"
		"- {name: same, extends: web, description: inherited}\n"
		"- {name: persons, extends: web, description: narrower, host_approval: person}\n"
		"- {name: none, extends: web, description: none, host_approval: never}\n"
		"- {name: closed, extends: web, description: no hosts, network: loopback}\n"
		"- {name: unsaid, extends: default, description: d, network: hosts, hosts: []}\n");
	expect_shown("hosts: none\nhost_approval: ask (web.yaml:7)\n");
	static const struct {
		const char *name;
		enum plan_host_approval approval;
	} rows[] = {
		{ "web", PLAN_HOST_APPROVAL_ASK },        { "same", PLAN_HOST_APPROVAL_ASK },
		{ "persons", PLAN_HOST_APPROVAL_PERSON }, { "none", PLAN_HOST_APPROVAL_NEVER },
		{ "closed", PLAN_HOST_APPROVAL_NEVER },   { "unsaid", PLAN_HOST_APPROVAL_NEVER },
		{ "default", PLAN_HOST_APPROVAL_NEVER },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(find_compiled(rows[i].name)->host_approval, rows[i].approval, "%s",
			     rows[i].name);
	unload();
}

static void expect_difference(const char *from, const char *to, const char *lines)
{
	struct buffer text = { .bytes = NULL };

	policy_diff(policy_find(loaded.policy, from), policy_find(loaded.policy, to), &text);
	cr_expect_not_null(strstr(text.bytes, lines), "%s", text.bytes);
	buffer_done(&text);
}

Test(network, the_right_to_approve_hosts_is_compared)
{
	compile("  network: hosts\n"
		"  hosts: []\n"
		"  host_approval: ask\n"
		"- {name: persons, extends: web, description: narrower, host_approval: person}\n"
		"- {name: closed, extends: web, description: no hosts, network: loopback}\n");
	expect_difference("web", "persons",
			  "- host_approval: ask (web.yaml:7)\n"
			  "+ host_approval: person (web.yaml:8)\n");
	expect_difference("default", "web", "+ host_approval: ask (web.yaml:7)\n");
	expect_difference("web", "closed", "- host_approval: ask (web.yaml:7)\n");
	unload();
}

Test(network, wrong_rights_to_approve_hosts)
{
	static const char *const rows[][2] = {
		{ "  network: hosts\n  hosts: []\n  host_approval: agent\n",
		  "web.yaml:7: profiles[0].host_approval: \"agent\" is not known; expected never, "
		  "person or ask" },
		{ "  network: hosts\n  hosts: []\n  host_approval: Ask\n", "\"Ask\" is not known" },
		{ "  network: hosts\n  hosts: []\n  host_approval: true\n",
		  "\"true\" is not known" },
		{ "  network: hosts\n  hosts: []\n  host_approval:\n",
		  "web.yaml:7: profiles[0].host_approval: " },
		{ "  network: hosts\n  hosts: []\n  host_approval: \"\"\n", "\"\" is not known" },
		{ "  network: hosts\n  hosts: []\n  host_approval: [ask]\n",
		  "host_approval: expected a value, not a list" },
		{ "  network: hosts\n  hosts: []\n  host_approval: {by: ask}\n",
		  "host_approval: expected a value, not a set of keys" },
		{ "  network: hosts\n  host_approval: ask\n", "profiles[0].hosts: missing" },
		{ "  host_approval: ask\n",
		  "web.yaml:5: profiles[0].host_approval: without effect, since network is "
		  "loopback; expected network: hosts" },
		{ "  network: none\n  host_approval: never\n",
		  "host_approval: without effect, since network is none" },
		{ "  network: hosts\n  hosts: []\n  host_approvals: ask\n",
		  "host_approvals: unknown key; expected one of: " },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect_not(load(rows[i][0]), "%s", rows[i][0]);
		cr_expect_not_null(strstr(mistake.text, rows[i][1]), "%s: %s", rows[i][0],
				   mistake.text);
		unload();
	}
}

Test(network, an_empty_list_allows_nothing)
{
	compile("  network: hosts\n  hosts: []\n");
	expect_shown("hosts: none\n");
	expect_answer("connect example.org:443", DECISION_REFUSED, 0, "no entry covers the name");
	expect_answer("connect 10.0.0.1:443", DECISION_REFUSED, ECONNREFUSED, "no entry covers");
	unload();
}

Test(network, a_child_replaces_the_list)
{
	compile("  network: hosts\n"
		"  hosts: [example.org, a.example]\n"
		"- name: same\n"
		"  extends: web\n"
		"  description: the parent's list\n"
		"- name: none\n"
		"  extends: web\n"
		"  description: its own list\n"
		"  hosts: [b.example]\n"
		"- name: closed\n"
		"  extends: web\n"
		"  description: no hosts\n"
		"  network: loopback\n");
	for (uint32_t i = 0; i < 4; i++) {
		static const char *const names[] = { "web", "same", "none", "closed" };
		static const uint32_t counts[] = { 2, 2, 1, 0 };
		const int index = plan_profile_find(&loaded.plan, names[i]);

		cr_assert_geq(index, 0);
		cr_expect_eq(plan_profile(&loaded.plan, (uint32_t)index)->host_count, counts[i],
			     "%s", names[i]);
	}
	unload();
}

/* Each profile with hosts has one without; the others are their own. */
Test(network, a_profile_without_its_hosts)
{
	const struct plan_profile *web, *narrowed;
	int index;

	compile("  network: hosts\n"
		"  hosts: [example.org]\n"
		"  host_approval: ask\n"
		"  through: 127.0.0.1:3128\n");
	index = plan_profile_find(&loaded.plan, "web");
	web = plan_profile(&loaded.plan, (uint32_t)index);
	narrowed = plan_profile(&loaded.plan, web->no_hosts);
	cr_assert_neq(web->no_hosts, (uint32_t)index);
	cr_expect_str_eq(plan_string(&loaded.plan, narrowed->name), "web/none");
	cr_expect(narrowed->is_narrowed && !web->is_narrowed);
	cr_expect_eq(narrowed->network, PLAN_NETWORK_LOOPBACK);
	cr_expect_eq(narrowed->no_hosts, web->no_hosts);
	cr_expect_eq(narrowed->host_count + narrowed->secret_count + narrowed->request_count, 0);
	cr_expect_eq(narrowed->host_approval, PLAN_HOST_APPROVAL_NEVER);
	cr_expect_str_empty(narrowed->through.host);
	cr_expect_eq(narrowed->filter, web->filter, "what is the same is there once");
	for (uint32_t i = 0; i < plan_profile_count(&loaded.plan); i++) {
		const struct plan_profile *profile = plan_profile(&loaded.plan, i);

		cr_expect(profile == web || profile->no_hosts == i);
	}
	unload();
}

Test(network, a_group_stands_for_its_hosts)
{
	compile("  network: hosts\n"
		"  hosts: [\"@pypi\", \"example.org:22\", \"@debian\"]\n");
	expect_shown("hosts:\n"
		     "  pypi.org:443 tls (web.yaml:6)\n"
		     "  files.pythonhosted.org:443 tls (web.yaml:6)\n"
		     "  example.org:22 tcp (web.yaml:6)\n"
		     "  deb.debian.org:80 tcp (web.yaml:6)\n"
		     "  deb.debian.org:443 tls (web.yaml:6)\n");
	unload();
}

Test(network, wrong_groups)
{
	static const char *const rows[][2] = {
		{ "@nope", "there is no group of hosts \"nope\"; expected one of @pypi, @npm, " },
		{ "@", "there is no group of hosts \"\"; expected one of " },
		{ "@pypi:80", "there is no group of hosts \"pypi:80\"" },
		{ "@PYPI", "there is no group of hosts \"PYPI\"" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_mistake(rows[i][0], rows[i][1]);
	cr_expect_not(load("  network: hosts\n  hosts: [pypi.org, \"@pypi\"]\n"));
	cr_expect_not_null(strstr(mistake.text, "hosts[1]: pypi.org:443 given twice"), "%s",
			   mistake.text);
	unload();
}

/* Each group is a list that a profile may have; no host is of two groups. */
Test(network, every_group_is_sound)
{
	struct buffer keys = { .bytes = NULL };

	buffer_format(&keys, "  network: hosts\n  hosts:\n");
	for (uint32_t i = 0; i < host_group_count; i++)
		buffer_format(&keys, "    - \"%c%s\"\n", HOST_GROUP_MARK, host_groups[i].name);
	compile(keys.bytes);
	unload();
	buffer_done(&keys);
}

/* A shipped profile differs from the extended one in its hosts alone. */
Test(network, shipped_profiles)
{
	static const char *const rows[][2] = {
		{ "python-net", "python-dev" }, { "node-net", "node-dev" },
		{ "go-net", "go-dev" },         { "rust-net", "rust-dev" },
		{ "java-net", "java-dev" },     { "debian-net", "default" },
		{ "git-net", "default" },       { "agent", "default" },
	};

	compile_loaded(load_file("offer: [python-net, node-net, go-net, rust-net, java-net, "
				 "debian-net, git-net, agent]\n"));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct plan_profile *own = find_compiled(rows[i][0]);
		const struct plan_profile *parent = find_compiled(rows[i][1]);

		cr_assert(own != NULL && parent != NULL, "%s", rows[i][0]);
		cr_expect_gt(own->host_count, 0, "%s", rows[i][0]);
		cr_expect_eq(own->network, PLAN_NETWORK_HOSTS, "%s", rows[i][0]);
		cr_expect_eq(own->filter, parent->filter, "%s", rows[i][0]);
		cr_expect_eq(own->rules, parent->rules, "%s", rows[i][0]);
		cr_expect_eq(own->landlock_fs, parent->landlock_fs, "%s", rows[i][0]);
	}
	for (uint32_t i = 0; i < host_group_count; i++) {
		const char *entry = host_groups[i].entries[0];
		struct host_wanted wanted;
		char host[64];

		if (host_groups[i].profile == NULL)
			continue;
		(void)snprintf(host, sizeof(host), "%.*s", (int)strcspn(entry, ":"), entry);
		cr_assert(host_wanted_read(host, &wanted));
		cr_expect_not_null(host_list_find(&loaded.plan,
						  find_compiled(host_groups[i].profile), &wanted,
						  443),
				   "%s", host);
	}
	unload();
}

Test(network, no_shipped_profile_is_offered_by_itself)
{
	compile_loaded(load_file("offer: [agent]\n"
				 "profiles:\n"
				 "- {name: own, extends: agent, description: more}\n"));
	cr_expect_not_null(find_compiled("agent"));
	cr_expect_not_null(find_compiled("own"));
	cr_expect_null(find_compiled("git-net"));
	unload();
	cr_expect_not(load_file("profiles:\n- {name: own, extends: agent, description: more}\n"));
	cr_expect_not_null(strstr(mistake.text, "the profile \"agent\" is not offered; expected it "
						"in the list `offer`"),
			   "%s", mistake.text);
	unload();
}

Test(network, wrong_offers)
{
	static const char *const rows[][2] = {
		{ "offer: [nope]\n",
		  "offer[0]: there is no shipped profile \"nope\"; expected one of "
		  "python-net, node-net, " },
		{ "offer: [agent, agent]\n", "offer[1]: agent given twice; expected once" },
		{ "offer: [strict]\n", "offer[0]: there is no shipped profile \"strict\"" },
		{ "offer: [python-net.yaml]\n", "offer[0]: there is no shipped profile" },
		{ "offer: [\"\"]\n", "offer[0]: there is no shipped profile \"\"" },
		{ "offer: agent\n", "offer: expected a list" },
		{ "offer: [agent]\nprofiles:\n- {name: agent, extends: default}\n",
		  "there is a built-in profile \"agent\"" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect_not(load_file(rows[i][0]), "%s", rows[i][0]);
		cr_expect_not_null(strstr(mistake.text, rows[i][1]), "%s: %s", rows[i][0],
				   mistake.text);
		unload();
	}
}

Test(network, answers)
{
	compile("  network: hosts\n"
		"  hosts:\n"
		"    - index.example.org\n"
		"    - \"*.cdn.example.org\"\n"
		"    - github.com:22\n"
		"    - nexus.corp.example private\n"
		"    - 10.20.0.0/24:5432\n"
		"    - 168.0.0.0/8:80\n");
	expect_answer("connect index.example.org:443", DECISION_CONDITIONAL, 0,
		      "if it has a public address, not this machine's, and answers\n"
		      "rule: hosts: index.example.org:443, TLS with the host's name (web.yaml:7)");
	expect_answer("connect INDEX.example.org.:443", DECISION_CONDITIONAL, 0, "web.yaml:7");
	expect_answer("connect a.cdn.example.org:443", DECISION_CONDITIONAL, 0, "web.yaml:8");
	expect_answer("connect a.b.cdn.example.org:443", DECISION_REFUSED, 0, "no entry covers");
	expect_answer("connect cdn.example.org:443", DECISION_REFUSED, 0, "no entry covers");
	expect_answer("resolve index.example.org", DECISION_CONDITIONAL, 0, "web.yaml:7");
	expect_answer("resolve cdn.example.org", DECISION_REFUSED, 0,
		      "no entry covers the name cdn.example.org");
	expect_answer("connect github.com:443", DECISION_REFUSED, ECONNREFUSED,
		      "rule: hosts: github.com has no port 443 (web.yaml:9); remedy: in the "
		      "operator's profile, hosts: [\"github.com:443\"]");
	expect_answer("connect nexus.corp.example:443", DECISION_CONDITIONAL, 0,
		      "if it has a public or private address, not this machine's, and answers");
	expect_answer("connect 10.20.0.9:5432", DECISION_CONDITIONAL, 0,
		      "if it is not this machine's and answers");
	expect_answer("connect 10.20.1.9:5432", DECISION_REFUSED, ECONNREFUSED, "no entry covers");
	expect_answer("connect 10.20.0.9:22", DECISION_REFUSED, ECONNREFUSED, "has no port 22");
	expect_answer("connect 168.63.129.16:80", DECISION_REFUSED, ECONNREFUSED,
		      "metadata service");
	expect_answer("connect 169.254.169.254:80", DECISION_REFUSED, ECONNREFUSED,
		      "remedy: none: no profile can allow it");
	expect_answer("connect [2606:4700::1]:443", DECISION_REFUSED, ENETUNREACH,
		      "a sandbox has IPv4 alone");
	expect_answer("connect udp:index.example.org:443", DECISION_REFUSED, ECONNREFUSED,
		      "by TCP alone (web.yaml:7); remedy: none: no profile can allow UDP");
	expect_answer("connect evil.example:443", DECISION_REFUSED, 0,
		      "rule: hosts: no entry covers the name evil.example (web.yaml:6)");
	expect_answer("connect localhost:80", DECISION_CONDITIONAL, 0,
		      "rule: network: hosts: a sandbox has its own loopback (web.yaml:6)");
	expect_answer("connect 127.0.0.1:443", DECISION_CONDITIONAL, 0, "its own loopback");
	unload();
}

/* Only what an approval would open is said to be open to one. */
Test(network, answers_about_approval)
{
	static const char *const closed[] = {
		"connect 203.0.113.9:443",
		"connect [2606:4700::1]:443",
		"connect udp:evil.example:443",
		"connect evil.example:53",
		"connect index.example.org:443",
		"connect 169.254.169.254:80",
		"use TOKEN at evil.example",
		"request GET http://evil.example:443/",
		"request POST https://api.example.org/",
	};

	compile("  network: hosts\n"
		"  host_approval: person\n"
		"  hosts: [index.example.org, api.example.org]\n"
		"  requests: [GET api.example.org]\n"
		"  secrets: [{name: TOKEN, hosts: [api.example.org], header: A, env: TOKEN}]\n");
	expect_answer("connect evil.example:443", DECISION_REFUSED, 0,
		      "(web.yaml:7); can be approved with msp network approve evil.example:443; "
		      "remedy: in the operator's profile, hosts: [\"evil.example:443\"]");
	expect_answer("resolve evil.example", DECISION_REFUSED, 0,
		      "; can be approved with msp network approve evil.example:443; remedy: ");
	expect_answer("connect index.example.org:22", DECISION_REFUSED, ECONNREFUSED,
		      "has no port 22 (web.yaml:7); can be approved with msp network approve "
		      "index.example.org:22; remedy: ");
	expect_answer("request GET http://evil.example/x", DECISION_REFUSED, 0,
		      "; can be approved with msp network approve evil.example:80; remedy: ");
	for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++)
		cr_expect_eq(approval_of(closed[i]), PLAN_HOST_APPROVAL_NEVER, "%s", closed[i]);
	unload();
	compile("  network: hosts\n  host_approval: ask\n  hosts: []\n");
	expect_answer("connect evil.example:443", DECISION_REFUSED, 0,
		      "; can be approved with the tool request_host or msp network approve "
		      "evil.example:443; remedy: ");
	unload();
	compile("  network: hosts\n  hosts: []\n");
	cr_expect_eq(approval_of("connect evil.example:443"), PLAN_HOST_APPROVAL_NEVER);
	unload();
	/* the proxy reaches every host */
	compile("  network: hosts\n  hosts: []\n  host_approval: ask\n"
		"  through: proxy.corp.example:3128\n");
	cr_expect_eq(approval_of("connect evil.example:443"), PLAN_HOST_APPROVAL_ASK);
	cr_expect_eq(approval_of("connect Proxy.corp.example:3128"), PLAN_HOST_APPROVAL_NEVER);
	cr_expect_eq(approval_of("resolve proxy.corp.example"), PLAN_HOST_APPROVAL_NEVER);
	unload();
}

/* Return the text of the last record that makes this file in the profile "web"; NULL: none does. */
static const char *text_of(const char *target)
{
	const int index = plan_profile_find(&loaded.plan, "web");
	const struct plan_profile *profile = plan_profile(&loaded.plan, (uint32_t)index);
	const struct plan_mount *mounts = plan_mounts(&loaded.plan, profile);
	const char *found = NULL;

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		if (strcmp(plan_string(&loaded.plan, mounts[i].target), target) == 0)
			found = plan_string(&loaded.plan, mounts[i].source);
	}
	return found;
}

Test(network, names_are_resolved_by_the_gateway)
{
	compile("  network: hosts\n  hosts: [example.org]\n");
	cr_expect_str_eq(text_of("/etc/resolv.conf"), "nameserver 198.18.0.1\n");
	cr_expect_not_null(strstr(text_of("/etc/nsswitch.conf"), "\nhosts: files dns\n"));
	cr_expect_not_null(strstr(text_of("/etc/nsswitch.conf"), "passwd: files\n"));
	unload();
	compile("  network: loopback\n");
	cr_expect_null(strstr(text_of("/etc/resolv.conf"), "nameserver"));
	cr_expect_null(strstr(text_of("/etc/nsswitch.conf"), "dns"));
	unload();
}

Test(network, an_operators_own_file_stays)
{
	compile("  network: hosts\n  hosts: [example.org]\n"
		"  files:\n  - {at: /etc/resolv.conf, kind: file, text: \"mine\\n\"}\n");
	cr_expect_str_eq(text_of("/etc/resolv.conf"), "mine\n");
	cr_expect_not_null(strstr(text_of("/etc/nsswitch.conf"), "\nhosts: files dns\n"));
	unload();
}

Test(network, hosts_need_a_resolver)
{
	static const char file[] =
		"profiles:\n- name: web\n  extends: minimal\n"
		"  description: small\n  network: hosts\n  hosts: [example.org]\n"
		"  seccomp: {add: [network]}\n";

	cr_expect_not(load_file(file));
	cr_expect_not_null(strstr(mistake.text, "/etc/resolv.conf is missing"), "%s", mistake.text);
	unload();
}
