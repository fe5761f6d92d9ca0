/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/cable/watches.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "common/fd.h"
#include "common/ipc/channel.h"
#include "common/ipc/ipc_network.h"
#include "gateway/cable/grants.h"
#include "gateway/cable/questions.h"
#include "gateway/cable/tallies.h"
#include "plan_blob.h"

static struct channel_message message;

/* The number of the last look, and its sandbox. */
static uint32_t looks;
static struct party looked_at;

void event_watch_look(const struct party *of, uint32_t look)
{
	looked_at = *of;
	looks = look;
}

/* Say that a connection is open; with number 0: no more are. */
static void show(uint32_t look, uint64_t number, const char *host)
{
	struct ipc_connection_open open = {
		.number = number, .sent = 10, .received = 20, .look = look, .port = 443
	};

	memcpy(open.host, host, strlen(host) + 1);
	watches_show(&open);
}

/* Begin a look and return the frontend's end. */
static struct channel look_at(uint32_t slot)
{
	const struct party of = { slot, 7, 1, "alice" };
	int ends[2];

	cr_assert_eq(channel_pair(ends), 0);
	watches_look(&of, ends[1]);
	return (struct channel){ ends[0], IPC_FRONTEND, IPC_GATEWAY, IPC_SERVE };
}

static void take(const struct channel *channel, uint32_t type)
{
	enum ipc_error wrong;

	cr_assert_eq(channel_receive(channel, &message, MSG_DONTWAIT, &wrong), 1);
	cr_assert_eq(message.type, type);
}

static void expect_nothing(const struct channel *channel)
{
	enum ipc_error wrong;

	cr_assert_eq(channel_receive(channel, &message, MSG_DONTWAIT, &wrong), -EAGAIN);
}

static void expect_end(struct channel *channel)
{
	enum ipc_error wrong;

	cr_assert_eq(channel_receive(channel, &message, MSG_DONTWAIT, &wrong), 0);
	fd_close(&channel->fd);
}

static struct blob blob;
static struct plan plan;

static void make_sandbox(uint32_t slot, uint32_t approval, struct plan_profile *profile)
{
	blob.header.size = (uint32_t)(offsetof(struct blob, text) + blob_make(&blob));
	plan.bytes = (const uint8_t *)&blob;
	*profile = blob.profile;
	profile->host_approval = approval;
	cables[slot].is_made = true;
	cables[slot].policy = &plan;
	cables[slot].profile = profile;
	cables[slot].party = (struct party){ slot, 7, 1, "alice" };
}

static struct plan_profile growing, fixed;

static void make_sandboxes(void)
{
	make_sandbox(3, PLAN_HOST_APPROVAL_PERSON, &growing);
	make_sandbox(4, PLAN_HOST_APPROVAL_PERSON, &growing);
	make_sandbox(5, PLAN_HOST_APPROVAL_NEVER, &fixed);
}

Test(watches, a_look_shows_connections_and_refusals, .init = make_sandboxes)
{
	const struct ipc_connection_refused refused = { .slot = 3, .use = 7, .host = "b.example" };
	struct channel look;

	tallies_count(&refused, false);
	look = look_at(3);
	cr_expect_eq(looked_at.slot, 3U);
	cr_expect_eq(looked_at.use, 7U);
	show(looks + 1, 2, "of.another.look");
	show(0, 3, "of.no.look");
	show(0, 0, "");
	expect_nothing(&look);
	show(looks, 1, "a.example");
	take(&look, IPC_TYPE_network_connection);
	cr_expect_str_eq(ipc_body(&message, network_connection)->host, "a.example");
	cr_expect_eq(ipc_body(&message, network_connection)->number, 1U);
	cr_expect_eq(ipc_body(&message, network_connection)->sent, 10U);
	cr_expect_eq(ipc_body(&message, network_connection)->received, 20U);
	expect_nothing(&look);
	show(looks, 0, "");
	take(&look, IPC_TYPE_network_denial);
	cr_expect_str_eq(ipc_body(&message, network_denial)->host, "b.example");
	expect_end(&look);
	show(looks, 1, "too.late");
}

