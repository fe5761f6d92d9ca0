/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/denials_network.h"

#include "frontend/denial_hints.h"

#include <criterion/criterion.h>
#include <string.h>

#include "common/ipc/ipc_gateway.h"
#include "frontend/network_watch.h"
#include "support.h"

static struct network_denials network;
static struct denial_views views;

static void add(const char *host, uint32_t port, uint32_t reason, uint32_t count,
		uint32_t is_shared)
{
	struct ipc_network_denial *denial = &network.items[network.count++];

	*denial = (struct ipc_network_denial){
		.port = port, .reason = reason, .count = count, .is_shared = is_shared
	};
	memcpy(denial->host, host, strlen(host) + 1);
}

static const char *lines_without_plan(void)
{
	static char lines[DENIALS_TEXT_MAX];

	denials_add_network(&(const struct hint_source){ .profile = "work" }, &network, &views);
	denials_put_lines(&views, lines);
	return lines;
}

Test(denials_network, no_watch_is_no_view)
{
	denials_add_network(&(const struct hint_source){ .profile = "work" }, NULL, &views);
	cr_assert_eq(views.count, 0);
}

Test(denials_network, counts_hosts_and_ports)
{
	add("a.example", 0, CONNECTION_REFUSED_HOST, 3, 0);
	add("a.example", 5433, CONNECTION_REFUSED_PORT, 1, 1);
	cr_assert_str_eq(lines_without_plan(),
			 "denied: resolve a.example (3 times) by network: the profile does not "
			 "have this host\n"
			 "denied: connect a.example:5433 (1 time in all executions of the "
			 "sandbox) by network: the profile does not have this port of the host");
	cr_assert(views.items[1].is_shared);
	cr_assert_not(views.items[1].is_inferred);
}

Test(denials_network, names_the_rule_of_the_plan)
{
	struct builtin builtin = builtin_open();

	add("a.example", 0, CONNECTION_REFUSED_HOST, 1, 0);
	denials_add_network(
		&(const struct hint_source){ .plan = &builtin.plan, .profile = "default" },
		&network, &views);
	cr_assert_str_eq(views.items[0].target, "a.example");
	cr_assert(strstr(views.items[0].rule, "network: "), "%s", views.items[0].rule);
	cr_assert(strstr(views.items[0].hint, "a.example"), "%s", views.items[0].hint);
	builtin_close(&builtin);
}

/* The remedy of a refused host is one that works where the execution ran. */
Test(denials_network, says_who_can_approve)
{
	static const struct {
		const char *profile;
		bool is_tool, is_persistent, is_service;
		const char *remedy, *hint;
	} rows[] = {
		{ "asks", true, false, false,
		  "the tool request_host, or in the operator's profile, hosts: [\"a.example:443\"]",
		  "a.example is refused by this profile; request_host asks the user" },
		{ "asks", true, true, true,
		  "the tool request_host, msp network approve a.example:443, or in the operator's "
		  "profile, hosts: [\"a.example:443\"]",
		  "request_host asks the user" },
		{ "asks", false, true, true,
		  "msp network approve a.example:443, or in the operator's profile, ",
		  "the user may run `msp network approve`" },
		{ "persons", true, false, true,
		  "msp network approve a.example:443, or in the operator's profile, ",
		  "a.example is refused by this profile; the user may run `msp network approve`" },
		{ "persons", true, true, false, "in the operator's profile, hosts: ",
		  "a.example is not among the hosts and ports of this profile" },
		{ "persons", false, true, true, "msp network approve a.example:443, or in ", "" },
		{ "persons", false, false, true, "in the operator's profile, hosts: ", "" },
		{ "persons", false, true, false, "in the operator's profile, hosts: ", "" },
		{ "nobody", true, true, true,
		  "in the operator's profile, hosts: ", "is not among the hosts and ports" },
	};
	static const char file[] =
		"profiles:\n"
		"- {name: nobody, extends: default, network: hosts, hosts: [b.example]}\n"
		"- {name: persons, extends: nobody, host_approval: person}\n"
		"- {name: asks, extends: nobody, host_approval: ask}\n";
	struct builtin builtin = builtin_open_with(file);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct hint_source source = { .plan = &builtin.plan,
						    .profile = rows[i].profile,
						    .is_tool = rows[i].is_tool,
						    .is_persistent = rows[i].is_persistent,
						    .is_service = rows[i].is_service };

		views.count = network.count = 0;
		add("a.example", 0, CONNECTION_REFUSED_HOST, 1, 0);
		add("b.example", 22, CONNECTION_REFUSED_PORT, 1, 0);
		add("a.example", 443, CONNECTION_REFUSED_ADDRESS, 1, 0);
		add("192.0.2.1", 443, CONNECTION_REFUSED_HOST, 1, 0);
		denials_add_network(&source, &network, &views);
		cr_expect_eq(strncmp(views.items[0].remedy, rows[i].remedy, strlen(rows[i].remedy)),
			     0, "%zu: %s", i, views.items[0].remedy);
		cr_expect_not_null(strstr(views.items[0].hint, rows[i].hint), "%zu: %s", i,
				   views.items[0].hint);
		cr_expect_eq(strstr(views.items[1].remedy, "msp network approve b.example:22") !=
				     NULL,
			     strstr(rows[i].remedy, "msp network") != NULL, "%zu: %s", i,
			     views.items[1].remedy);
		for (uint32_t j = 2; j < 4; j++) {
			cr_expect_null(strstr(views.items[j].remedy, "approve"), "%zu: %s", i,
				       views.items[j].remedy);
			cr_expect_null(strstr(views.items[j].remedy, "request_host"));
		}
	}
	builtin_close(&builtin);
}

