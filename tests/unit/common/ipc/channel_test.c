/* SPDX-License-Identifier: Apache-2.0
 *
 * The channel over real socketpairs, for every row of ipc_messages.def: what the row says passes;
 * any other direction, phase, number or kind of descriptors does not, and no descriptor stays.
 */
#include "common/ipc/channel.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_all.h"
#include "messages.h"
#include "support.h"

#define FOR_EACH_TYPE(type) for (uint32_t type = 1; type < IPC_TYPE_COUNT; type++)
#define FDS_ROOM 32

static struct channel sender, receiver;
static struct channel_message received;
static union ipc_any message;
static uint8_t wire[WIRE_ROOM];

/* A fresh pair whose ends have the roles and the phase of the row. */
static void open_pair(const struct ipc_message *row)
{
	int fds[2];

	cr_assert_eq(channel_pair(fds), 0);
	sender = (struct channel){ fds[0], row->sender, row->receiver, row->phase };
	receiver = (struct channel){ fds[1], row->receiver, row->sender, row->phase };
}

static void close_pair(void)
{
	fd_close(&sender.fd);
	fd_close(&receiver.fd);
}

static size_t make_fds(const char *kinds, int *fds)
{
	const size_t count = strlen(kinds);

	for (size_t i = 0; i < count; i++)
		fds[i] = fd_of_kind(kinds[i]);
	return count;
}

/* Send bytes and descriptors past the channel's own checks. */
static void send_raw(int fd, const void *bytes, size_t size, const int *fds, size_t count)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int) * FDS_ROOM)];
	} control;
	union {
		const void *in;
		void *out;
	} data = { .in = bytes };
	struct iovec part = { .iov_base = data.out, .iov_len = size };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	if (count > 0) {
		memset(&control, 0, sizeof(control));
		header.msg_control = control.room;
		header.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(&control.header), fds, sizeof(int) * count);
	}
	cr_assert_eq(sendmsg(fd, &header, MSG_NOSIGNAL), (ssize_t)size, "%s", strerror(errno));
}

/* What the receiving channel says of the next packet; no descriptor may stay after an error. */
static enum ipc_error receive_error(void)
{
	const size_t before = fd_count_open();
	enum ipc_error error = IPC_OK;
	const int result = channel_receive(&receiver, &received, MSG_DONTWAIT, &error);

	if (result == 1) {
		channel_message_done(&received);
		cr_assert_eq(fd_count_open(), before);
		return IPC_OK;
	}
	cr_assert_eq(result, -EPROTO, "%d", result);
	cr_assert_neq(error, IPC_OK);
	cr_assert_eq(fd_count_open(), before, "descriptors of a refused message stay open");
	return error;
}

/* The row's message with these descriptors, sent raw. */
static enum ipc_error try_fds(uint32_t type, const int *fds, size_t count)
{
	uint32_t seed = type;

	message_fill(ipc_message(type), &message, FILL_SHORTEST, &seed);
	send_raw(sender.fd, wire, wire_make(type, &message, -1, 0, wire), fds, count);
	return receive_error();
}

