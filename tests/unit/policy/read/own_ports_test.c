/* SPDX-License-Identifier: Apache-2.0
 *
 * Ports of this machine in `hosts`, their mistakes and answers; and "+" for the list of the
 * extended profile.
 */
#include "web.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "gateway/hosts/list.h"

/* Load a profile with keys and compare the mistake. */
static void expect_wrong(const char *keys, const char *part)
{
	cr_expect_not(load(keys), "%s", keys);
	cr_expect_not_null(strstr(mistake.text, part), "%s: %s", keys, mistake.text);
	unload();
}

Test(own_ports, ports_of_this_machine)
{
	const struct plan_host *host;
	struct host_wanted wanted;

	compile("  network: hosts\n"
		"  hosts:\n"
		"    - {host: DB.local., to: 127.0.0.1:5432}\n"
		"    - {host: \"app.local:80 http\", to: \"[::1]:8080\"}\n"
		"    - {host: \"app.local:443\", to: 10.0.0.1:8443}\n"
		"    - \"*.local.example.org:5432\"\n"
		"  through: proxy.corp.example:5432\n");
	expect_shown("hosts:\n"
		     "  db.local:5432 tcp to 127.0.0.1:5432 (web.yaml:7)\n"
		     "  app.local:80 http to [::1]:8080 (web.yaml:8)\n"
		     "  app.local:443 tls to 10.0.0.1:8443 (web.yaml:9)\n"
		     "  *.local.example.org:5432 tcp (web.yaml:10)\n");
	expect_answer("connect db.local:5432", DECISION_CONDITIONAL, 0,
		      "allowed: connect db.local:5432, if this machine's 127.0.0.1:5432 answers\n"
		      "rule: hosts: db.local:5432 (web.yaml:7)");
	expect_answer("connect app.local:80", DECISION_CONDITIONAL, 0,
		      "if this machine's [::1]:8080 answers");
	expect_answer("resolve db.local", DECISION_ALLOWED, 0, "(web.yaml:7)");
	expect_answer("connect db.local:5433", DECISION_REFUSED, ECONNREFUSED,
		      "hosts: db.local has no port 5433 (web.yaml:7); remedy: in the operator's "
		      "profile, hosts: [{host: \"db.local:5433\", to: \"ADDRESS:5433\"}]");
	cr_assert(host_wanted_read("db.local", &wanted));
	host = host_list_find(&loaded.plan, find_compiled("web"), &wanted, 5432);
	cr_assert_not_null(host);
	cr_expect_eq(host->to_port, 5432);
	cr_expect_arr_eq(host->to, ((uint8_t[16]){ [10] = 0xff, 0xff, 127, 0, 0, 1 }), 16);
	cr_expect_null(host_list_proxy(find_compiled("web"), host, &wanted));
	unload();
}

Test(own_ports, wrong_ports_of_this_machine)
{
	static const char *const rows[][2] = {
		{ "{host: db.local}",
		  "profiles[0].hosts[1].to: missing; expected an address of this machine" },
		{ "{to: 127.0.0.1:80}", "hosts[1].host: missing; expected the name" },
		{ "{host: db.local, to: 127.0.0.1:80, port: 5}",
		  "unknown key; expected one of: host, to" },
		{ "{host: db.local, to: [127.0.0.1]}", "expected a value, not a list" },
		{ "{host: db.local, to: 127.0.0.1}", "\"127.0.0.1\" is no port of this machine" },
		{ "{host: db.local, to: localhost:80}",
		  "\"localhost:80\" is no port of this machine" },
		{ "{host: db.local, to: \"::1:80\"}", "is no port of this machine" },
		{ "{host: db.local, to: \"[127.0.0.1]:80\"}", "is no port of this machine" },
		{ "{host: db.local, to: \"[]:80\"}", "is no port of this machine" },
		{ "{host: db.local, to: \":80\"}", "is no port of this machine" },
		{ "{host: db.local, to: 127.1:80}", "is no port of this machine" },
		{ "{host: db.local, to: 127.0.0.1:0}", "is no port of this machine" },
		{ "{host: db.local, to: 127.0.0.1:65536}", "is no port of this machine" },
		{ "{host: db.local, to: \"127.0.0.1:80,81\"}", "is no port of this machine" },
		{ "{host: db.local, to: 127.0.0.0/8:80}", "is no port of this machine" },
		{ "{host: db.local, to: 0.0.0.0:80}",
		  "has the unspecified address, where no port" },
		{ "{host: db.local, to: 169.254.169.254:80}", "metadata service, where no port" },
		{ "{host: db.local, to: \"[64:ff9b::7f00:1]:80\"}", "has a translator's address" },
		{ "{host: db.local, to: \"[fe80::1]:80\"}", "has a link-local address" },
		{ "{host: db.local, to: 127.0.0.1:53}", "is a name server's port" },
		{ "{host: \"db.local:80,81\", to: 127.0.0.1:80}",
		  "hosts[1].host: \"80,81\" are several ports, and to says one" },
		{ "{host: \"*.corp.example\", to: 127.0.0.1:80}", "is no single name" },
		{ "{host: 10.0.0.1, to: 127.0.0.1:80}", "\"10.0.0.1\" is no single name" },
		{ "{host: localhost, to: 127.0.0.1:80}", "is the sandbox itself" },
		{ "{host: \"@pypi\", to: 127.0.0.1:80}", "\"@pypi\" is no host" },
		{ "{host: db.local private, to: 127.0.0.1:80}", "private is without effect" },
		{ "{host: \"\", to: 127.0.0.1:80}", "empty; expected a host" },
		{ "{host: \"first.example:443\", to: 127.0.0.1:80}",
		  "first.example:443 given twice, first in web.yaml:7" },
		{ "{host: \"a.wild.example\", to: 127.0.0.1:80}",
		  "a.wild.example leads to 127.0.0.1:80, but the entry *.wild.example before it "
		  "covers the name" },
		{ "{host: \"first.example:80\", to: 127.0.0.1:80}",
		  "the entry first.example before" },
		{ "{host: db.local, to: 127.0.0.1:3128}", "the port of the proxy of through" },
		{ "{host: db.local, to: 10.1.2.3:3128}", "the port of the proxy of through" },
	};
	char keys[1024];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)snprintf(keys, sizeof(keys),
			       "  network: hosts\n  through: 127.0.0.1:3128\n"
			       "  hosts: [first.example, %s, \"x.example\"]\n",
			       rows[i][0]);
		if (strstr(rows[i][0], "a.wild") != NULL)
			(void)snprintf(keys, sizeof(keys),
				       "  network: hosts\n  hosts: [\"*.wild.example\", %s]\n",
				       rows[i][0]);
		expect_wrong(keys, rows[i][1]);
	}
	expect_wrong("  network: hosts\n  hosts: [\"127.0.0.1:5432\"]\n",
		     "expected another host, or, for a port of this machine, {host: NAME, to: "
		     "\"127.0.0.1:PORT\"}");
	expect_wrong("  network: hosts\n  hosts: [\"localhost:5432\"]\n",
		     "or, for a port of this machine, {host: NAME, to: ");
	expect_wrong("  network: hosts\n  hosts: [{host: db.local, to: 127.0.0.1:80}, {}]\n",
		     "hosts[1]");
}

