/* SPDX-License-Identifier: Apache-2.0
 *
 * Request rules and secrets of a profile: the entries, their mistakes, and the answers.
 */
#include "web.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gateway/hosts/request.h"
#include "policy/write/show.h"

/* --- requests and secrets -----------------------------------------------------------------------
 */

#define SECRET(rest) "  secrets:\n    - {name: TOKEN, " rest "}\n"

/* Load a file with these hosts (one in line 7) and further keys, which say `part` is wrong. */
static void expect_wrong(const char *hosts, const char *keys, const char *part)
{
	char text[2048];

	(void)snprintf(text, sizeof(text), "  network: hosts\n  hosts: [%s]\n%s", hosts, keys);
	cr_expect_not(load(text), "%s: %s is accepted", hosts, keys);
	cr_expect_not_null(strstr(mistake.text, part), "%s: %s", keys, mistake.text);
	cr_expect_eq(strncmp(mistake.text, "web.yaml:", 9), 0, "%s", mistake.text);
	unload();
}

Test(http, rules_and_secrets_make_https)
{
	const struct plan_profile *profile;
	const struct plan_request *rules;
	const struct plan_secret *secrets;
	const struct plan_host *hosts;

	compile("  network: hosts\n"
		"  hosts:\n"
		"    - api.example.org\n"
		"    - git.example.org\n"
		"    - packages.example.org:80 http\n"
		"    - other.example.org\n"
		"    - seen.example.org https\n"
		"  requests:\n"
		"    - GET,POST API.example.org./v1/\n"
		"    - \"* packages.example.org\"\n"
		"  secrets:\n"
		"    - {name: TOKEN_1, hosts: [git.example.org], header: X-Key, file: ~/.token}\n"
		"    - {name: A, hosts: [api.example.org, packages.example.org], cleartext: true,\n"
		"       header: Authorization, command: [/usr/bin/pass, show, a]}\n");
	expect_shown("hosts:\n"
		     "  api.example.org:443 https (web.yaml:7)\n"
		     "  git.example.org:443 https (web.yaml:8)\n"
		     "  packages.example.org:80 http (web.yaml:9)\n"
		     "  other.example.org:443 tls (web.yaml:10)\n"
		     "  seen.example.org:443 https (web.yaml:11)\n"
		     "requests:\n"
		     "  GET,POST api.example.org/v1/ (web.yaml:13)\n"
		     "  * packages.example.org/ (web.yaml:14)\n"
		     "secrets:\n"
		     "  TOKEN_1 for git.example.org in X-Key, file ~/.token (web.yaml:16)\n"
		     "  A for api.example.org packages.example.org in Authorization, command "
		     "/usr/bin/pass show a, cleartext (web.yaml:17)\n");
	expect_shown("  SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt (web.yaml:6)\n");
	expect_shown("  TOKEN_1=msp-TOKEN_1-secret (web.yaml:16)\n");
	profile = find_compiled("web");
	hosts = plan_hosts(&loaded.plan, profile);
	cr_expect_eq(hosts[0].kind, PLAN_HOST_HTTPS);
	cr_expect_eq(hosts[3].kind, PLAN_HOST_TLS);
	rules = plan_requests(&loaded.plan, profile);
	cr_assert_eq(profile->request_count, 2);
	cr_expect_eq(rules[0].methods, HOST_METHOD_GET | HOST_METHOD_POST);
	cr_expect_eq(rules[0].host, 0);
	cr_expect_str_eq(rules[0].path, "/v1/");
	cr_expect_eq(rules[0].line, 13);
	cr_expect_eq(rules[1].methods, 0);
	cr_expect_eq(rules[1].host, 2);
	secrets = plan_secrets(&loaded.plan, profile);
	cr_assert_eq(profile->secret_count, 2);
	cr_expect_eq(secrets[0].hosts[0], 2);
	cr_expect_eq(secrets[1].hosts[0], 5);
	cr_expect_str_eq(secrets[0].placeholder, "msp-TOKEN_1-secret");
	cr_expect_eq(secrets[1].source_kind, PLAN_SECRET_COMMAND);
	cr_expect_eq(memcmp(secrets[1].source, "/usr/bin/pass\0show\0a\0", 22), 0);
	unload();
}