static void check_passes(uint32_t type, enum fill fill)
{
	const struct ipc_message *row = ipc_message(type);
	uint32_t seed = type;
	enum ipc_error error = IPC_OK;
	int fds[IPC_FDS_MAX];
	const size_t count = make_fds(row->fds, fds);

	message_fill(row, &message, fill, &seed);
	memset(&received.body, 0, sizeof(received.body)); /* the rooms of sized fields stay */
	cr_assert_eq(channel_send(&sender, type, &message, fds, 0), 0, "%s", row->name);
	cr_assert_eq(channel_receive(&receiver, &received, 0, &error), 1, "%s: %s", row->name,
		     ipc_error_text(error));
	cr_assert_eq(received.type, type);
	cr_assert_eq(received.fd_count, count);
	cr_assert_eq(memcmp(&message, &received.body, row->struct_size), 0, "%s", row->name);
	for (size_t i = 0; i < count; i++) {
		cr_assert_eq(fcntl(received.fds[i], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
		cr_assert_neq(received.fds[i], fds[i], "a descriptor of its own");
	}
	channel_message_done(&received);
	for (size_t i = 0; i < IPC_FDS_MAX; i++)
		cr_assert_eq(received.fds[i], -1);
	fd_close_all(fds, count);
}

Test(channel, every_row_passes)
{
	const size_t before = fd_count_open();

	FOR_EACH_TYPE(type)
	{
		open_pair(ipc_message(type));
		check_passes(type, FILL_SHORTEST);
		check_passes(type, FILL_LONGEST);
		close_pair();
	}
	cr_assert_eq(fd_count_open(), before);
}

Test(channel, missing_and_surplus_descriptors_are_refused)
{
	FOR_EACH_TYPE(type)
	{
		const struct ipc_message *row = ipc_message(type);
		int fds[FDS_ROOM];
		const size_t count = make_fds(row->fds, fds);

		open_pair(row);
		for (size_t i = count; i < FDS_ROOM; i++)
			fds[i] = fd_of_kind(count ? row->fds[0] : 'a');
		for (size_t n = 0; n <= IPC_FDS_MAX + 1; n++)
			cr_assert_eq(try_fds(type, fds, n), n == count ? IPC_OK : IPC_ERROR_FDS,
				     "%s with %zu descriptors", row->name, n);
		/* More than the control buffer holds: the kernel cuts and says so. */
		cr_assert_eq(try_fds(type, fds, FDS_ROOM), IPC_ERROR_TRUNCATED, "%s", row->name);
		fd_close_all(fds, FDS_ROOM);
		close_pair();
	}
}

/* May a descriptor made as `made` stand for `wanted`? A sealed memfd is a regular file too. */
static bool is_acceptable(char wanted, char made)
{
	return wanted == made || wanted == 'a' || (wanted == 'f' && made == 'm');
}

Test(channel, descriptors_of_the_wrong_kind_are_refused)
{
	static const char kinds[] = "pmfdsiota";

	FOR_EACH_TYPE(type)
	{
		const struct ipc_message *row = ipc_message(type);
		int fds[IPC_FDS_MAX];
		const size_t count = make_fds(row->fds, fds);

		open_pair(row);
		for (size_t i = 0; i < count; i++) {
			const int right = fds[i];

			for (const char *kind = kinds; *kind; kind++) {
				fds[i] = fd_of_kind(*kind);
				cr_expect_eq(try_fds(type, fds, count),
					     is_acceptable(row->fds[i], *kind) ? IPC_OK
									       : IPC_ERROR_FDS,
					     "%s: a '%c' in place of '%c'", row->name, *kind,
					     row->fds[i]);
				fd_close(&fds[i]);
			}
			fds[i] = right;
		}
		fd_close_all(fds, count);
		close_pair();
	}
}

Test(channel, the_wrong_direction_is_refused)
{
	FOR_EACH_TYPE(type)
	{
		const struct ipc_message *row = ipc_message(type);
		int fds[IPC_FDS_MAX];
		const size_t count = make_fds(row->fds, fds);

		open_pair(row);
		for (int role = IPC_LAUNCHER; role <= IPC_WORKLOAD; role++) {
			receiver.self = (enum ipc_role)role;
			receiver.peer = row->sender;
			cr_assert_eq(try_fds(type, fds, count),
				     receiver.self == row->receiver ? IPC_OK : IPC_ERROR_DIRECTION,
				     "%s received by role %d", row->name, role);
			receiver.self = row->receiver;
			receiver.peer = (enum ipc_role)role;
			cr_assert_eq(try_fds(type, fds, count),
				     receiver.peer == row->sender ? IPC_OK : IPC_ERROR_DIRECTION,
				     "%s sent by role %d", row->name, role);
		}
		sender.self = row->receiver;
		sender.peer = row->sender;
		cr_assert_eq(channel_send(&sender, type, &message, fds, 0), -EPROTO);
		fd_close_all(fds, count);
		close_pair();
	}
}

Test(channel, the_wrong_phase_is_refused)
{
	FOR_EACH_TYPE(type)
	{
		const struct ipc_message *row = ipc_message(type);
		const enum ipc_phase other = row->phase == IPC_SETUP ? IPC_SERVE : IPC_SETUP;
		int fds[IPC_FDS_MAX];
		const size_t count = make_fds(row->fds, fds);

		open_pair(row);
		receiver.phase = other;
		cr_assert_eq(try_fds(type, fds, count), IPC_ERROR_PHASE, "%s", row->name);
		sender.phase = other;
		cr_assert_eq(channel_send(&sender, type, &message, fds, 0), -EPROTO, "%s",
			     row->name);
		fd_close_all(fds, count);
		close_pair();
	}
}

Test(channel, malformed_bytes_are_refused_and_their_descriptors_closed)
{
	FOR_EACH_TYPE(type)
	{
		const struct ipc_message *row = ipc_message(type);
		uint32_t seed = type;
		int fds[IPC_FDS_MAX];
		const size_t count = make_fds(row->fds, fds);

		open_pair(row);
		message_fill(row, &message, FILL_RANDOM, &seed);
		const size_t size = wire_make(type, &message, -1, 0, wire);
		send_raw(sender.fd, wire, size - 1, fds, count);
		cr_assert_eq(receive_error(), IPC_ERROR_SHORT, "%s", row->name);
		send_raw(sender.fd, wire, size + 1, fds, count);
		cr_assert_eq(receive_error(), IPC_ERROR_TRAILING, "%s", row->name);
		memset(wire, 0xff, sizeof(uint32_t));
		send_raw(sender.fd, wire, size, fds, count);
		cr_assert_eq(receive_error(), IPC_ERROR_TYPE, "%s", row->name);
		fd_close_all(fds, count);
		close_pair();
	}
}

/* For each row with descriptors and each number of them that there is room for. */
Test(channel, descriptors_without_room_are_no_breach)
{
	FOR_EACH_TYPE(type)
	{
		const struct ipc_message *row = ipc_message(type);
		uint32_t seed = type;
		int fds[IPC_FDS_MAX];
		const size_t count = make_fds(row->fds, fds);
		struct rlimit limit;

		open_pair(row);
		cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
		for (size_t room = 0; room < count; room++) {
			enum ipc_error error = IPC_OK;
			const int next = dup(receiver.fd);
			const struct rlimit few = { (rlim_t)next + room, limit.rlim_max };

			cr_assert_eq(close(next), 0);
			message_fill(row, &message, FILL_SHORTEST, &seed);
			memset(&received.body, 0, sizeof(received.body));
			cr_assert_eq(channel_send(&sender, type, &message, fds, 0), 0);
			cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
			cr_assert_eq(channel_receive(&receiver, &received, 0, &error), -EMFILE);
			cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
			cr_assert_eq(received.type, type);
			cr_assert_eq(received.fd_count, 0);
			cr_assert_eq(memcmp(&message, &received.body, row->struct_size), 0);
			cr_assert_eq(dup(receiver.fd), next, "a descriptor is kept");
			cr_assert_eq(close(next), 0);
		}
		fd_close_all(fds, count);
		close_pair();
	}
}

Test(channel, a_packet_beyond_the_largest_message_is_refused)
{
	int fds[1] = { fd_of_kind('m') };

	open_pair(ipc_message(IPC_TYPE_code_start));
	memset(wire, 0, sizeof(wire));
	wire[0] = IPC_TYPE_code_start;
	send_raw(sender.fd, wire, IPC_MESSAGE_MAX + 1, fds, 1);
	cr_assert_eq(receive_error(), IPC_ERROR_TRUNCATED);
	send_raw(sender.fd, wire, IPC_MESSAGE_MAX + 4096, fds, 1);
	cr_assert_eq(receive_error(), IPC_ERROR_TRUNCATED);
	fd_close_all(fds, 1);
	close_pair();
}

Test(channel, an_empty_packet_is_no_message)
{
	int fds[1] = { fd_of_kind('m') };
	enum ipc_error error = IPC_OK;

	open_pair(ipc_message(IPC_TYPE_hello));
	send_raw(sender.fd, wire, 0, fds, 1);
	cr_assert_eq(receive_error(), IPC_ERROR_SHORT);
	send_raw(sender.fd, wire, 0, NULL, 0);
	cr_assert_eq(channel_receive(&receiver, &received, 0, &error), 0, "reads as the end");
	fd_close_all(fds, 1);
	close_pair();
}

Test(channel, nothing_there_is_eagain)
{
	enum ipc_error error = IPC_OK;

	open_pair(ipc_message(IPC_TYPE_hello));
	cr_assert_eq(channel_receive(&receiver, &received, MSG_DONTWAIT, &error), -EAGAIN);
	close_pair();
}

Test(channel, a_gone_peer_reads_as_the_end)
{
	enum ipc_error error = IPC_OK;
	uint32_t seed = 1;

	open_pair(ipc_message(IPC_TYPE_hello));
	message_fill(ipc_message(IPC_TYPE_hello), &message, FILL_RANDOM, &seed);
	cr_assert_eq(channel_send(&sender, IPC_TYPE_hello, &message, NULL, 0), 0);
	fd_close(&sender.fd);
	cr_assert_eq(channel_receive(&receiver, &received, 0, &error), 1, "what was sent arrives");
	cr_assert_eq(channel_receive(&receiver, &received, 0, &error), 0);
	cr_assert_eq(channel_receive(&receiver, &received, 0, &error), 0);
	close_pair();
}

/* The kernel reports a peer that died with our message unread as ECONNRESET. */
Test(channel, a_peer_gone_with_unread_messages_reads_as_the_end)
{
	enum ipc_error error = IPC_OK;
	uint32_t seed = 1;

	open_pair(ipc_message(IPC_TYPE_hello));
	message_fill(ipc_message(IPC_TYPE_hello), &message, FILL_RANDOM, &seed);
	cr_assert_eq(channel_send(&sender, IPC_TYPE_hello, &message, NULL, 0), 0);
	fd_close(&receiver.fd);
	receiver = sender;
	sender.fd = -1;
	cr_assert_eq(channel_receive(&receiver, &received, 0, &error), 0);
	close_pair();
}

Test(channel, sending_to_a_gone_peer_is_an_error_not_a_signal)
{
	uint32_t seed = 1;

	open_pair(ipc_message(IPC_TYPE_hello));
	message_fill(ipc_message(IPC_TYPE_hello), &message, FILL_RANDOM, &seed);
	fd_close(&receiver.fd);
	cr_assert_eq(channel_send(&sender, IPC_TYPE_hello, &message, NULL, 0), -EPIPE);
	close_pair();
}

Test(channel, a_peer_that_does_not_read_fills_up)
{
	uint32_t seed = 1;
	int result = 0;

	open_pair(ipc_message(IPC_TYPE_execution_start));
	message_fill(ipc_message(IPC_TYPE_execution_start), &message, FILL_LONGEST, &seed);
	for (int i = 0; i < 100 && result == 0; i++)
		result = channel_send(&sender, IPC_TYPE_execution_start, &message, NULL,
				      MSG_DONTWAIT);
	cr_assert_eq(result, -EAGAIN);
	close_pair();
}

Test(channel, messages_the_sender_cannot_encode_are_not_sent)
{
	enum ipc_error error = IPC_OK;

	open_pair(ipc_message(IPC_TYPE_execution_start));
	memset(&message, 0, sizeof(message)); /* its language is empty */
	cr_assert_eq(channel_send(&sender, IPC_TYPE_code_start, &message, NULL, 0), -EPROTO);
	cr_assert_eq(channel_send(&sender, IPC_TYPE_NONE, &message, NULL, 0), -EPROTO);
	cr_assert_eq(channel_send(&sender, IPC_TYPE_COUNT, &message, NULL, 0), -EPROTO);
	cr_assert_eq(channel_receive(&receiver, &received, MSG_DONTWAIT, &error), -EAGAIN);
	close_pair();
}
