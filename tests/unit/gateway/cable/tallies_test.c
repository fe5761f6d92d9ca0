/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/cable/tallies.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fd.h"
#include "common/ipc/ipc_network.h"

static struct channel_message message;
static uint64_t now_us = 1;

static struct ipc_cable_execution execution_of(uint32_t frontend, uint32_t place, uint32_t slot)
{
	/* The request's number is the place's. */
	return (struct ipc_cable_execution){ place, now_us, frontend, 0, slot, place, "alice" };
}

static void begin(uint32_t frontend, uint32_t place, uint32_t slot)
{
	const struct ipc_cable_execution execution = execution_of(frontend, place, slot);

	tallies_begin(&execution);
}

static void keep(uint32_t frontend, uint32_t place, uint32_t slot)
{
	const struct ipc_cable_execution execution = execution_of(frontend, place, slot);

	tallies_keep(&execution);
}

static void count(uint32_t slot, bool is_ephemeral, const char *host, uint32_t port,
		  enum connection_refused reason)
{
	struct ipc_connection_refused refused = {
		.time_us = now_us, .slot = slot, .use = 7, .port = port, .reason = reason
	};

	(void)snprintf(refused.host, sizeof(refused.host), "%s", host);
	tallies_count(&refused, is_ephemeral);
}

static void refuse(uint32_t slot, bool is_ephemeral, const char *host, uint32_t port)
{
	count(slot, is_ephemeral, host, port, CONNECTION_REFUSED_HOST);
}

/* Ask as a frontend does, and return its end. */
static struct channel ask(uint32_t frontend, uint64_t request)
{
	struct channel asker = { -1, IPC_GATEWAY, IPC_FRONTEND, IPC_SERVE };
	int ends[2];

	cr_assert_eq(channel_pair(ends), 0);
	asker.fd = ends[1];
	tallies_tell(frontend, request, &asker);
	fd_close(&ends[1]);
	return (struct channel){ ends[0], IPC_FRONTEND, IPC_GATEWAY, IPC_SERVE };
}

static void expect(const struct channel *channel, const char *host, uint32_t port, uint32_t count,
		   uint32_t is_shared)
{
	const struct ipc_network_denial *denial;
	enum ipc_error wrong;

	cr_assert_eq(channel_receive(channel, &message, MSG_DONTWAIT, &wrong), 1, "%s", host);
	denial = ipc_body(&message, network_denial);
	cr_expect_str_eq(denial->host, host);
	cr_expect_eq(denial->port, port);
	cr_expect_eq(denial->count, count, "%s: %u", host, denial->count);
	cr_expect_eq(denial->is_shared, is_shared);
}

static void expect_end(struct channel *channel)
{
	enum ipc_error wrong;

	cr_assert_eq(channel_receive(channel, &message, MSG_DONTWAIT, &wrong), 0);
	fd_close(&channel->fd);
}

static void expect_nothing(uint32_t frontend, uint64_t request)
{
	struct channel channel = ask(frontend, request);

	expect_end(&channel);
}

Test(tallies, an_ephemeral_sandbox_needs_no_begin)
{
	struct channel told;

	refuse(3, true, "a.example", 0);
	refuse(4, true, "elsewhere.example", 0);
	refuse(3, true, "a.example", 0);
	refuse(3, true, "a.example", 80);
	expect_nothing(1, 5);
	keep(1, 5, 3);
	expect_nothing(2, 5);
	expect_nothing(1, 6);
	told = ask(1, 5);
	expect(&told, "a.example", 0, 2, 0);
	expect(&told, "a.example", 80, 1, 0);
	expect_end(&told);
	expect_nothing(1, 5);
}

Test(tallies, the_next_in_a_slot_has_nothing_of_the_last)
{
	struct channel told;

	refuse(3, true, "of.the.last", 0);
	tallies_end(3);
	keep(1, 5, 3);
	expect_nothing(1, 5);
	refuse(3, true, "a.example", 0);
	keep(1, 6, 3);
	told = ask(1, 6);
	expect(&told, "a.example", 0, 1, 0);
	expect_end(&told);
}

Test(tallies, an_end_of_the_sandbox_leaves_what_is_kept)
{
	struct channel told;

	refuse(3, true, "a.example", 0);
	keep(1, 5, 3);
	tallies_end(3);
	told = ask(1, 5);
	expect(&told, "a.example", 0, 1, 0);
	expect_end(&told);
}

Test(tallies, an_execution_is_counted_from_its_beginning)
{
	struct channel told;

	refuse(3, false, "before.example", 0);
	now_us++;
	begin(1, 5, 3);
	begin(1, 6, 4);
	refuse(3, false, "a.example", 0);
	refuse(4, false, "elsewhere.example", 0);
	keep(1, 5, 3);
	now_us++;
	begin(1, 5, 3);
	refuse(3, false, "b.example", 0);
	told = ask(1, 5);
	expect(&told, "a.example", 0, 1, 0);
	expect_end(&told);
	keep(1, 5, 3);
	told = ask(1, 5);
	expect(&told, "b.example", 0, 1, 0);
	expect_end(&told);
	refuse(3, false, "after.example", 0);
	keep(1, 5, 3);
	expect_nothing(1, 5);
}

Test(tallies, a_refusal_may_come_before_the_beginning)
{
	struct channel told;

	refuse(3, false, "of.the.last", 0);
	now_us += 2;
	refuse(3, false, "a.example", 0);
	refuse(4, false, "elsewhere.example", 0);
	now_us--;
	begin(1, 5, 3);
	refuse(3, false, "a.example", 0);
	keep(1, 5, 3);
	told = ask(1, 5);
	expect(&told, "a.example", 0, 2, 0);
	expect_end(&told);
}

