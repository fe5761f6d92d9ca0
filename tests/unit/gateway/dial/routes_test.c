/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's answers to questions for a route: which kinds lead to another machine, and texts
 * that are no answer. The routes themselves are in tests/integration/gateway.py.
 */
#include "gateway/dial/routes.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#define NUMBER 7

static struct {
	struct nlmsghdr head;
	union {
		struct nlmsgerr error;
		struct rtmsg route;
	};
	uint8_t rest[64];
} answer;

static enum route_end read_route(uint8_t type)
{
	memset(&answer, 0, sizeof(answer));
	answer.head.nlmsg_len = NLMSG_LENGTH(sizeof(answer.route)) + 8;
	answer.head.nlmsg_type = RTM_NEWROUTE;
	answer.head.nlmsg_seq = NUMBER;
	answer.route.rtm_type = type;
	return routes_read(&answer, answer.head.nlmsg_len, NUMBER);
}

static enum route_end read_error(int error)
{
	memset(&answer, 0, sizeof(answer));
	answer.head.nlmsg_len = NLMSG_LENGTH(sizeof(answer.error));
	answer.head.nlmsg_type = NLMSG_ERROR;
	answer.head.nlmsg_seq = NUMBER;
	answer.error.error = error;
	return routes_read(&answer, answer.head.nlmsg_len, NUMBER);
}

Test(routes, kinds_of_routes)
{
	for (unsigned int type = 0; type <= UINT8_MAX; type++) {
		const enum route_end end = read_route((uint8_t)type);

		cr_expect_eq(end == ROUTE_BEYOND, type == RTN_UNICAST, "%u", type);
		cr_expect_eq(end == ROUTE_OWN,
			     type == RTN_LOCAL || type == RTN_BROADCAST || type == RTN_ANYCAST,
			     "%u", type);
		cr_expect_neq(end, ROUTE_NONE, "%u", type);
	}
}

Test(routes, errors)
{
	static const int forbidden[] = { 0, -EINVAL, -EACCES, -EHOSTUNREACH, -EAGAIN, -ENOBUFS };

	cr_expect_eq(read_error(-ENETUNREACH), ROUTE_NONE);
	cr_expect_eq(read_error(-EOPNOTSUPP), ROUTE_NONE);
	for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++)
		cr_expect_eq(read_error(forbidden[i]), ROUTE_FORBIDDEN, "%d", forbidden[i]);
}

/* Each answer but the whole one forbids the address. */
Test(routes, texts_that_are_no_answer)
{
	cr_assert_eq(read_route(RTN_UNICAST), ROUTE_BEYOND);
	cr_expect_eq(routes_read(&answer, answer.head.nlmsg_len, NUMBER + 1), ROUTE_FORBIDDEN);
	for (size_t size = 0; size < answer.head.nlmsg_len; size++)
		cr_expect_eq(routes_read(&answer, size, NUMBER), ROUTE_FORBIDDEN, "%zu", size);
	for (uint32_t said = 0; said < NLMSG_LENGTH(sizeof(answer.route)); said++) {
		answer.head.nlmsg_len = said;
		cr_expect_eq(routes_read(&answer, sizeof(answer), NUMBER), ROUTE_FORBIDDEN, "%u",
			     said);
	}
	cr_assert_eq(read_route(RTN_UNICAST), ROUTE_BEYOND);
	answer.head.nlmsg_type = RTM_DELROUTE;
	cr_expect_eq(routes_read(&answer, sizeof(answer), NUMBER), ROUTE_FORBIDDEN);
	cr_assert_eq(read_error(-ENETUNREACH), ROUTE_NONE);
	answer.head.nlmsg_len = NLMSG_HDRLEN;
	cr_expect_eq(routes_read(&answer, sizeof(answer), NUMBER), ROUTE_FORBIDDEN);
}

Test(routes, addresses_of_this_machine)
{
	static const uint8_t loopback[] = { 127, 0, 0, 1 }, any[] = { 127, 9, 9, 9 },
			     all[] = { 255, 255, 255, 255 }, group[] = { 224, 0, 0, 9 };
	const struct host_address first = host_address_of_ipv4(loopback),
				  second = host_address_of_ipv4(any),
				  third = host_address_of_ipv4(all),
				  fourth = host_address_of_ipv4(group);

	cr_expect_eq(routes_ask(&first, 80), ROUTE_FORBIDDEN, "before the socket is open");
	cr_assert_eq(routes_open(), 0);
	for (int i = 0; i < 3; i++) {
		cr_expect_eq(routes_ask(&first, 80), ROUTE_OWN);
		cr_expect_eq(routes_ask(&second, 443), ROUTE_OWN);
		cr_expect_neq(routes_ask(&third, 443), ROUTE_BEYOND);
		cr_expect_neq(routes_ask(&fourth, 443), ROUTE_BEYOND);
	}
}