/* What the operator can write is said once, and is what works. */
Test(denials_network, addresses_that_are_not_dialled)
{
	static const struct {
		const char *host;
		uint32_t port, reason;
		const char *remedy, *hint;
	} rows[] = {
		{ "b.example", 443, CONNECTION_REFUSED_ADDRESS,
		  "in the operator's profile, the word `private` in its entry for a private "
		  "address "
		  "of another machine, or `to` for a port of this one",
		  "leads to addresses that this profile does not reach" },
		{ "p.example", 443, CONNECTION_REFUSED_ADDRESS,
		  "none: no profile can allow link-local and metadata addresses, or what this "
		  "machine's routes forbid",
		  "leads to an address that no profile reaches" },
		{ "o.example", 5432, CONNECTION_REFUSED_ADDRESS,
		  "in the operator's profile, an address of this machine in `to` of its entry",
		  "leads to an address that is not this machine's" },
		{ "p.example", 443, CONNECTION_REFUSED_OWN,
		  "if one port of this machine is meant, in the operator's profile, hosts: [{host: "
		  "\"p.example:443\", to: \"ADDRESS:443\"}]",
		  "leads to this machine, whose ports no entry without `to` reaches" },
		{ "10.0.0.7", 22, CONNECTION_REFUSED_OWN,
		  "if one port of this machine is meant, in the operator's profile, hosts: [{host: "
		  "\"NAME:22\", to: \"10.0.0.7:22\"}]",
		  "10.0.0.7:22 leads to this machine" },
	};
	static const char file[] = "profiles:\n"
				   "- name: own\n"
				   "  extends: default\n"
				   "  network: hosts\n"
				   "  hosts: [b.example, p.example private, \"10.0.0.0/8:22\",\n"
				   "          {host: o.example, to: \"127.0.0.1:5432\"}]\n";
	struct builtin builtin = builtin_open_with(file);
	const struct hint_source source = { .plan = &builtin.plan, .profile = "own" };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		views.count = network.count = 0;
		add(rows[i].host, rows[i].port, rows[i].reason, 1, 0);
		denials_add_network(&source, &network, &views);
		cr_expect_str_eq(views.items[0].remedy, rows[i].remedy);
		cr_expect_not_null(strstr(views.items[0].hint, rows[i].hint), "%zu: %s", i,
				   views.items[0].hint);
	}
	views.count = network.count = 0;
	add("o.example", 5432, CONNECTION_UNREACHED, 1, 0);
	denials_add_network(&source, &network, &views);
	cr_expect_str_eq(views.unreached,
			 "o.example:5432 is allowed, but no server of this machine listens where "
			 "its entry leads");
	builtin_close(&builtin);
}

