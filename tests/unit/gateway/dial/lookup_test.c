/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that are asked for at once, with a name server that never answers.
 */
#include "gateway/dial/lookup.h"
#include "gateway/dial/servers.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#define NOW_MS 5000U

/* As many as a sandbox has: its questions, and connections that are dialled
 * (gateway/egress/gate.h). */
#define SANDBOX_NAMES 160U

static int silent = -1;
static uint32_t done;

bool servers_ask(char ret[SERVERS_TEXT_MAX])
{
	struct sockaddr_in own = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(own);

	if (silent < 0) {
		silent = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		cr_assert_eq(bind(silent, (const struct sockaddr *)&own, size), 0);
	}
	cr_assert_eq(getsockname(silent, (struct sockaddr *)&own, &size), 0);
	(void)snprintf(ret, SERVERS_TEXT_MAX, "127.0.0.1:%u", ntohs(own.sin_port));
	return true;
}

void event_lookup_done(const char *name, const struct resolution *resolution)
{
	(void)name;
	(void)resolution;
	done++;
}

/* Ask for names of a sandbox's own. Return how many are asked for. */
static uint32_t ask_many(uint32_t slot, uint32_t count)
{
	uint32_t asked = 0;
	char name[64];

	for (uint32_t i = 0; i < count; i++) {
		(void)snprintf(name, sizeof(name), "n%u.of%u.example", i, slot);
		asked += lookup_name(slot, name, NOW_MS) == NULL;
	}
	return asked;
}

Test(lookup, one_sandbox_has_all_that_it_can_ask)
{
	cr_expect_eq(ask_many(1, SANDBOX_NAMES), SANDBOX_NAMES);
	cr_expect_eq(ask_many(1, SANDBOX_NAMES), SANDBOX_NAMES, "the same ones again");
	cr_expect_eq(done, 0);
}

/* Sandboxes whose names have a silent server leave room: each further one a quarter of the rest. */
Test(lookup, names_that_are_never_answered_leave_room)
{
	for (uint32_t slot = 1; slot <= 4; slot++)
		(void)ask_many(slot, SANDBOX_NAMES);
	cr_expect_eq(ask_many(9, 2), 1);
	cr_expect_eq(lookup_name(9, "n0.of1.example", NOW_MS), NULL, "of a name that is asked for");
	cr_expect_not_null(lookup_name(1, "one-more.of1.example", NOW_MS), "it has its share");
}