Test(tallies, a_begin_in_an_ephemeral_sandbox_counts_nothing_twice)
{
	struct channel told;

	refuse(3, true, "a.example", 0);
	begin(1, 5, 3);
	refuse(3, true, "a.example", 0);
	keep(1, 5, 3);
	told = ask(1, 5);
	expect(&told, "a.example", 0, 2, 0);
	expect_end(&told);
}

Test(tallies, executions_in_one_sandbox_share_the_counts)
{
	struct channel told;

	begin(1, 1, 3);
	begin(1, 3, 4);
	refuse(3, false, "a.example", 0);
	now_us++;
	begin(2, 2, 3);
	refuse(3, false, "a.example", 0);
	refuse(4, false, "b.example", 0);
	keep(1, 1, 3);
	keep(2, 2, 3);
	keep(1, 3, 4);
	told = ask(1, 1);
	expect(&told, "a.example", 0, 2, 1);
	expect_end(&told);
	told = ask(2, 2);
	expect(&told, "a.example", 0, 1, 1);
	expect_end(&told);
	told = ask(1, 3);
	expect(&told, "b.example", 0, 1, 0);
	expect_end(&told);
}

Test(tallies, further_kinds_are_counted_together)
{
	struct channel told;
	char host[32];

	for (int i = 0; i < NETWORK_DENIALS_MAX + 5; i++) {
		(void)snprintf(host, sizeof(host), "%d.example", i);
		refuse(3, true, host, 0);
	}
	refuse(3, true, "0.example", 0);
	keep(1, 5, 3);
	told = ask(1, 5);
	expect(&told, "0.example", 0, 2, 0);
	for (int i = 1; i < NETWORK_DENIALS_MAX; i++) {
		(void)snprintf(host, sizeof(host), "%d.example", i);
		expect(&told, host, 0, 1, 0);
	}
	expect(&told, "", 0, 5, 0);
	expect_end(&told);
}

/* A workload asks for as many names as it likes that nobody has. */
Test(tallies, failures_take_no_place_of_a_refusal)
{
	struct channel told;
	char host[32];

	for (int i = 0; i < NETWORK_DENIALS_MAX + 5; i++) {
		(void)snprintf(host, sizeof(host), "%d.unknown", i);
		count(3, true, host, 0, CONNECTION_UNKNOWN);
	}
	count(3, true, "0.unknown", 0, CONNECTION_UNKNOWN);
	for (int i = 0; i < NETWORK_DENIALS_MAX + 2; i++) {
		(void)snprintf(host, sizeof(host), "%d.example", i);
		refuse(3, true, host, 0);
	}
	keep(1, 5, 3);
	told = ask(1, 5);
	for (int i = 0; i < NETWORK_DENIALS_MAX; i++) {
		(void)snprintf(host, sizeof(host), "%d.example", i);
		expect(&told, host, 0, 1, 0);
	}
	expect(&told, "", 0, 2, 0);
	for (int i = 0; i < NETWORK_FAILURES_MAX; i++) {
		(void)snprintf(host, sizeof(host), "%d.unknown", i);
		expect(&told, host, 0, i == 0 ? 2 : 1, 0);
	}
	expect_end(&told);
}

Test(tallies, failures_alone_are_kept)
{
	struct channel told;

	count(3, true, "a.unknown", 0, CONNECTION_UNKNOWN);
	count(3, true, "a.unknown", 0, CONNECTION_UNREACHED);
	keep(1, 5, 3);
	told = ask(1, 5);
	expect(&told, "a.unknown", 0, 1, 0);
	expect(&told, "a.unknown", 0, 1, 0);
	expect_end(&told);
}

/* The last refusals of all are fewer than one execution's may be. */
Test(tallies, any_number_is_counted)
{
	struct channel told;

	for (int i = 0; i < 5000; i++) {
		refuse(3, true, "a.example", 0);
		refuse(4, true, "b.example", 0);
	}
	keep(1, 5, 3);
	told = ask(1, 5);
	expect(&told, "a.example", 0, 5000, 0);
	expect_end(&told);
}

Test(tallies, the_oldest_that_is_kept_makes_room)
{
	struct channel told;

	for (uint32_t i = 1; i <= TALLIES_KEPT_MAX + 1; i++) {
		refuse(i, true, "a.example", 0);
		keep(1, i, i);
	}
	expect_nothing(1, 1);
	for (uint32_t i = 2; i <= TALLIES_KEPT_MAX + 1; i++) {
		told = ask(1, i);
		expect(&told, "a.example", 0, 1, 0);
		expect_end(&told);
	}
}

Test(tallies, without_a_frontend_nothing_is_kept)
{
	refuse(3, true, "a.example", 0);
	keep(0, 5, 3);
	expect_nothing(0, 5);
}

Test(tallies, a_look_is_of_one_sandbox_alone)
{
	struct channel asker = { -1, IPC_GATEWAY, IPC_FRONTEND, IPC_SERVE }, told = asker;
	int ends[2];

	refuse(3, true, "a.example", 0);
	refuse(4, true, "elsewhere.example", 0);
	cr_assert_eq(channel_pair(ends), 0);
	asker.fd = ends[1];
	tallies_look(3, 6, &asker);
	tallies_look(3, 7, &asker);
	fd_close(&ends[1]);
	told = (struct channel){ ends[0], IPC_FRONTEND, IPC_GATEWAY, IPC_SERVE };
	expect(&told, "a.example", 0, 1, 0);
	expect_end(&told);
}
