/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages to a peer that does not read: they wait, keep their order, and are bounded.
 */
#include "lib/heap/outbox.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/ipc/ipc_gateway.h"

static struct channel ours = { -1, IPC_EGRESS, IPC_DIAL, IPC_SERVE };
static struct channel theirs = { -1, IPC_DIAL, IPC_EGRESS, IPC_SERVE };
static struct outbox outbox = { .channel = &ours };
static struct channel_message message;

static void open_pair(void)
{
	int ends[2];

	cr_assert_eq(channel_pair(ends), 0);
	ours.fd = ends[0];
	theirs.fd = ends[1];
}

static int send_number(uint64_t number)
{
	const struct ipc_name_ask ask = { .number = number, .host = "a.example" };

	return outbox_send(&outbox, IPC_TYPE_name_ask, &ask);
}

/* Return the number of the next message, or 0: none is there. */
static uint64_t receive_number(void)
{
	enum ipc_error wrong;

	if (channel_receive(&theirs, &message, MSG_DONTWAIT, &wrong) != 1)
		return 0;
	return ipc_body(&message, name_ask)->number;
}

Test(outbox, messages_wait_and_keep_their_order, .init = open_pair)
{
	const uint64_t last = 5000;
	uint64_t next = 1;

	for (uint64_t number = 1; number <= last; number++)
		cr_assert_eq(send_number(number), 0);
	cr_assert_gt(outbox.count, 0, "the socket takes fewer");
	while (next <= last) {
		const uint64_t number = receive_number();

		if (number == 0) {
			cr_assert_eq(outbox_flush(&outbox), 0);
			continue;
		}
		cr_assert_eq(number, next);
		next++;
	}
	cr_expect_eq(outbox.count, 0);
	cr_expect_eq(receive_number(), 0);
	cr_expect_eq(send_number(7), 0, "the way is free again");
	cr_expect_eq(outbox.count, 0);
	cr_expect_eq(receive_number(), 7);
}

Test(outbox, a_peer_that_never_reads, .init = open_pair)
{
	int error = 0;

	for (uint32_t sent = 0; sent < 2 * OUTBOX_MAX && error == 0; sent++)
		error = send_number(sent);
	cr_expect_eq(error, -ENOBUFS);
	cr_expect_eq(outbox.count, OUTBOX_MAX);
}

Test(outbox, a_peer_that_has_ended, .init = open_pair)
{
	close(theirs.fd);
	cr_expect_eq(send_number(1), -EPIPE);
}
