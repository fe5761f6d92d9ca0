/* SPDX-License-Identifier: Apache-2.0
 *
 * Servers of msp-http: offered by the launcher, begun with the first sandbox. The test is msp-http
 * and msp-egress.
 */
#include "gateway/cable/servers.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_gateway.h"
#include "common/ipc/ipc_http.h"
#include "gateway/cable/hub.h"

static struct hub hub;
static struct channel far_http, far_egress;
static struct channel_message message;
static int plan;
static ino_t inode;

static void open_channel(struct channel *own, struct channel *far)
{
	int ends[2];

	cr_assert_eq(channel_pair(ends), 0);
	*own = (struct channel){ ends[0], IPC_SUPERVISOR, IPC_GATEWAY, IPC_SERVE };
	*far = (struct channel){ ends[1], IPC_GATEWAY, IPC_SUPERVISOR, IPC_SERVE };
}

static void begin(void)
{
	struct stat is;

	open_channel(&hub.http, &far_http);
	open_channel(&hub.egress, &far_egress);
	plan = fd_sealed_from_bytes("plan", "p", 1);
	cr_assert_eq(fstat(plan, &is), 0);
	inode = is.st_ino;
}

/* Offer a server; returns the launcher's end. */
static int offer(uint32_t profile)
{
	int egress[2], launcher[2];

	cr_assert_eq(channel_pair(egress), 0);
	cr_assert_eq(channel_pair(launcher), 0);
	cr_assert_eq(servers_offer(&hub, profile,
				   (const int[SERVER_FDS]){ egress[0], launcher[1], egress[1],
							    dup(plan) }),
		     0);
	return launcher[0];
}

static bool receive(const struct channel *from, uint32_t type)
{
	enum ipc_error wrong;

	return channel_receive(from, &message, MSG_DONTWAIT, &wrong) == 1 && message.type == type;
}

static void expect_begun(uint32_t profile, uint32_t number)
{
	cr_assert(receive(&far_http, IPC_TYPE_http_begin));
	cr_expect_eq(ipc_body(&message, http_begin)->profile, profile);
	cr_assert(receive(&far_egress, IPC_TYPE_egress_http));
	cr_expect_eq(ipc_body(&message, egress_http)->server, number);
}

Test(servers, begin_with_the_first_sandbox, .init = begin)
{
	uint32_t number = 99, again = 98, other = 97;

	(void)offer(4);
	(void)offer(5);
	cr_expect_not(receive(&far_http, IPC_TYPE_http_begin));
	cr_assert_eq(servers_begin(&hub, inode, 4, &number), 0);
	expect_begun(4, number);
	cr_assert_eq(servers_begin(&hub, inode, 4, &again), 0);
	cr_expect_eq(again, number);
	cr_expect_not(receive(&far_http, IPC_TYPE_http_begin));
	cr_assert_eq(servers_begin(&hub, inode, 5, &other), 0);
	expect_begun(5, other);
	cr_expect_neq(other, number);
	cr_expect_eq(servers_begin(&hub, inode, 6, &other), -ENOENT);
	cr_expect_eq(servers_begin(&hub, inode + 1, 4, &other), -ENOENT);
}

/* The launcher offers another in the place of one that has ended. */
Test(servers, begin_again, .init = begin)
{
	uint32_t number;

	(void)offer(4);
	(void)offer(4);
	cr_expect_not(receive(&far_http, IPC_TYPE_http_begin));
	cr_assert_eq(servers_begin(&hub, inode, 4, &number), 0);
	expect_begun(4, number);
	(void)offer(4);
	expect_begun(4, number);
}

/* An offer that nobody took is closed for a newer one: the launcher sees it. */
Test(servers, the_oldest_makes_room, .init = begin)
{
	const int first = offer(0);
	uint32_t number;
	char none;

	for (uint32_t i = 1; i <= HTTP_SERVERS_MAX; i++)
		close(offer(i));
	cr_expect_eq(recv(first, &none, 1, MSG_DONTWAIT), 0);
	cr_expect_eq(servers_begin(&hub, inode, 0, &number), -ENOENT);
	cr_expect_eq(servers_begin(&hub, inode, HTTP_SERVERS_MAX, &number), 0);
}