/* The certificate is shown in the place of the host's, only where TLS is ended. */
Test(http, trust)
{
	static const struct {
		const char *hosts;
		uint32_t trusted;
		bool has_variable;
	} cases[] = { { "[a.example]", 0, false },
		      { "[\"a.example:80 http\"]", 0, false },
		      { "[\"a.example https\"]", 3, true } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct plan_profile *profile;
		struct buffer shown = { .bytes = NULL };
		uint32_t trusted = 0;
		char keys[256];

		(void)snprintf(keys, sizeof(keys), "  network: hosts\n  hosts: %s\n",
			       cases[i].hosts);
		compile(keys);
		profile = find_compiled("web");
		for (uint32_t m = 0; m < profile->mount_count; m++) {
			const uint32_t flags = plan_mounts(&loaded.plan, profile)[m].flags;

			trusted += (flags & PLAN_TRUST) != 0;
		}
		cr_expect_eq(trusted, cases[i].trusted, "%s", cases[i].hosts);
		policy_show(policy_find(loaded.policy, "web"), &shown);
		cr_expect_eq(strstr(shown.bytes, "  NODE_EXTRA_CA_CERTS=") != NULL,
			     cases[i].has_variable);
		buffer_done(&shown);
		unload();
	}
	expect_wrong("a.example https",
		     "  files:\n    - {at: /etc/ssl/certs, kind: bind, from: /opt/certs}\n",
		     "files: /etc/ssl/certs is not that of a built-in profile");
	compile("  network: hosts\n  hosts: [a.example https]\n"
		"  environment: [SSL_CERT_FILE=/own]\n");
	expect_shown("  SSL_CERT_FILE=/own (web.yaml:7)\n");
	expect_shown("  PIP_CERT=/etc/ssl/certs/ca-certificates.crt (web.yaml:6)\n");
	unload();
}

