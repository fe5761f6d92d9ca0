/* SPDX-License-Identifier: Apache-2.0 */
#include "common/ipc/channel.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "common/fd.h"
#include "common/stage_hook.h"

/* The kernel pads the control buffer to 8 bytes, so room for one descriptor may receive two: make
 * room for one more than any row has and count what came. */
#define CONTROL_FDS (IPC_FDS_MAX + 1)

/* Whole pages of its own. */
#define WIRE_PAGE 4096

union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int) * CONTROL_FDS)];
};

/* Our processes have one thread each, so one buffer serves every channel of a process. */
static _Alignas(WIRE_PAGE) uint8_t wire[(IPC_MESSAGE_MAX + WIRE_PAGE - 1) / WIRE_PAGE * WIRE_PAGE];

int channel_pair(int ret_fds[2])
{
	const int bytes = 1 << 20; /* the kernel cuts it to net.core.wmem_max */
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
		return -errno;
	for (int i = 0; i < 2; i++) /* a smaller buffer works too, only sooner full */
		(void)setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	memcpy(ret_fds, fds, sizeof(fds));
	return 0;
}

int channel_send(const struct channel *channel, uint32_t type, const void *message, const int *fds,
		 int flags)
{
	const struct ipc_message *row = ipc_message(type);
	union control control;
	struct iovec part = { .iov_base = wire };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };
	size_t fd_count;

	if (!row || row->sender != channel->self || row->receiver != channel->peer ||
	    row->phase != channel->phase)
		return -EPROTO;
	if (ipc_encode(type, message, wire, IPC_MESSAGE_MAX, &part.iov_len) != IPC_OK)
		return -EPROTO;
	fd_count = strlen(row->fds);
	if (fd_count > 0) {
		memset(&control, 0, sizeof(control));
		header.msg_control = control.room;
		header.msg_controllen = (socklen_t)CMSG_SPACE(sizeof(int) * fd_count);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = (socklen_t)CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(&control.header), fds, sizeof(int) * fd_count);
	}
	STAGE_HOOK(SEND, type);
	while (sendmsg(channel->fd, &header, flags | MSG_NOSIGNAL) < 0) {
		if (errno == ECONNRESET) /* a peer ended before it read our messages: told once */
			return -EPIPE;
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

/* Move every received descriptor into `fds`; more than there is room for are closed and counted. */
static uint32_t collect_fds(struct msghdr *header, int fds[IPC_FDS_MAX])
{
	uint32_t count = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		const size_t here = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < here; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
			if (count < IPC_FDS_MAX)
				fds[count] = fd;
			else
				fd_close(&fd);
			count++;
		}
	}
	return count;
}

static enum ipc_error check_fds(const struct ipc_message *row, const int *fds, uint32_t count)
{
	if (count != strlen(row->fds))
		return IPC_ERROR_FDS;
	for (uint32_t i = 0; i < count; i++) {
		if (!fd_is_kind(fds[i], row->fds[i]))
			return IPC_ERROR_FDS;
	}
	return IPC_OK;
}

/* The kernel cut the descriptors although the control buffer had room for more: it is this
 * process, or the machine, that has none. */
static bool is_out_of_room(const struct channel_message *message, int header_flags)
{
	return (header_flags & (MSG_TRUNC | MSG_CTRUNC)) == MSG_CTRUNC &&
	       message->fd_count < CONTROL_FDS;
}

static enum ipc_error check_row(const struct channel *channel, struct channel_message *message,
				size_t size, int header_flags)
{
	const bool is_cut = is_out_of_room(message, header_flags);
	const struct ipc_message *row;
	enum ipc_error error;

	if (!is_cut && (header_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return IPC_ERROR_TRUNCATED;
	error = ipc_decode(wire, size, message->body, sizeof(message->body), &message->type);
	if (error)
		return error;
	row = ipc_message(message->type);
	if (row->receiver != channel->self || row->sender != channel->peer)
		return IPC_ERROR_DIRECTION;
	if (row->phase != channel->phase)
		return IPC_ERROR_PHASE;
	if (is_cut)
		return message->fd_count < strlen(row->fds) ? IPC_OK : IPC_ERROR_TRUNCATED;
	return check_fds(row, message->fds, message->fd_count);
}

int channel_receive(const struct channel *channel, struct channel_message *ret, int flags,
		    enum ipc_error *ret_error)
{
	union control control;
	struct iovec part = { .iov_base = wire, .iov_len = IPC_MESSAGE_MAX };
	struct msghdr header = { .msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.room,
				 .msg_controllen = sizeof(control.room) };
	ssize_t size;
	enum ipc_error error;

	ret->type = IPC_TYPE_NONE;
	/* ECONNRESET, once: the peer ended with messages of ours unread. What it said comes after.
	 */
	do {
		size = recvmsg(channel->fd, &header, flags | MSG_CMSG_CLOEXEC);
	} while (size < 0 && (errno == EINTR || errno == ECONNRESET));
	if (size < 0)
		return -errno;
	memset(ret->fds, -1, sizeof(ret->fds));
	ret->fd_count = collect_fds(&header, ret->fds);
	/* An empty packet looks like end of file; no message of ours is empty. */
	if (size == 0 && ret->fd_count == 0)
		return 0;
	error = size == 0 ? IPC_ERROR_SHORT
			  : check_row(channel, ret, (size_t)size, header.msg_flags);
	if (!error && !is_out_of_room(ret, header.msg_flags)) {
		STAGE_HOOK(RECEIVED, ret->type);
		return 1;
	}
	channel_message_done(ret);
	if (!error)
		return -EMFILE;
	*ret_error = error;
	return -EPROTO;
}

int channel_take_fd(struct channel_message *message, unsigned int index)
{
	return fd_take(&message->fds[index]);
}

void channel_rest(void)
{
	(void)madvise(wire, sizeof(wire), MADV_DONTNEED); /* it can go on as it is */
}

void channel_message_done(struct channel_message *message)
{
	fd_close_all(message->fds, IPC_FDS_MAX);
	message->fd_count = 0;
}
