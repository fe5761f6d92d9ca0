/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/denials_network.h"

#include <criterion/criterion.h>
#include <string.h>

#include "common/ipc_gateway.h"
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

	denials_add_network(NULL, "work", &network, &views);
	denials_put_lines(&views, lines);
	return lines;
}

Test(denials_network, no_watch_is_no_view)
{
	denials_add_network(NULL, "work", NULL, &views);
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
	denials_add_network(&builtin.plan, "default", &network, &views);
	cr_assert_str_eq(views.items[0].target, "a.example");
	cr_assert(strstr(views.items[0].rule, "network: "), "%s", views.items[0].rule);
	cr_assert(strstr(views.items[0].hint, "a.example"), "%s", views.items[0].hint);
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
