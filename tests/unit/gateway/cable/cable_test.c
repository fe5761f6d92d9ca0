/* SPDX-License-Identifier: Apache-2.0
 *
 * A cable between two network namespaces of the kernel, as a workload without capabilities sees it.
 */
#include "netns.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Expect 0 of a sandbox with or without a cable. */
static void expect_run(int (*act)(void), bool has_cable, int (*watch)(struct cable *))
{
	const int result = run_with_cable(act, has_cable, watch);

	if (result == NETNS_NONE)
		cr_skip_test("no user namespaces here");
	cr_expect_eq(result, 0);
}

static int act_connections(void)
{
	EXPECT(connect_to(SOCK_STREAM, "93.184.216.34", 443) == 0);
	EXPECT(connect_to(SOCK_STREAM, "10.1.2.3", 8080) == 0);
	EXPECT(connect_to(SOCK_STREAM, "93.184.216.34", 80) == ECONNREFUSED);
	EXPECT(connect_to(SOCK_STREAM, "198.18.0.1", 53) == ECONNREFUSED);
	EXPECT(connect_to(SOCK_DGRAM, "93.184.216.34", 443) == ECONNREFUSED);
	EXPECT(connect_to(SOCK_STREAM, "127.0.0.1", 443) == ECONNREFUSED);
	EXPECT(connect_to(SOCK_STREAM, "198.18.0.2", 443) == ECONNREFUSED);
	return 0;
}

/* The first connection was for the first address: the listener knows the workload's target. */
static int watch_target(struct cable *cable)
{
	struct pollfd ready = { .fd = cable->ports[0], .events = POLLIN };
	struct sockaddr_in target = { .sin_port = 0 }, source = { .sin_port = 0 };
	socklen_t size = sizeof(target);
	int fd, no_delay = 0;

	EXPECT(poll(&ready, 1, 5000) == 1);
	fd = accept(cable->ports[0], (struct sockaddr *)&source, &size);
	EXPECT(fd >= 0);
	size = sizeof(target);
	EXPECT(getsockname(fd, (struct sockaddr *)&target, &size) == 0);
	EXPECT(strcmp(inet_ntoa(target.sin_addr), "93.184.216.34") == 0);
	EXPECT(ntohs(target.sin_port) == 443);
	EXPECT(ntohl(source.sin_addr.s_addr) == CABLE_ADDRESS);
	size = sizeof(no_delay);
	EXPECT(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &no_delay, &size) == 0 && no_delay);
	close(fd);
	return 0;
}

Test(cable, connections_end_at_the_listeners_alone)
{
	expect_run(act_connections, true, watch_target);
}

static int act_unconnected(void)
{
	EXPECT(connect_to(SOCK_STREAM, "93.184.216.34", 443) == ENETUNREACH);
	EXPECT(connect_to(SOCK_STREAM, "198.18.0.1", 53) == ENETUNREACH);
	return 0;
}

Test(cable, without_one_nothing_is_reached)
{
	expect_run(act_unconnected, false, NULL);
}

/* Bind the port of a listener on each own address. */
static int act_own_servers(void)
{
	static const char *const addresses[] = { "127.0.0.1", "0.0.0.0", "198.18.0.2" };

	for (size_t i = 0; i < 3; i++) {
		struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(8080) };
		const int fd = socket(AF_INET, SOCK_STREAM, 0);

		inet_pton(AF_INET, addresses[i], &address.sin_addr);
		EXPECT(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
		EXPECT(listen(fd, 1) == 0);
		EXPECT(connect_to(SOCK_STREAM, i == 0 ? "127.0.0.1" : "198.18.0.2", 8080) == 0);
		close(fd);
	}
	return 0;
}

Test(cable, ports_of_the_sandbox_are_its_own)
{
	expect_run(act_own_servers, true, NULL);
}

/* A workload can neither change the cable nor send what no socket of its own makes. */
static int act_powers(void)
{
	struct ifreq request = { .ifr_name = "eth0", .ifr_flags = 0 };
	const int fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1;
	struct sockaddr_in foreign = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(0x08080808) };

	EXPECT(ioctl(fd, SIOCSIFFLAGS, &request) == -1 && errno == EPERM);
	EXPECT(socket(AF_INET, SOCK_RAW, IPPROTO_TCP) == -1 && errno == EPERM);
	EXPECT(socket(AF_PACKET, SOCK_RAW, 0) == -1 && errno == EPERM);
	EXPECT(setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &on, sizeof(on)) == -1 && errno == EPERM);
	EXPECT(bind(fd, (struct sockaddr *)&foreign, sizeof(foreign)) == -1 &&
	       errno == EADDRNOTAVAIL);
	return 0;
}

Test(cable, a_workload_has_no_power_over_it)
{
	expect_run(act_powers, true, NULL);
}

/* Without IPv6 addresses on eth0 nothing but the loopback is reached by it. */
static int act_ipv6(void)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_port = htons(443) };
	const int fd = socket(AF_INET6, SOCK_STREAM, 0);

	if (fd < 0)
		return 0;
	inet_pton(AF_INET6, "2606:4700:4700::1111", &address.sin6_addr);
	EXPECT(connect(fd, (struct sockaddr *)&address, sizeof(address)) == -1 &&
	       (errno == ENETUNREACH || errno == EADDRNOTAVAIL));
	inet_pton(AF_INET6, "fe80::1", &address.sin6_addr);
	address.sin6_scope_id = 100;
	EXPECT(connect(fd, (struct sockaddr *)&address, sizeof(address)) == -1);
	return 0;
}

Test(cable, no_ipv6)
{
	expect_run(act_ipv6, true, NULL);
}

/* The listeners are closed before the sandbox tries: eth0 is gone soon after. */
static int watch_nothing(struct cable *cable)
{
	cable_close(cable);
	return 0;
}

static int act_gone(void)
{
	for (int tries = 0; tries < 100; tries++) {
		if (connect_to(SOCK_STREAM, "93.184.216.34", 443) == ENETUNREACH)
			return 0;
		usleep(50000);
	}
	return 1;
}

Test(cable, it_goes_with_its_listeners)
{
	expect_run(act_gone, true, watch_nothing);
}

Test(cable, too_many_ports)
{
	uint16_t many[CABLE_PORTS_MAX + 1] = { 0 };
	struct cable cable;
	uint32_t step;

	cr_expect_eq(cable_make(-1, -1, many, CABLE_PORTS_MAX + 1, &cable, &step), -EINVAL);
}
