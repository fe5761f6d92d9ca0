/* SPDX-License-Identifier: Apache-2.0 */
#include "cable/watches.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "cable/grants.h"
#include "cable/questions.h"
#include "common/channel.h"
#include "common/fd.h"
#include "common/ipc_network.h"
#include "plan_blob.h"

static struct channel_message message;
static uint64_t now_us = 1;
static struct party client; /* of the last execution */

/* The grant that a frontend wants, and the answer to it. */
static struct party from;
static bool is_from_broker;
static struct ipc_network_grant wanted;
static int answer;

int event_watch_grant(const struct party *of, bool is_broker, const struct ipc_network_grant *grant)
{
	from = *of;
	is_from_broker = is_broker;
	wanted = *grant;
	return answer;
}

/* The looks so far, and the sandbox of the last one. */
static uint32_t looks;
static struct party looked_at;

void event_watch_look(const struct party *of, uint32_t look)
{
	looked_at = *of;
	looks = look;
}

/* msp-egress reports an open connection, or with number 0 that those were all. */
static void show(uint32_t look, uint64_t number, const char *host)
{
	struct ipc_connection_open open = {
		.number = number, .sent = 10, .received = 20, .look = look, .port = 443
	};

	(void)snprintf(open.host, sizeof(open.host), "%s", host);
	watches_show(&open);
}

/* Begin the watch of a frontend's request and return the frontend's end. */
static struct channel begin(uint32_t frontend, uint64_t request, uint32_t slot)
{
	const struct ipc_cable_watch watch = { { request, "alice", "" }, frontend, 0, slot };
	int ends[2];

	cr_assert_eq(channel_pair(ends), 0);
	watches_begin(&watch, 0, ends[1]);
	return (struct channel){ ends[0], IPC_FRONTEND, IPC_GATEWAY, IPC_SERVE };
}

static void attach(uint32_t frontend, uint64_t request, uint32_t slot)
{
	watches_attach(&(struct ipc_cable_execution){ request, now_us, frontend, slot }, &client);
}

static void refuse(uint32_t slot, const char *host, uint32_t port)
{
	struct ipc_connection_refused refused = { .time_us = now_us, .slot = slot, .port = port };

	(void)snprintf(refused.host, sizeof(refused.host), "%s", host);
	watches_count(&refused);
}

