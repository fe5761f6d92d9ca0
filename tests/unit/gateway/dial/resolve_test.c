/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that a name server of the attacker's leads to addresses of this machine and its networks,
 * in every form, and the judgement of each address.
 */
#include "gateway/dial/choose.h"
#include "gateway/dial/resolve.h"
#include "gateway/dial/routes.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define TYPE_A 1
#define TYPE_CNAME 5
#define TYPE_AAAA 28
#define NXDOMAIN 3
#define SERVFAIL 2

/* The zone. A name with code -1 has no answer at all. */
static const struct zone_row {
	const char *name;
	int type, code;
	const char *data; /* an address; for CNAME a name with an address of its own */
} zone[] = {
	{ "public.example", TYPE_A, 0, "93.184.216.34" },
	{ "both.example", TYPE_A, 0, "93.184.216.34" },
	{ "both.example", TYPE_AAAA, 0, "2606:2800:220:1::1" },
	{ "private.example", TYPE_A, 0, "10.0.0.5" },
	{ "unique.example", TYPE_AAAA, 0, "fd12::5" },
	{ "loopback.example", TYPE_A, 0, "127.0.0.1" },
	{ "zero.example", TYPE_A, 0, "0.0.0.0" },
	{ "metadata.example", TYPE_A, 0, "169.254.169.254" },
	{ "mapped.example", TYPE_AAAA, 0, "::ffff:127.0.0.1" },
	{ "nat64.example", TYPE_AAAA, 0, "64:ff9b::7f00:1" },
	{ "teredo.example", TYPE_AAAA, 0, "2001::7f00:1" },
	{ "sixtofour.example", TYPE_AAAA, 0, "2002:7f00:1::" },
	{ "link.example", TYPE_AAAA, 0, "fe80::1" },
	{ "mixed.example", TYPE_A, 0, "93.184.216.34" },
	{ "mixed.example", TYPE_A, 0, "127.0.0.1" },
	{ "alias.example", TYPE_CNAME, 0, "private.example" },
	{ "none.example", TYPE_A, NXDOMAIN, NULL },
	{ "none.example", TYPE_AAAA, NXDOMAIN, NULL },
	{ "broken.example", TYPE_A, SERVFAIL, NULL },
	{ "broken.example", TYPE_AAAA, SERVFAIL, NULL },
	{ "silent.example", TYPE_A, -1, NULL },
	{ "silent.example", TYPE_AAAA, -1, NULL },
};

struct packet {
	uint8_t bytes[512];
	size_t size;
};

static void put(struct packet *packet, const void *data, size_t size)
{
	memcpy(packet->bytes + packet->size, data, size);
	packet->size += size;
}

static void put_16(struct packet *packet, int value)
{
	const uint8_t bytes[] = { (uint8_t)(value >> 8), (uint8_t)value };

	put(packet, bytes, 2);
}

static void put_name(struct packet *packet, const char *name)
{
	for (const char *at = name; *at != '\0'; at += *at == '.') {
		const uint8_t length = (uint8_t)strcspn(at, ".");

		put(packet, &length, 1);
		put(packet, at, length);
		at += length;
	}
	put(packet, "", 1);
}

static void read_name(const uint8_t *bytes, char *name)
{
	size_t used = 0;

	for (size_t at = 12; bytes[at] != 0; at += (size_t)bytes[at] + 1) {
		memcpy(name + used, bytes + at + 1, bytes[at]);
		used += bytes[at];
		name[used++] = '.';
	}
	name[used - 1] = '\0';
}

static void put_record(struct packet *packet, const char *owner, int type, const char *data)
{
	struct packet target = { .size = 0 };
	uint8_t address[16];

	put_name(packet, owner);
	put_16(packet, type);
	put_16(packet, 1);
	put(packet, "\0\0\0\x1e", 4);
	if (type == TYPE_CNAME)
		put_name(&target, data);
	else if (inet_pton(type == TYPE_A ? AF_INET : AF_INET6, data, address) == 1)
		put(&target, address, type == TYPE_A ? 4 : 16);
	put_16(packet, (int)target.size);
	put(packet, target.bytes, target.size);
}