Test(own_ports, a_list_can_extend_the_parents)
{
	static const uint32_t counts[] = { 2, 4, 3 };
	static const char *const names[] = { "web", "more", "between" };

	compile_loaded(load_file("offer: [python-net]\n"
				 "profiles:\n"
				 "- {name: web, extends: default, description: d, network: hosts,\n"
				 "   hosts: [a.example, \"*.b.example\"]}\n"
				 "- {name: more, extends: web, description: d,\n"
				 "   hosts: [\"+\", c.example, d.example]}\n"
				 "- {name: between, extends: web, description: d,\n"
				 "   hosts: [{host: x.b.example, to: 127.0.0.1:443}, \"+\"]}\n"
				 "- {name: net, extends: python-net, description: d,\n"
				 "   hosts: [\"+\", nexus.example]}\n"));
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		cr_expect_eq(find_compiled(names[i])->host_count, counts[i], "%s", names[i]);
	{
		const struct plan_profile *net = find_compiled("net");
		const struct plan_host *hosts = plan_hosts(&loaded.plan, net);

		cr_expect_gt(net->host_count, 1);
		cr_expect_str_eq(hosts[0].pattern, "pypi.org");
		cr_expect_eq(hosts[0].line, 10, "the line of the list, as the file is another");
		cr_expect_str_eq(hosts[net->host_count - 1].pattern, "nexus.example");
	}
	unload();
	expect_wrong("  network: hosts\n  hosts: [\"+\", a.example]\n",
		     "hosts[0]: \"+\" stands for the list of the extended profile, and default has "
		     "none; expected the other entries alone");
	expect_wrong("  network: hosts\n  hosts: [a.example]\n"
		     "- {name: b, extends: web, description: d, hosts: [\"+\", a.example]}\n",
		     "profiles[1].hosts[1]: a.example:443 given twice, first in web.yaml:6");
	expect_wrong("  network: hosts\n  hosts: [a.example]\n"
		     "- {name: b, extends: web, description: d, hosts: [\"+\", \"+\"]}\n",
		     "profiles[1].hosts[1]: a.example:443 given twice");
}

/* An address of this machine, a public one too, is reached by `to` alone. */
Test(own_ports, answers_about_addresses)
{
	compile("  network: hosts\n"
		"  hosts: [\"10.20.0.0/24:5432\", \"8.0.0.0/8:80\"]\n");
	expect_answer("connect 10.20.1.9:5432", DECISION_REFUSED, ECONNREFUSED,
		      "rule: hosts: no entry covers the address 10.20.1.9 (web.yaml:6); remedy: in "
		      "the operator's profile, hosts: [\"10.20.1.9:5432\"], or if the address is "
		      "this machine's, the entry {host: NAME, to: \"10.20.1.9:5432\"}");
	expect_answer("connect 9.8.8.8:80", DECISION_REFUSED, ECONNREFUSED,
		      "hosts: [\"9.8.8.8:80\"], or if the address is this machine's, the entry "
		      "{host: NAME, to: \"9.8.8.8:80\"}");
	expect_answer("connect 8.8.8.8:80", DECISION_CONDITIONAL, 0,
		      "if it is not this machine's and answers");
	unload();
}
