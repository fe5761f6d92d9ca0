/* SPDX-License-Identifier: Apache-2.0
 *
 * The frontend's side of a grant: its host, and the answer of msp-cable.
 */
#include "frontend/network_grant.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fd.h"
#include "common/ipc/channel.h"

Test(network_grant, a_host_is_a_name_and_a_port)
{
	static const struct {
		const char *host;
		uint32_t port;
		const char *rule; /* its beginning; NULL: it is one */
	} rows[] = {
		{ "A.Example.", 0, NULL },       { "a.example", 22, NULL },
		{ "a.example", 65535, NULL },    { "a.example", 65536, "a port" },
		{ "a.example", 53, "port 53" },  { "10.0.0.1", 443, "a host to add" },
		{ "::1", 443, "a host to add" }, { "*.example", 443, "" },
		{ "2130706433", 443, "" },       { "", 443, "" },
		{ "a example", 443, "" },        { "a.example:443", 443, "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ipc_network_grant grant = { .port = 0 };
		const char *rule = network_grant_read(rows[i].host, rows[i].port, &grant);

		cr_expect_eq(rule == NULL, rows[i].rule == NULL, "%s", rows[i].host);
		if (rule && rows[i].rule)
			cr_expect_eq(strncmp(rule, rows[i].rule, strlen(rows[i].rule)), 0, "%s",
				     rule);
		if (rule)
			continue;
		cr_expect_str_eq(grant.host, "a.example");
		cr_expect_eq(grant.port, rows[i].port ? rows[i].port : 443U);
	}
}

Test(network_grant, the_answer)
{
	static const uint32_t errors[] = { 0, EPERM, ENOSPC };
	const struct ipc_network_host before = { .host = "a.example" };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		const struct ipc_network_granted granted = { errors[i] };
		struct channel cable = { -1, IPC_GATEWAY, IPC_FRONTEND, IPC_SERVE };
		int ends[2], error = 1;

		cr_assert_eq(channel_pair(ends), 0);
		cable.fd = ends[1];
		cr_expect_not(network_grant_take(ends[0], &error), "it has not come");
		cr_assert_eq(channel_send(&cable, IPC_TYPE_network_host, &before, NULL, 0), 0);
		cr_expect_not(network_grant_take(ends[0], &error), "it is another message");
		cr_assert_eq(channel_send(&cable, IPC_TYPE_network_granted, &granted, NULL, 0), 0);
		cr_expect(network_grant_take(ends[0], &error));
		cr_expect_eq(error, -(int)errors[i]);
		fd_close(&ends[1]);
		cr_expect(network_grant_take(ends[0], &error));
		cr_expect_eq(error, -ENOENT, "a closed channel is no grant");
		fd_close(&ends[0]);
	}
}
