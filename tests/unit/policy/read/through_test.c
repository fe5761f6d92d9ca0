/* SPDX-License-Identifier: Apache-2.0
 *
 * The proxy of a profile: the key, its mistakes, and the answers to connections.
 */
#include "web.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gateway/hosts/list.h"
#include "policy/write/facts.h"
#include "policy/write/show.h"

#define HOSTS "  network: hosts\n  hosts: [a.example, db.example:5432 private, 8.8.8.8:853]\n"

Test(through, who_has_a_proxy)
{
	static const struct {
		const char *name, *host;
		uint16_t port;
	} rows[] = {
		{ "web", "proxy.corp.example", 3128 },
		{ "same", "proxy.corp.example", 3128 },
		{ "other", "127.0.0.1", 8080 },
		{ "direct", "", 0 },
		{ "closed", "", 0 },
		{ "default", "", 0 },
	};

	compile(HOSTS "  through: Proxy.Corp.Example.:3128\n"
		      "- {name: same, extends: web, description: d, hosts: [b.example]}\n"
		      "- {name: other, extends: web, description: d, through: \"127.0.0.1:8080\"}\n"
		      "- {name: direct, extends: web, description: d, through: direct}\n"
		      "- {name: closed, extends: web, description: d, network: loopback}\n");
	expect_shown("through: proxy.corp.example:3128 (web.yaml:7)\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct plan_proxy *proxy = &find_compiled(rows[i].name)->through;

		cr_expect_str_eq(proxy->host, rows[i].host, "%s", rows[i].name);
		cr_expect_eq(proxy->port, rows[i].port, "%s", rows[i].name);
	}
	unload();
}

Test(through, it_is_compared)
{
	struct buffer text = { .bytes = NULL };

	compile(HOSTS "  through: proxy.corp.example:3128\n"
		      "- {name: direct, extends: web, description: d, through: direct}\n");
	policy_diff(policy_find(loaded.policy, "web"), policy_find(loaded.policy, "direct"), &text);
	cr_expect_not_null(strstr(text.bytes, "- through: proxy.corp.example:3128 (web.yaml:7)\n"
					      "+ through: direct (web.yaml:8)\n"),
			   "%s", text.bytes);
	buffer_done(&text);
	unload();
}

Test(through, mistakes)
{
	static const char *const rows[][2] = {
		{ "http://proxy.example:3128", "is a URL; expected the proxy's host and port" },
		{ "user:secret@proxy.example:3128", "a login cannot be said" },
		{ "proxy.example", "has not one colon" },
		{ "[::1]:3128", "has not one colon" },
		{ "none", "has not one colon" },
		{ "proxy.example:", "\"\" is not a port" },
		{ "proxy.example:0", "\"0\" is not a port" },
		{ "proxy.example:65536", "is not a port" },
		{ "proxy.example:+80", "is not a port" },
		{ "proxy.example:3128 private", "is not a port" },
		{ ":3128", "\"\" is neither a name nor" },
		{ "*.example.org:3128", "is neither a name nor" },
		{ "10.0.0.0/8:3128", "is neither a name nor" },
		{ "127.1:3128", "is neither a name nor" },
		{ "localhost:3128", "expected 127.0.0.1 for a proxy of this machine" },
		{ "169.254.169.254:80", "metadata service, which no proxy has" },
		{ "0.0.0.0:3128", "is the unspecified address, which no proxy has" },
		{ "224.0.0.1:3128", "which no proxy has" },
	};
	char keys[512];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)snprintf(keys, sizeof(keys), HOSTS "  through: \"%s\"\n", rows[i][0]);
		cr_expect_not(load(keys), "%s is accepted", rows[i][0]);
		cr_expect_eq(strncmp(mistake.text, "web.yaml:7: profiles[0].through: ", 33), 0,
			     "%s", mistake.text);
		cr_expect_not_null(strstr(mistake.text, rows[i][1]), "%s: %s", rows[i][0],
				   mistake.text);
		cr_expect_null(strstr(mistake.text, "secret"), "%s", mistake.text);
		unload();
	}
	cr_expect_not(load("  through: proxy.example:3128\n"));
	cr_expect_not_null(strstr(mistake.text, "through: without effect, since network is"), "%s",
			   mistake.text);
	unload();
}

Test(through, the_proxy_is_no_host)
{
	static const struct {
		const char *host, *proxy;
		bool is_refused;
	} rows[] = {
		{ "proxy.example:3128 private", "proxy.example:3128", true },
		{ "*.example.org:3128", "proxy.example.org:3128", true },
		{ "10.0.0.0/8:3128", "10.1.2.3:3128", true },
		{ "proxy.example:443", "proxy.example:3128", false },
		{ "a.example:3128", "proxy.example:3128", false },
		{ "10.0.0.0/8:3128", "proxy.example:3128", false },
		{ "a.example:3128", "10.1.2.3:3128", false },
	};
	char keys[512];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool is_loaded;

		(void)snprintf(keys, sizeof(keys),
			       "  network: hosts\n  hosts: [\"%s\"]\n  through: \"%s\"\n",
			       rows[i].host, rows[i].proxy);
		is_loaded = load(keys);
		cr_expect_eq(is_loaded, !rows[i].is_refused, "%s", rows[i].host);
		if (!is_loaded)
			cr_expect_not_null(strstr(mistake.text, "hosts: "), "%s", mistake.text);
		if (!is_loaded)
			cr_expect_not_null(strstr(mistake.text, " covers the proxy of through"),
					   "%s", mistake.text);
		unload();
	}
}

Test(through, answers)
{
	compile(HOSTS "  through: proxy.example:3128\n");
	expect_answer("connect a.example:443", DECISION_CONDITIONAL, 0,
		      ", if the proxy proxy.example:3128 connects to it");
	expect_answer(
		"connect 8.8.8.8:853", DECISION_CONDITIONAL, 0,
		"if it is not this machine's and the proxy proxy.example:3128 connects to it");
	expect_answer("connect db.example:5432", DECISION_CONDITIONAL, 0,
		      "if it has a public or private address, not this machine's, and answers");
	expect_answer("resolve a.example", DECISION_ALLOWED, 0, "hosts: a.example:443");
	expect_answer("resolve db.example", DECISION_CONDITIONAL, 0,
		      "if the host's name servers have an address for it");
	expect_answer("connect proxy.example:3128", DECISION_REFUSED, 0, "no entry covers");
	expect_answer("connect a.example:80", DECISION_REFUSED, ECONNREFUSED, "has no port 80");
	unload();
}

Test(through, addresses_of_a_proxy)
{
	static const struct {
		const char *proxy, *address;
		bool is_right;
	} rows[] = {
		{ "127.0.0.1", "127.0.0.1", true },
		{ "10.1.2.3", "10.1.2.3", true },
		{ "proxy.example", "10.1.2.3", true },
		{ "proxy.example", "93.184.216.34", true },
		{ "proxy.example", "2606:2800:220:1::1", true },
		{ "proxy.example", "127.0.0.1", false },
		{ "proxy.example", "::1", false },
		{ "proxy.example", "169.254.169.254", false },
		{ "proxy.example", "fe80::1", false },
		{ "proxy.example", "64:ff9b::7f00:1", false },
	};
	struct host_wanted proxy;
	struct host_address address;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert(host_wanted_read(rows[i].proxy, &proxy));
		cr_assert(host_address_read(rows[i].address, &address));
		cr_expect_eq(host_proxy_may_be(&proxy, &address), rows[i].is_right, "%s: %s",
			     rows[i].proxy, rows[i].address);
	}
}