/* Serve what poll(2) finds. */
static void turn(void)
{
	static struct pollfd polls[WATCHES_MAX];
	const uint32_t count = watches_poll(polls);

	cr_assert_geq(poll(polls, count, 0), 0);
	watches_turn(polls, count);
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

/* Ask for what there is. */
static void ask_all(struct channel *channel)
{
	cr_assert_eq(shutdown(channel->fd, SHUT_WR), 0);
	turn();
}

Test(watches, a_watch_may_come_after_its_execution)
{
	struct channel watch, other;

	refuse(3, "before.example", 0);
	now_us++;
	attach(1, 5, 3);
	cr_expect_eq(client.frontend, 0, "nobody can be granted anything in it");
	refuse(3, "a.example", 0);
	watch = begin(1, 5, GATEWAY_SLOTS);
	other = begin(2, 5, GATEWAY_SLOTS);
	refuse(3, "a.example", 0);
	cr_assert_eq(shutdown(watch.fd, SHUT_WR), 0);
	cr_assert_eq(shutdown(other.fd, SHUT_WR), 0);
	turn();
	expect(&watch, "a.example", 0, 2, 0);
	expect_end(&watch);
	expect_end(&other);
}

Test(watches, an_execution_is_counted_from_its_beginning)
{
	struct channel watch = begin(1, 5, GATEWAY_SLOTS);

	refuse(3, "before.example", 0);
	attach(2, 5, 3);
	attach(1, 6, 3);
	refuse(3, "of.another", 0);
	now_us++;
	attach(1, 5, 3);
	refuse(3, "a.example", 0);
	refuse(4, "elsewhere.example", 0);
	refuse(3, "a.example", 0);
	refuse(3, "a.example", 80);
	turn();
	cr_assert_eq(shutdown(watch.fd, SHUT_WR), 0);
	turn();
	expect(&watch, "a.example", 0, 2, 0);
	expect(&watch, "a.example", 80, 1, 0);
	expect_end(&watch);
}

Test(watches, a_refusal_may_come_before_the_beginning)
{
	struct channel watch = begin(1, 5, GATEWAY_SLOTS);

	refuse(3, "of.the.last", 0);
	now_us += 2;
	refuse(3, "a.example", 0);
	refuse(4, "elsewhere.example", 0);
	now_us--;
	attach(1, 5, 3);
	refuse(3, "a.example", 0);
	watches_end(3);
	expect(&watch, "a.example", 0, 2, 0);
	expect_end(&watch);
}

Test(watches, executions_in_one_sandbox_share_the_counts)
{
	struct channel one = begin(1, 1, GATEWAY_SLOTS), two = begin(1, 2, GATEWAY_SLOTS);
	struct channel other = begin(1, 3, GATEWAY_SLOTS);

	attach(1, 1, 3);
	attach(1, 3, 4);
	refuse(3, "a.example", 0);
	now_us++;
	attach(1, 2, 3);
	refuse(3, "a.example", 0);
	refuse(4, "b.example", 0);
	watches_end(3);
	expect(&one, "a.example", 0, 2, 1);
	expect_end(&one);
	expect(&two, "a.example", 0, 1, 1);
	expect_end(&two);
	watches_end(4);
	expect(&other, "b.example", 0, 1, 0);
	expect_end(&other);
}

Test(watches, further_kinds_are_counted_together)
{
	struct channel watch = begin(1, 1, GATEWAY_SLOTS);
	char host[32];

	attach(1, 1, 3);
	for (int i = 0; i < NETWORK_DENIALS_MAX + 5; i++) {
		(void)snprintf(host, sizeof(host), "%d.example", i);
		refuse(3, host, 0);
	}
	refuse(3, "0.example", 0);
	watches_end(3);
	expect(&watch, "0.example", 0, 2, 0);
	for (int i = 1; i < NETWORK_DENIALS_MAX; i++) {
		(void)snprintf(host, sizeof(host), "%d.example", i);
		expect(&watch, host, 0, 1, 0);
	}
	expect(&watch, "", 0, 5, 0);
	expect_end(&watch);
}

Test(watches, one_beyond_the_room_is_closed)
{
	static struct channel all[WATCHES_MAX];
	struct channel more;

	for (uint32_t i = 0; i < WATCHES_MAX; i++)
		all[i] = begin(1, i, 3);
	more = begin(2, 1, 3);
	expect_end(&more);
	fd_close(&all[7].fd);
	turn();
	show(looks, 0, "");
	more = begin(2, 2, GATEWAY_SLOTS);
	attach(2, 2, 3);
	refuse(3, "a.example", 0);
	watches_end(3);
	expect(&more, "a.example", 0, 1, 0);
	expect_end(&more);
}

Test(watches, a_look_shows_connections_and_refusals)
{
	struct ipc_connection_refused refused = { .slot = 3, .use = 7, .host = "b.example" };
	struct channel look = { .self = IPC_FRONTEND, .peer = IPC_GATEWAY, .phase = IPC_SERVE };
	enum ipc_error wrong;
	int ends[2];

	watches_count(&refused);
	refused.use = 6;
	watches_count(&refused);
	cr_assert_eq(channel_pair(ends), 0);
	watches_begin(&(struct ipc_cable_watch){ { .request = 0 }, 1, 0, 3 }, 7, ends[1]);
	look.fd = ends[0];
	turn();
	cr_assert_eq(looks, 0);
	cr_assert_eq(channel_receive(&look, &message, MSG_DONTWAIT, &wrong), -EAGAIN);
	ask_all(&look);
	cr_assert_neq(looks, 0);
	cr_expect_eq(looked_at.slot, 3U);
	cr_expect_eq(looked_at.use, 7U);
	show(looks + 1, 2, "of.another.look");
	show(0, 3, "of.no.look");
	show(looks, 1, "a.example");
	turn();
	cr_assert_eq(channel_receive(&look, &message, MSG_DONTWAIT, &wrong), 1);
	cr_expect_str_eq(ipc_body(&message, network_connection)->host, "a.example");
	cr_expect_eq(ipc_body(&message, network_connection)->number, 1U);
	cr_expect_eq(ipc_body(&message, network_connection)->sent, 10U);
	cr_expect_eq(ipc_body(&message, network_connection)->received, 20U);
	cr_assert_eq(channel_receive(&look, &message, MSG_DONTWAIT, &wrong), -EAGAIN);
	show(looks, 0, "");
	expect(&look, "b.example", 0, 1, 0);
	expect_end(&look);
	show(looks, 1, "too.late");
}

Test(watches, two_looks_at_a_time)
{
	struct channel first = begin(1, 0, 3), second = begin(2, 0, 4);
	enum ipc_error wrong;
	uint32_t before;

	ask_all(&first);
	before = looks;
	ask_all(&second);
	cr_assert_neq(looks, before);
	show(looks, 1, "b.example");
	show(looks, 0, "");
	cr_assert_eq(channel_receive(&second, &message, MSG_DONTWAIT, &wrong), 1);
	cr_expect_str_eq(ipc_body(&message, network_connection)->host, "b.example");
	expect_end(&second);
	cr_assert_eq(channel_receive(&first, &message, MSG_DONTWAIT, &wrong), -EAGAIN);
	show(before, 0, "");
	expect_end(&first);
}

Test(watches, the_end_of_a_sandbox_ends_a_look)
{
	struct channel look = begin(1, 0, 3);

	ask_all(&look);
	watches_end(3);
	expect_end(&look);
	show(looks, 0, "");
}

/* --- grants ----------------------------------------------------------------------------------- */

static void want(const struct channel *channel, const char *host)
{
	struct ipc_network_grant grant = { .port = 443 };

	memcpy(grant.host, host, strlen(host) + 1);
	cr_assert_eq(channel_send(channel, IPC_TYPE_network_grant, &grant, NULL, 0), 0);
	turn();
}

static void expect_granted(const struct channel *channel, uint32_t error)
{
	enum ipc_error wrong;

	cr_assert_eq(channel_receive(channel, &message, MSG_DONTWAIT, &wrong), 1);
	cr_expect_eq(ipc_body(&message, network_granted)->error, error);
}

Test(watches, an_execution_makes_its_client_the_sandboxs)
{
	begin(1, 5, GATEWAY_SLOTS);
	attach(1, 5, 3);
	cr_expect_eq(client.frontend, 1U);
	cr_expect_str_eq(client.owner, "alice");
	attach(2, 5, 3);
	cr_expect_eq(client.frontend, 0U, "without a watch it is nobody's");
}

Test(watches, a_frontend_wants_a_grant_and_hears_the_answer)
{
	struct channel of_sandbox = begin(1, 0, 3), of_client = begin(2, 0, GATEWAY_SLOTS);

	want(&of_sandbox, "a.example");
	cr_expect_eq(from.slot, 3U);
	cr_expect_str_eq(wanted.host, "a.example");
	cr_assert_not(is_from_broker);
	expect_granted(&of_sandbox, 0);
	answer = -EPERM;
	want(&of_client, "b.example");
	cr_expect_eq(from.slot, (uint32_t)GATEWAY_SLOTS);
	cr_expect_eq(from.frontend, 2U);
	cr_expect_str_eq(from.owner, "alice");
	expect_granted(&of_client, EPERM);
}

Test(watches, an_executions_watch_grants_nothing)
{
	struct channel watch = begin(1, 5, GATEWAY_SLOTS);

	wanted.port = 0;
	want(&watch, "a.example");
	expect_end(&watch);
	cr_expect_eq(wanted.port, 0U);
}

static void make_sandbox(uint32_t slot, uint32_t approval, struct plan_profile *profile)
{
	profile->host_approval = approval;
	cables[slot].is_made = true;
	cables[slot].profile = profile;
	cables[slot].party = (struct party){ slot, 7, 1, "alice" };
}

Test(watches, a_look_shows_what_was_granted_and_taken_away)
{
	static struct plan_profile profile;
	const struct party sandbox = { 3, 7, 0, "" };
	const struct party clients = { GATEWAY_SLOTS, 0, 1, "alice" };
	struct channel look = begin(1, 0, 3);
	const struct ipc_network_host *host;
	enum ipc_error wrong;

	fd_close(&look.fd);
	turn();
	make_sandbox(3, PLAN_HOST_APPROVAL_PERSON, &profile);
	cr_assert_not_null(grants_add(&sandbox, "own.example", 22, false));
	cr_assert_not_null(grants_add(&clients, "clients.example", 443, false));
	cr_assert_not_null(grants_add(&clients, "brokers.example", 443, true));
	cr_assert(grants_cut(&sandbox, "cut.example"));
	{
		const struct ipc_cable_watch watch = { { .request = 0 }, 1, 0, 3 };
		int ends[2];

		cr_assert_eq(channel_pair(ends), 0);
		watches_begin(&watch, 7, ends[1]);
		look.fd = ends[0];
	}
	ask_all(&look);
	show(looks, 0, "");
	cr_assert_eq(channel_receive(&look, &message, MSG_DONTWAIT, &wrong), 1);
	host = ipc_body(&message, network_host);
	cr_expect_str_eq(host->host, "own.example");
	cr_expect_eq(host->state, (uint32_t)NETWORK_HOST_GRANTED);
	cr_expect_eq(host->frontend, 0U);
	cr_assert_eq(channel_receive(&look, &message, MSG_DONTWAIT, &wrong), 1);
	host = ipc_body(&message, network_host);
	cr_expect_str_eq(host->host, "clients.example");
	cr_expect_eq(host->frontend, 1U);
	cr_assert_eq(channel_receive(&look, &message, MSG_DONTWAIT, &wrong), 1);
	host = ipc_body(&message, network_host);
	cr_expect_str_eq(host->host, "cut.example");
	cr_expect_eq(host->state, (uint32_t)NETWORK_HOST_CUT);
	expect_end(&look);
}

Test(watches, only_a_person_sees_the_questions)
{
	static struct blob blob;
	static struct plan plan;
	struct channel person = begin(9, 0, GATEWAY_SLOTS), broker = person;
	const struct ipc_cable_watch brokers = { { .request = 0 }, 1, 1, GATEWAY_SLOTS };
	enum ipc_error wrong;
	int ends[2];

	blob.header.size = (uint32_t)(offsetof(struct blob, text) + blob_make(&blob));
	plan.bytes = (const uint8_t *)&blob;
	make_sandbox(3, PLAN_HOST_APPROVAL_PERSON, &blob.profile);
	cables[3].policy = &plan;
	questions_note(&cables[3], "wanted.example", 0);
	cr_assert_eq(channel_pair(ends), 0);
	watches_begin(&brokers, 0, ends[1]);
	broker.fd = ends[0];
	ask_all(&broker);
	expect_end(&broker);
	ask_all(&person);
	cr_assert_eq(channel_receive(&person, &message, MSG_DONTWAIT, &wrong), 1);
	cr_expect_str_eq(ipc_body(&message, network_host)->host, "wanted.example");
	cr_expect_eq(ipc_body(&message, network_host)->port, 443U);
	expect_end(&person);
}