Test(http, wrong_requests)
{
	static const char *const rows[][2] = {
		{ "GET", "\"GET\" is not a rule; expected METHODS HOST/PATH" },
		{ "a.example/", "is not a rule" },
		{ "get a.example/", "\"get\" is not a method" },
		{ "CONNECT a.example/", "\"CONNECT\" is not a method" },
		{ "GET,* a.example/", "\"*\" is not a method" },
		{ ", a.example/", "without a method" },
		{ "GET https://a.example/", "is no host" },
		{ "GET a.example:443/", "is no host" },
		{ "GET a.example/a b", "is no path of a rule: a path has visible ASCII" },
		{ "GET a.example/../b", "a path has no segment . or .." },
		{ "GET a.example/a?b", "without \\, # and ?" },
		{ "GET b.example/", "a request rule: b.example has no entry of its own in hosts" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char keys[256];

		(void)snprintf(keys, sizeof(keys), "  requests:\n    - \"%s\"\n", rows[i][0]);
		expect_wrong("a.example", keys, rows[i][1]);
		cr_expect_eq(strncmp(mistake.text, "web.yaml:8: profiles[0].requests[0]: ", 37), 0,
			     "%s", mistake.text);
	}
}

#define RULE "  requests: [\"GET a.example/\"]\n"

Test(http, rules_need_hosts_that_are_read)
{
	expect_wrong("a.example tls", RULE, "a.example is said to be tls, which passes unread");
	expect_wrong("\"a.example:80\"", RULE, "has a port of kind tcp, which passes unread");
	expect_wrong("\"a.example:22,443\"", RULE, "has a port of kind tcp");
	expect_wrong("\"*.example.org\", a.example.org", "  requests: [GET a.example.org/]\n",
		     "a.example.org is covered by the entry *.example.org before its own");
	expect_wrong("\"*.example.org\"", "  requests: [GET a.example.org/]\n",
		     "has no entry of its own in hosts");
	compile("  network: hosts\n  hosts: [a.example.org, \"*.example.org\"]\n"
		"  requests: [GET a.example.org/, \"GET *.example.org/\"]\n");
	unload();
	cr_expect_not(load("  requests: [GET a.example/]\n"));
	cr_expect_not_null(strstr(mistake.text, "requests: without effect, since network is "),
			   "%s", mistake.text);
	unload();
}

Test(http, wrong_secrets)
{
	static const char *const rows[][3] = {
		{ "a.example", SECRET("header: X, file: /a"), "hosts: missing; expected a list" },
		{ "a.example", SECRET("hosts: [a.example], file: /a"), "header: missing" },
		{ "a.example", SECRET("hosts: [a.example], header: 'A B', file: /a"),
		  "\"A B\" is not the name of a header" },
		{ "a.example", SECRET("hosts: [a.example], header: 'A:', file: /a"),
		  "is not the name of a header" },
		{ "a.example", SECRET("hosts: [a.example], header: hOST, file: /a"),
		  "\"hOST\" decides how a request is read" },
		{ "a.example", SECRET("hosts: [a.example], header: Content-Length, file: /a"),
		  "decides how a request is read" },
		{ "a.example", SECRET("hosts: [a.example], header: transfer-encoding, file: /a"),
		  "decides how a request is read" },
		{ "a.example", SECRET("hosts: [a.example], header: Connection, file: /a"),
		  "decides how a request is read" },
		{ "a.example", SECRET("hosts: [a.example], header: Proxy-Authorization, file: /a"),
		  "decides how a request is read" },
		{ "a.example", SECRET("hosts: [a.example], header: X"), "without a source" },
		{ "a.example", SECRET("hosts: [a.example], header: X, file: /a, env: B"),
		  "with more than one source" },
		{ "a.example", SECRET("hosts: [a.example], header: X, file: a/b"),
		  "file: \"a/b\" is not a path" },
		{ "a.example", SECRET("hosts: [a.example], header: X, file: ~root/b"),
		  "is not a path" },
		{ "a.example", SECRET("hosts: [a.example], header: X, env: A=B"),
		  "env: \"A=B\" is not a variable's name" },
		{ "a.example", SECRET("hosts: [a.example], header: X, command: [pass]"),
		  "command: \"pass\" is not a program's path" },
		{ "a.example", SECRET("hosts: [a.example], header: X, file: /a, cleartext: yes"),
		  "cleartext: \"yes\" is not known" },
		{ "a.example", SECRET("hosts: [b.example], header: X, file: /a"),
		  "hosts: TOKEN: b.example has no entry of its own in hosts" },
		{ "a.example tls", SECRET("hosts: [a.example], header: X, file: /a"),
		  "is said to be tls" },
		{ "'a.example:22'", SECRET("hosts: [a.example], header: X, file: /a"),
		  "has no port that can be read" },
		{ "'a.example:80 http'", SECRET("hosts: [a.example], header: X, file: /a"),
		  "is of kind http, where anybody on the way reads it; expected https, or the key "
		  "cleartext: true" },
		{ "'*.example.org'", SECRET("hosts: ['*.example.org'], header: X, file: /a"),
		  "stands for more hosts than one" },
		{ "10.0.0.1", SECRET("hosts: [10.0.0.1], header: X, file: /a"), "is no host" },
		{ "a.example", "  secrets: [{name: token, hosts: [a.example]}]\n",
		  "name: \"token\" is not the name of a secret" },
		{ "a.example", "  secrets: [{name: 1A, hosts: [a.example]}]\n",
		  "is not the name of a secret" },
		{ "a.example", "  secrets: [{value: x}]\n",
		  "secrets[0].value: unknown key; expected one of: name, header, file, env" },
		{ "a.example",
		  "  secrets: [{name: PATH, hosts: [a.example], header: X, file: /a}]\n",
		  "PATH is a variable of the profile already" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_wrong(rows[i][0], rows[i][1], rows[i][2]);
}

/* A child that has other hosts has to say what becomes of the parent's secrets. */
Test(http, secrets_are_inherited)
{
	static const char parent[] = "  network: hosts\n  hosts: [a.example]\n" SECRET(
		"hosts: [a.example], header: X, file: /a") "- name: child\n"
							   "  extends: web\n"
							   "  description: a child\n";
	char text[1024];

	compile(parent);
	cr_expect_eq(find_compiled("child")->secret_count, 1);
	unload();
	(void)snprintf(text, sizeof(text), "%s  hosts: [b.example]\n", parent);
	cr_expect_not(load(text));
	cr_expect_not_null(strstr(mistake.text, "hosts: TOKEN: a.example has no entry of its own"),
			   "%s", mistake.text);
	unload();
	(void)snprintf(text, sizeof(text), "%s  hosts: [a.example]\n  secrets: []\n", parent);
	compile(text);
	cr_expect_eq(find_compiled("child")->secret_count, 0);
	cr_expect_eq(plan_hosts(&loaded.plan, find_compiled("child"))->kind, PLAN_HOST_TLS);
	unload();
	(void)snprintf(text, sizeof(text), "%s  network: loopback\n", parent);
	compile(text);
	cr_expect_eq(find_compiled("child")->secret_count, 0);
	unload();
}

Test(http, answers_to_requests)
{
	compile("  network: hosts\n"
		"  hosts: [api.example.org, 'p.example:80 http', tls.example, 'raw.example:80']\n"
		"  requests: [GET api.example.org/v1/]\n"
		"  secrets: [{name: T, hosts: [api.example.org], header: X, env: T}]\n");
	expect_answer("request GET https://api.example.org/v1/a?b", DECISION_CONDITIONAL, 0,
		      "rule: requests: api.example.org/v1/ (web.yaml:7)");
	expect_answer(
		"request POST https://api.example.org/v1/a", DECISION_REFUSED, 0,
		"requests: no rule covers POST /v1/a at api.example.org (web.yaml:6); remedy: "
		"in the operator's profile, requests: [\"POST api.example.org/v1/a\"]");
	expect_answer("request GET https://api.example.org/v1/../b", DECISION_REFUSED, 0,
		      "a path has no segment . or ..");
	expect_answer("request BREW https://api.example.org/v1/", DECISION_REFUSED, 0, "no rule");
	expect_answer("request GET http://p.example/", DECISION_CONDITIONAL, 0,
		      "hosts: p.example:80, HTTP with the host's name");
	expect_answer("request GET https://p.example:80/", DECISION_REFUSED, 0,
		      "hosts: p.example:80 is for http alone (web.yaml:6); remedy: in the "
		      "operator's profile, hosts: [\"p.example:80 https\"]");
	expect_answer("request GET http://tls.example:443/", DECISION_REFUSED, 0,
		      "is for https alone");
	expect_answer("request GET https://tls.example/", DECISION_CONDITIONAL, 0,
		      "hosts: tls.example:443, whose requests are not read");
	expect_answer("request GET http://raw.example/", DECISION_CONDITIONAL, 0, "are not read");
	expect_answer("request GET https://api.example.org:444/", DECISION_REFUSED, ECONNREFUSED,
		      "api.example.org has no port 444");
	expect_answer("request GET https://evil.example/", DECISION_REFUSED, 0,
		      "no entry covers the name evil.example");
	expect_answer("request GET http://127.0.0.1:8080/", DECISION_CONDITIONAL, 0, "loopback");
	expect_answer("use T at api.example.org", DECISION_CONDITIONAL, 0,
		      "rule: secrets: T in the header X (web.yaml:8)");
	expect_answer("use T at tls.example", DECISION_REFUSED, 0,
		      "secrets: T is not for tls.example:443 (web.yaml:8)");
	expect_answer("use U at api.example.org", DECISION_REFUSED, 0,
		      "secrets: the profile has no U (web.yaml:6)");
	expect_answer("use T at evil.example", DECISION_REFUSED, 0, "no entry covers the name");
	expect_answer("use T at 127.0.0.1", DECISION_REFUSED, 0, "is not for 127.0.0.1");
	unload();
}