/* Answer a question from the zone. Return whether there is an answer. */
static bool answer(const struct packet *query, unsigned int *rebinds, struct packet *ret)
{
	char name[256], owner[256];
	int type, code = 0, count = 0;

	read_name(query->bytes, name);
	memcpy(owner, name, sizeof(owner));
	type = query->bytes[12 + strlen(name) + 2 + 1];
	*ret = (struct packet){ .size = 0 };
	put(ret, query->bytes, 12 + strlen(name) + 2 + 4);
	ret->bytes[11] = 0; /* no additional record */
	if (strcmp(name, "rebind.example") == 0 && type == TYPE_A) {
		put_record(ret, name, type, (*rebinds)++ == 0 ? "93.184.216.34" : "127.0.0.1");
		count++;
	}
	for (size_t i = 0; i < sizeof(zone) / sizeof(zone[0]); i++) {
		if (strcmp(zone[i].name, owner) == 0 && zone[i].type == TYPE_CNAME) {
			put_record(ret, owner, TYPE_CNAME, zone[i].data);
			(void)snprintf(owner, sizeof(owner), "%s", zone[i].data);
			count++;
			i = (size_t)-1; /* again, for the other name */
		} else if (strcmp(zone[i].name, owner) == 0 && zone[i].type == type) {
			if (zone[i].code < 0)
				return false;
			code = zone[i].code;
			if (zone[i].data != NULL) {
				put_record(ret, owner, type, zone[i].data);
				count++;
			}
		}
	}
	ret->bytes[2] |= 0x80;
	ret->bytes[3] = (uint8_t)(0x80 | code);
	ret->bytes[7] = (uint8_t)count;
	return true;
}

static pid_t server;
static struct resolver *resolver;

static void serve(int fd)
{
	unsigned int rebinds = 0;

	for (;;) {
		struct sockaddr_in client;
		socklen_t size = sizeof(client);
		struct packet query, reply;
		const ssize_t got = recvfrom(fd, query.bytes, sizeof(query.bytes), 0,
					     (struct sockaddr *)&client, &size);

		if (got < 12)
			continue;
		query.size = (size_t)got;
		if (answer(&query, &rebinds, &reply) &&
		    sendto(fd, reply.bytes, reply.size, 0, (struct sockaddr *)&client, size) < 0)
			_exit(1);
	}
}