/* A connection that no list and no grant can allow is a lie. */
Test(watches, connections_that_there_cannot_be, .init = make_sandboxes)
{
	struct channel look = look_at(5);

	show(looks, 1, "a.example");
	show(looks, 2, "192.0.2.1");
	show(looks, 0, "");
	expect_end(&look);
	look = look_at(3);
	show(looks, 1, "192.0.2.1");
	show(looks, 2, "a.example");
	show(looks, 0, "");
	take(&look, IPC_TYPE_network_connection);
	cr_expect_str_eq(ipc_body(&message, network_connection)->host, "a.example");
	expect_end(&look);
}

Test(watches, two_looks_at_a_time, .init = make_sandboxes)
{
	struct channel first = look_at(3), second;
	const uint32_t before = looks;

	second = look_at(4);
	cr_assert_neq(looks, before);
	show(looks, 1, "b.example");
	show(looks, 0, "");
	take(&second, IPC_TYPE_network_connection);
	cr_expect_str_eq(ipc_body(&message, network_connection)->host, "b.example");
	expect_end(&second);
	expect_nothing(&first);
	show(before, 0, "");
	expect_end(&first);
}

Test(watches, one_beyond_the_room_is_closed)
{
	static struct channel all[LOOKS_MAX];
	struct channel more;

	for (uint32_t i = 0; i < LOOKS_MAX; i++)
		all[i] = look_at(3);
	more = look_at(3);
	expect_end(&more);
	show(looks, 0, "");
	expect_end(&all[LOOKS_MAX - 1]);
	more = look_at(3);
	expect_nothing(&more);
	show(looks, 0, "");
	expect_end(&more);
}

static const struct ipc_network_host *take_host(const struct channel *channel)
{
	take(channel, IPC_TYPE_network_host);
	return ipc_body(&message, network_host);
}

Test(watches, a_look_shows_what_was_granted_and_taken_away)
{
	static struct plan_profile profile;
	const struct party sandbox = { 3, 7, 0, "" };
	const struct party clients = { GATEWAY_SLOTS, 0, 1, "alice" };
	const struct ipc_network_host *host;
	struct channel look;

	make_sandbox(3, PLAN_HOST_APPROVAL_PERSON, &profile);
	cr_assert_not_null(grants_add(&sandbox, "own.example", 22, false));
	cr_assert_not_null(grants_add(&clients, "clients.example", 443, false));
	cr_assert_not_null(grants_add(&clients, "brokers.example", 443, true));
	cr_assert(grants_cut(&sandbox, "cut.example"));
	look = look_at(3);
	show(looks, 0, "");
	host = take_host(&look);
	cr_expect_str_eq(host->host, "own.example");
	cr_expect_eq(host->state, (uint32_t)NETWORK_HOST_GRANTED);
	cr_expect_eq(host->frontend, 0U);
	host = take_host(&look);
	cr_expect_str_eq(host->host, "clients.example");
	cr_expect_eq(host->frontend, 1U);
	host = take_host(&look);
	cr_expect_str_eq(host->host, "cut.example");
	cr_expect_eq(host->state, (uint32_t)NETWORK_HOST_CUT);
	expect_end(&look);
}

Test(watches, the_hosts_that_are_asked_for)
{
	struct channel to = { -1, IPC_GATEWAY, IPC_FRONTEND, IPC_SERVE }, person;
	const struct ipc_network_host *host;
	int ends[2];

	make_sandbox(3, PLAN_HOST_APPROVAL_PERSON, &growing);
	questions_note(&cables[3], "wanted.example", 0);
	cr_assert_eq(channel_pair(ends), 0);
	to.fd = ends[1];
	watches_question(&to);
	fd_close(&to.fd);
	person = (struct channel){ ends[0], IPC_FRONTEND, IPC_GATEWAY, IPC_SERVE };
	host = take_host(&person);
	cr_expect_str_eq(host->host, "wanted.example");
	cr_expect_eq(host->port, 443U);
	expect_end(&person);
}
