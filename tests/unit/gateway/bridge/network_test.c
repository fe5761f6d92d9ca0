/* SPDX-License-Identifier: Apache-2.0
 *
 * A connection that a bridge takes is the host's. Somebody who has taken the bridge over can make
 * its socket new (connect(AF_UNSPEC)); it then leads to no other device than the loopback.
 */
#include "gateway/bridge/network.h"

#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NAME_MAX_BYTES 16

/* A port of the loopback, bound as the frontend binds it. */
static int bound_port(struct sockaddr_in *ret)
{
	socklen_t size = sizeof(*ret);
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*ret = (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	cr_assert_eq(bind(fd, (const struct sockaddr *)ret, sizeof(*ret)), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)ret, &size), 0);
	return fd;
}

/* Take a connection at the port, and make its socket new. */
static int renewed_connection(int port, const struct sockaddr_in *at)
{
	static const struct sockaddr none = { .sa_family = AF_UNSPEC };
	const int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int taken;

	cr_assert_eq(listen(port, 1), 0);
	cr_assert_eq(connect(client, (const struct sockaddr *)at, sizeof(*at)), 0);
	taken = accept(port, NULL, NULL);
	cr_assert_geq(taken, 0);
	(void)close(client);
	cr_assert_eq(connect(taken, &none, sizeof(none)), 0);
	return taken;
}

static void expect_device(int fd, const char *wanted)
{
	char name[NAME_MAX_BYTES] = "";
	socklen_t size = sizeof(name);

	cr_assert_eq(getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &size), 0);
	cr_expect_str_eq(name, wanted);
}

Test(network, keeps_what_it_takes_to_the_loopback)
{
	struct sockaddr_in at;
	const int port = bound_port(&at);
	int taken;

	cr_assert_eq(network_keep_to_loopback(port), 0);
	taken = renewed_connection(port, &at);
	expect_device(taken, "lo");
	if (geteuid() != 0)
		cr_expect_neq(setsockopt(taken, SOL_SOCKET, SO_BINDTODEVICE, "", 1), 0);
	(void)close(taken);
	(void)close(port);
}

Test(network, has_a_control_that_is_bound_to_no_device)
{
	struct sockaddr_in at;
	const int port = bound_port(&at);
	const int taken = renewed_connection(port, &at);

	expect_device(taken, "");
	(void)close(taken);
	(void)close(port);
}
