/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a turn has taken all that a peer has said.
 */
#include "stewards/base/peer.h"

#include <criterion/criterion.h>
#include <unistd.h>

#include "common/ipc/ipc_gateway.h"

static struct channel near = { -1, IPC_GATEWAY, IPC_SUPERVISOR, IPC_SERVE };
static struct channel far = { -1, IPC_SUPERVISOR, IPC_GATEWAY, IPC_SERVE };
static struct channel_message message;
static uint32_t taken;

static int take_end(void *context, struct channel_message *from)
{
	(void)context;
	(void)from;
	taken++;
	return 0;
}

static const dispatch_handler handlers[IPC_TYPE_COUNT] = { [IPC_TYPE_cable_end] = take_end };

static void open_channel(void)
{
	int ends[2];

	cr_assert_eq(channel_pair(ends), 0);
	near.fd = ends[0];
	far.fd = ends[1];
}

static void say(uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		cr_assert_eq(channel_send(&far, IPC_TYPE_cable_end, &(struct ipc_cable_end){ i },
					  NULL, 0),
			     0);
}

Test(peer, a_turn_that_leaves_messages_says_so, .init = open_channel)
{
	cr_expect(peer_turn(&near, &message, handlers, "a peer"), "nothing was there");
	say(100);
	cr_expect_not(peer_turn(&near, &message, handlers, "a peer"));
	cr_expect_lt(taken, 100, "the others need not wait for long");
	cr_expect(peer_turn(&near, &message, handlers, "a peer"));
	cr_expect_eq(taken, 100);
}

Test(peer, its_end_ends_the_process, .init = open_channel, .exit_code = 0)
{
	(void)close(far.fd);
	(void)peer_turn(&near, &message, handlers, "a peer");
	cr_assert_fail("it goes on");
}

Test(peer, a_breach_ends_the_process, .init = open_channel, .exit_code = 70)
{
	static const dispatch_handler none[IPC_TYPE_COUNT] = { NULL };

	say(1);
	(void)peer_turn(&near, &message, none, "a peer");
}