/* Policy allows these hosts, so that no denial is shown but the failure that msp-cable counted. */
Test(denials_network, hosts_that_were_not_reached)
{
	static const struct {
		const char *host;
		uint32_t port, reason;
		const char *line;
	} rows[] = {
		{ "a.example", 0, CONNECTION_UNKNOWN,
		  "[a.example is allowed, but no name server knows it]\n" },
		{ "a.example", 0, CONNECTION_UNREACHED,
		  "[a.example is allowed, but no name server answered for it]\n" },
		{ "a.example", 443, CONNECTION_UNREACHED,
		  "[a.example:443 is allowed, but no server of it could be reached]\n" },
		{ "a.example", 443, CONNECTION_PROXY_UNREACHED,
		  "[a.example:443 is allowed, but the proxy of the profile's `through` does not "
		  "answer]\n" },
	};
	struct builtin builtin = builtin_open();
	const struct hint_source source = { .plan = &builtin.plan, .profile = "default" };
	char lines[DENIALS_TEXT_MAX];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(&views, 0, sizeof(views));
		network.count = 0;
		add(rows[i].host, rows[i].port, rows[i].reason, 2, 0);
		add("b.example", 443, CONNECTION_UNREACHED, 1, 0);
		denials_add_network(&source, &network, &views);
		cr_expect_eq(views.count, 0, "%zu", i);
		denials_put_hints(&views, lines);
		cr_expect_str_eq(lines, rows[i].line);
	}
	/* a refusal is told first */
	add("c.example", 0, CONNECTION_REFUSED_HOST, 1, 0);
	denials_add_network(&source, &network, &views);
	denials_put_hints(&views, lines);
	cr_expect_eq(strncmp(lines, "[sandbox: c.example", 19), 0, "%s", lines);
	builtin_close(&builtin);
}

/* A kind without a check is no remedy for a greeting that is refused. */
Test(denials_network, greetings)
{
	struct builtin builtin = builtin_open_with(
		"profiles:\n- {name: net, extends: default, network: hosts, hosts: [a.example]}\n");
	const struct hint_source source = { .plan = &builtin.plan, .profile = "net" };

	views.count = network.count = 0;
	add("a.example", 443, CONNECTION_REFUSED_HIDDEN, 1, 0);
	add("a.example", 443, CONNECTION_REFUSED_TLS, 1, 0);
	denials_add_network(&source, &network, &views);
	cr_expect_str_eq(views.items[0].reason, "hidden name: use kind https");
	cr_expect_str_eq(views.items[0].hint,
			 "a.example:443 was refused, hidden name: use kind https");
	cr_expect_str_eq(views.items[0].remedy, "in the operator's profile, the word `https` in "
						"its entry of `hosts`");
	for (uint32_t i = 0; i < 2; i++)
		cr_expect_null(strstr(views.items[i].remedy, "tcp"), "%s", views.items[i].remedy);
	builtin_close(&builtin);
}

/* A port that no entry has is not counted: the program's words are the question. */
Test(denials_network, an_inferred_refusal_can_be_approved)
{
	static const char text[] =
		"curl: (7) Failed to connect to b.example port 8080: Connection refused\n";
	struct builtin builtin = builtin_open_with(
		"profiles:\n- {name: asks, extends: default, network: hosts, hosts: [b.example], "
		"host_approval: ask}\n");
	struct hint_source source = { .plan = &builtin.plan,
				      .profile = "asks",
				      .command = "curl http://b.example:8080/",
				      .exit_code = 7,
				      .is_tool = true,
				      .tail = text,
				      .size = sizeof(text) - 1 };

	denial_hints_add(&source, &views);
	cr_assert_eq(views.count, 1);
	cr_expect_str_eq(views.items[0].hint,
			 "b.example is refused by this profile; request_host asks the user");
	cr_expect_str_eq(views.items[0].remedy, "the tool request_host, or in the operator's "
						"profile, hosts: [\"b.example:8080\"]");
	views.count = 0;
	source.is_tool = false;
	denial_hints_add(&source, &views);
	cr_expect_str_eq(views.items[0].remedy,
			 "in the operator's profile, hosts: [\"b.example:8080\"]");
	builtin_close(&builtin);
}

Test(denials_network, further_kinds_and_unknown_reasons)
{
	add("", 0, 0, 9, 0);
	add("a.example", 1, CONNECTION_REFUSED_COUNT, 1, 0);
	cr_assert_str_eq(lines_without_plan(), "");
	cr_assert_eq(views.count, 1);
	cr_assert_eq(views.items[0].count, 9);
}