static void start(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const int fd = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t size = sizeof(address);
	char servers[64];

	cr_assert_eq(bind(fd, (struct sockaddr *)&address, size), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	server = fork();
	if (server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(fd);
	}
	close(fd);
	(void)snprintf(servers, sizeof(servers), "127.0.0.1:%u", ntohs(address.sin_port));
	cr_assert_eq(resolver_new(servers, &resolver), 0);
	cr_assert_eq(routes_open(), 0);
}

static void stop(void)
{
	resolver_free(resolver);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
}

TestSuite(resolve, .init = start, .fini = stop);

struct waiter {
	bool is_done;
	struct resolution resolution;
};

static void on_done(void *context, const struct resolution *resolution)
{
	struct waiter *waiter = context;

	cr_expect_not(waiter->is_done, "an answer comes once");
	*waiter = (struct waiter){ true, *resolution };
}

/* Wait for at most `timeout_ms` and handle what has come. */
static void turn(int timeout_ms)
{
	struct pollfd polled[RESOLVE_SOCKETS_MAX];
	const uint32_t count = resolver_wants(resolver, polled, &timeout_ms);

	(void)poll(polled, count, timeout_ms); /* or late */
	resolver_handle(resolver, polled, count);
}

static struct resolution ask(const char *name)
{
	struct waiter waiter = { .is_done = false };

	resolver_ask(resolver, name, on_done, &waiter);
	for (int turns = 0; turns < 200 && !waiter.is_done; turns++)
		turn(200);
	cr_assert(waiter.is_done, "%s", name);
	return waiter.resolution;
}

/* A machine of tests may have no route to any host. */
static bool is_allowed(enum dial_refusal refusal)
{
	return refusal == DIAL_ALLOWED || refusal == DIAL_NO_ROUTE;
}

/* The number of addresses of the name that a connection may go to. */
static uint32_t count_allowed(const char *name, bool is_private)
{
	const struct plan_host host = { .pattern = "x", .is_private = is_private };
	const struct resolution resolution = ask(name);
	struct host_wanted wanted;
	uint32_t count = 0;

	cr_assert(host_wanted_read(name, &wanted));
	cr_assert_eq(resolution.end, RESOLVE_DONE, "%s", name);
	cr_expect_eq(resolution.ttl_s, 30U);
	for (uint32_t i = 0; i < resolution.count; i++)
		count += is_allowed(dial_judge(&host, &wanted, &resolution.addresses[i], 443));
	return count;
}

Test(resolve, public_addresses_are_allowed)
{
	cr_expect_eq(count_allowed("public.example", false), 1U);
	cr_expect_eq(count_allowed("both.example", false), 2U);
}

Test(resolve, names_that_lead_to_private_addresses)
{
	static const char *const names[] = { "private.example", "unique.example", "alias.example" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		cr_expect_eq(count_allowed(names[i], false), 0U, "%s", names[i]);
		cr_expect_eq(count_allowed(names[i], true), 1U, "%s, if the entry says it",
			     names[i]);
	}
}

Test(resolve, names_that_lead_where_nobody_may)
{
	static const char *const names[] = {
		"loopback.example", "zero.example",   "metadata.example",  "mapped.example",
		"nat64.example",    "teredo.example", "sixtofour.example", "link.example",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_expect_eq(count_allowed(names[i], true), 0U, "%s", names[i]);
}

Test(resolve, each_address_of_an_answer_is_judged)
{
	cr_expect_eq(ask("mixed.example").count, 2U);
	cr_expect_eq(count_allowed("mixed.example", true), 1U);
}

Test(resolve, the_second_answer_is_judged_too)
{
	cr_expect_eq(count_allowed("rebind.example", false), 1U);
	cr_expect_eq(count_allowed("rebind.example", false), 0U);
}

Test(resolve, names_without_addresses)
{
	cr_expect_eq(ask("none.example").end, RESOLVE_NO_NAME);
	cr_expect_eq(ask("empty.example").end, RESOLVE_NO_NAME);
	cr_expect_eq(ask("broken.example").end, RESOLVE_FAILED);
	cr_expect_eq(ask("silent.example").end, RESOLVE_FAILED);
}

Test(resolve, questions_end_with_their_resolver)
{
	struct waiter waiter = { .is_done = false };

	resolver_ask(resolver, "silent.example", on_done, &waiter);
	resolver_free(resolver);
	cr_expect(waiter.is_done);
	cr_expect_eq(waiter.resolution.end, RESOLVE_FAILED);
	cr_assert_eq(resolver_new("127.0.0.1:9", &resolver), 0);
}

Test(resolve, wrong_servers)
{
	struct resolver *none = NULL;

	cr_expect_lt(resolver_new("ns.example", &none), 0);
	cr_expect_null(none);
}

/* An address of an interface is this machine, whatever its kind is. */
Test(choose, own_addresses)
{
	const struct plan_host host = { .pattern = "x", .is_private = 1 };
	const struct host_wanted wanted = { .name = "x" };
	struct ifaddrs *all = NULL;
	uint32_t tried = 0;

	cr_assert_eq(routes_open(), 0);
	cr_assert_eq(getifaddrs(&all), 0);
	for (struct ifaddrs *at = all; at; at = at->ifa_next) {
		struct host_address address = { { [10] = 0xff, 0xff } }, carrier;

		if (!at->ifa_addr || at->ifa_addr->sa_family != AF_INET)
			continue;
		memcpy(address.bytes + 12, &((struct sockaddr_in *)(void *)at->ifa_addr)->sin_addr,
		       4);
		if (host_address_reach(&address) == HOST_REACH_NEVER)
			continue;
		cr_expect_eq(dial_judge(&host, &wanted, &address, 443), DIAL_OWN);
		carrier = (struct host_address){ { 0x00, 0x64, 0xff, 0x9b } };
		memcpy(carrier.bytes + 12, address.bytes + 12, 4);
		cr_expect_eq(dial_judge(&host, &wanted, &carrier, 443), DIAL_OWN);
		tried++;
	}
	freeifaddrs(all);
	if (tried == 0)
		cr_skip_test("no address but the loopback's here");
}
