/* SPDX-License-Identifier: Apache-2.0
 *
 * SOCK_SEQPACKET and SCM_RIGHTS: what common/ipc/channel.c takes for granted.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int ends[2];
static char buffer[1 << 18];

static void make_pair(void)
{
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
}

TestSuite(sockets, .init = make_pair);

Test(sockets, packets_keep_their_boundaries)
{
	cr_assert_eq(send(ends[0], "one", 3, 0), 3);
	cr_assert_eq(send(ends[0], "three", 5, 0), 5);
	cr_assert_eq(recv(ends[1], buffer, sizeof(buffer), 0), 3, "one packet, one message");
	cr_assert_eq(recv(ends[1], buffer, sizeof(buffer), 0), 5);
}

Test(sockets, an_empty_packet_reads_as_zero)
{
	cr_assert_eq(send(ends[0], "", 0, 0), 0);
	cr_assert_eq(send(ends[0], "x", 1, 0), 1);
	cr_assert_eq(recv(ends[1], buffer, sizeof(buffer), 0), 0, "0 is taken for the end");
	cr_assert_eq(recv(ends[1], buffer, sizeof(buffer), 0), 1);
}

Test(sockets, a_packet_that_is_too_long_is_flagged)
{
	struct iovec part = { buffer, 10 };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	cr_assert_eq(send(ends[0], buffer, 11, 0), 11);
	cr_assert_eq(recvmsg(ends[1], &header, 0), 10);
	cr_assert(header.msg_flags & MSG_TRUNC, "the channel refuses what was cut");
	cr_assert_eq(recv(ends[1], buffer, sizeof(buffer), MSG_DONTWAIT), -1, "the rest is gone");
}

/* Send `count` descriptors of /dev/null with one byte. */
static void send_fds(size_t count)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(8 * sizeof(int))];
	} control = { .room = { 0 } };
	struct iovec part = { buffer, 1 };
	struct msghdr header = { .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.room,
				 .msg_controllen = CMSG_SPACE(count * sizeof(int)) };
	int fds[8];

	for (size_t i = 0; i < count; i++)
		fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
	cr_assert_eq(sendmsg(ends[0], &header, 0), 1);
	for (size_t i = 0; i < count; i++)
		(void)close(fds[i]);
}

/* Receive with room for `room` descriptors; returns how many came and the message's flags. */
static size_t receive_fds(size_t room, int *ret_flags)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(8 * sizeof(int))];
	} control;
	struct iovec part = { buffer, sizeof(buffer) };
	struct msghdr header = { .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.room,
				 .msg_controllen = CMSG_SPACE(room * sizeof(int)) };

	cr_assert_geq(recvmsg(ends[1], &header, MSG_CMSG_CLOEXEC), 0);
	*ret_flags = header.msg_flags;
	const struct cmsghdr *first = CMSG_FIRSTHDR(&header);
	return first ? (first->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
}

Test(sockets, descriptors_that_do_not_fit_are_flagged)
{
	int flags = 0;

	send_fds(4);
	cr_assert_eq(receive_fds(2, &flags), 2);
	cr_assert(flags & MSG_CTRUNC, "the channel refuses what was cut");
}

Test(sockets, padding_makes_room_for_one_more_descriptor)
{
	int flags = 0;

	send_fds(3);
	cr_assert_eq(receive_fds(1, &flags), 2, "so the channel counts what came");
	cr_assert(flags & MSG_CTRUNC);
}

Test(sockets, received_descriptors_can_be_close_on_exec)
{
	int flags = 0;

	send_fds(1);
	cr_assert_eq(receive_fds(1, &flags), 1);
	cr_assert(flags & MSG_CMSG_CLOEXEC, "no descriptor leaks into a workload in between");
}

Test(sockets, a_closed_peer_is_epipe_without_a_signal)
{
	(void)close(ends[1]);
	cr_assert_eq(send(ends[0], "x", 1, MSG_NOSIGNAL), -1);
	cr_assert_eq(errno, EPIPE, "MSG_NOSIGNAL works on SEQPACKET");
}

Test(sockets, a_peer_that_died_with_unread_data_is_a_reset)
{
	cr_assert_eq(send(ends[0], "x", 1, 0), 1);
	(void)close(ends[1]);
	cr_assert_eq(recv(ends[0], buffer, sizeof(buffer), 0), -1);
	cr_assert_eq(errno, ECONNRESET, "the channel takes it for the end");
}

Test(sockets, what_was_sent_before_the_end_arrives)
{
	cr_assert_eq(send(ends[0], "last", 4, 0), 4);
	(void)close(ends[0]);
	cr_assert_eq(recv(ends[1], buffer, sizeof(buffer), 0), 4,
		     "msp serve queues its messages and executes the supervisor");
	cr_assert_eq(recv(ends[1], buffer, sizeof(buffer), 0), 0);
}

Test(sockets, a_packet_of_128_kib_fits_the_default_buffer)
{
	cr_assert_eq(send(ends[0], buffer, 128 * 1024 + 8192, MSG_DONTWAIT), 128 * 1024 + 8192,
		     "IPC_MESSAGE_MAX stays below net.core.wmem_default");
}
