/* SPDX-License-Identifier: Apache-2.0
 *
 * Bridges: into which sandboxes, and for whom.
 */
#include "front/handlers.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_bridge.h"
#include "common/ipc/ipc_gateway.h"
#include "common/ipc/refusal.h"
#include "front/handlers.h"
#include "persistent_rig.h"
#include "stewards/store/store.h"

#define NAME "web"

static struct rig rig;
static struct channel launcher;
static struct store_meta meta;

static void open_rig(void)
{
	persistent_open(&rig, &launcher);
	persistent_make(NAME, &meta);
}

static void close_rig(void)
{
	persistent_close(&rig, &launcher);
}

TestSuite(handlers_bridge, .init = open_rig, .fini = close_rig, .timeout = 60);

/* Ask for a bridge, and return our end of its channel. */
static int ask(uint64_t number)
{
	const struct ipc_bridge_start start = {
		.request = number, .port = 5000, .host_port = 7000, .sandbox = NAME
	};
	int ends[2];

	cr_assert_eq(channel_pair(ends), 0);
	rig_send(&rig.frontend, IPC_TYPE_bridge_start, &start, &ends[1]);
	fd_close(&ends[1]);
	return ends[0];
}

static bool is_closed(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

/* Send the socket of its network, as its init does. */
static void send_network(const struct rig_sandbox *sandbox, int *ret_reader)
{
	static const struct ipc_network_socket message;
	int ends[2], pipe_ends[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	cr_assert_eq(pipe2(pipe_ends, O_CLOEXEC), 0);
	const int fds[] = { pipe_ends[1], ends[1] };

	rig_send(&sandbox->init, IPC_TYPE_network_socket, &message, fds);
	fd_close(&ends[1]);
	fd_close(&pipe_ends[0]);
	fd_close(&pipe_ends[1]);
	*ret_reader = ends[0];
}

Test(handlers_bridge, a_cold_sandbox_has_no_network)
{
	int own = ask(1);

	rig_take_refused(&rig, 1, REFUSAL_BRIDGE);
	cr_expect(is_closed(own));
	fd_close(&own);
}

Test(handlers_bridge, a_live_one_is_given_to_the_path_opener)
{
	struct rig_sandbox sandbox = persistent_begin(&rig, 1, NAME);
	const struct ipc_bridge_give *give;
	struct channel_message *message;
	char id[IPC_ID_MAX];
	int network = -1;
	int own;

	send_network(&sandbox, &network);
	rig_turn();
	own = ask(2);
	message = rig_take(&launcher, IPC_TYPE_bridge_give);
	give = ipc_body(message, bridge_give);
	store_id_text(meta.id, id);
	cr_expect_eq(give->port, 5000U);
	cr_expect_eq(give->host_port, 7000U);
	cr_expect_str_eq(give->sandbox, id);
	/* The three descriptors: the channel, the network, the init. */
	cr_expect_eq(write(message->fds[1], "n", 1), 1);
	cr_expect_eq(read(network, id, 1), 1);
	cr_expect(fd_is_kind(message->fds[2], 'i'));
	cr_expect_not(is_closed(own));
	channel_message_done(message);
	cr_expect(is_closed(own));
	(void)rig_take(&rig.frontend, IPC_TYPE_request_done);
	fd_close(&own);
	fd_close(&network);
	rig_end(&sandbox);
}

/* Ask as a broker for a sandbox that lives, under a profile that says this. */
static int ask_as_broker(enum plan_bridge bridge, enum bridge_operation operation, int *ret_own)
{
	struct ipc_bridge_start start = { .request = 2,
					  .operation = operation,
					  .port = 5000,
					  .host_port = 7000,
					  .sandbox = NAME };
	int ends[2];

	small_plan.profiles[0].bridge = bridge;
	supervisor.frontends[0].is_broker = true;
	cr_assert_eq(channel_pair(ends), 0);
	rig_send(&rig.frontend, IPC_TYPE_bridge_start, &start, &ends[1]);
	*ret_own = ends[0];
	return ends[1];
}

Test(handlers_bridge, a_broker_needs_the_profile)
{
	struct rig_sandbox sandbox = persistent_begin(&rig, 1, NAME);
	int network = -1, own, other;

	send_network(&sandbox, &network);
	rig_turn();
	for (int operation = BRIDGE_ENTER; operation <= BRIDGE_MAKE; operation++) {
		other = ask_as_broker(PLAN_BRIDGE_PERSON, (enum bridge_operation)operation, &own);
		rig_take_refused(&rig, 2, REFUSAL_BRIDGE_PERSON);
		fd_close(&other);
		cr_expect(is_closed(own));
		fd_close(&own);
	}
	fd_close(&network);
	rig_end(&sandbox);
}

Test(handlers_bridge, an_allowed_broker_has_one_made_by_the_path_opener)
{
	struct rig_sandbox sandbox = persistent_begin(&rig, 1, NAME);
	struct channel_message *message;
	int network = -1, own, other;

	send_network(&sandbox, &network);
	rig_turn();
	other = ask_as_broker(PLAN_BRIDGE_ASK, BRIDGE_MAKE, &own);
	message = rig_take(&launcher, IPC_TYPE_bridge_bind);
	cr_expect_eq(ipc_body(message, bridge_bind)->port, 5000U);
	cr_expect_eq(ipc_body(message, bridge_bind)->host_port, 7000U);
	cr_expect_eq(message->fd_count, 1U);
	channel_message_done(message);
	(void)rig_take(&rig.frontend, IPC_TYPE_request_done);
	fd_close(&own);
	fd_close(&other);
	other = ask_as_broker(PLAN_BRIDGE_ASK, BRIDGE_ENTER, &own);
	channel_message_done(rig_take(&launcher, IPC_TYPE_bridge_give));
	(void)rig_take(&rig.frontend, IPC_TYPE_request_done);
	fd_close(&own);
	fd_close(&other);
	fd_close(&network);
	rig_end(&sandbox);
}

Test(handlers_bridge, an_unknown_operation_is_a_breach)
{
	int own, other = ask_as_broker(PLAN_BRIDGE_ASK, (enum bridge_operation)2, &own);

	rig_take_end(&rig.frontend);
	fd_close(&own);
	fd_close(&other);
}

/* Ask for the open bridges, or to close one. Return our end of the answer's channel. */
static int look(uint32_t close)
{
	const struct ipc_bridge_look wanted = { close };
	int ends[2];

	cr_assert_eq(channel_pair(ends), 0);
	rig_send(&rig.frontend, IPC_TYPE_bridge_look, &wanted, &ends[1]);
	fd_close(&ends[1]);
	return ends[0];
}

Test(handlers_bridge, the_path_opener_tells_of_them)
{
	const uint32_t ports[] = { 0, 7000 };

	for (size_t i = 0; i < 2; i++) {
		int own = look(ports[i]);
		struct channel_message *message = rig_take(&launcher, IPC_TYPE_bridge_show);

		cr_expect_eq(ipc_body(message, bridge_show)->close, ports[i]);
		cr_expect_not(is_closed(own));
		channel_message_done(message);
		cr_expect(is_closed(own));
		fd_close(&own);
	}
}

Test(handlers_bridge, without_a_path_opener_there_are_none)
{
	int fd = fd_take(&supervisor.launcher.fd);
	int own = look(0);

	rig_turn();
	cr_expect(is_closed(own));
	supervisor.launcher.fd = fd;
	fd_close(&own);
}

Test(handlers_bridge, a_broker_hears_of_none)
{
	int own;

	supervisor.frontends[0].is_broker = true;
	own = look(0);
	rig_take_end(&rig.frontend);
	cr_expect(is_closed(own));
	fd_close(&own);
}
