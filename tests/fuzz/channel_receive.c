/* SPDX-License-Identifier: Apache-2.0
 *
 * A packet with descriptors as any of our processes may receive it. The first byte says who
 * receives from whom, the second in which phase, the third how many descriptors come along, and one
 * byte for each what kind it is; the rest is the message. Built with small limits.
 *
 * Properties: what is handed on is a row of the table for these two in this phase, with as many
 * descriptors as it says and each of its kind; what is not handed on leaves no descriptor open.
 */
#include "common/ipc/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fd.h"
#include "property.h"
#include "support.h"

/* One more than a receiver makes room for. */
#define SENT_MAX (IPC_FDS_MAX + 2)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One descriptor of each kind, made once; a terminal is not to be had everywhere. */
static int fd_of(uint8_t byte)
{
	static int fds[FUZZ_KINDS];
	const size_t index = byte % FUZZ_KINDS;

	if (fds[index] == 0)
		fds[index] = fd_of_kind(fuzz_kinds[index]);
	return fds[index];
}

static void send_packet(int fd, struct input *input)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int) * SENT_MAX)];
	} control = { .room = { 0 } };
	const size_t count = input_byte(input) % (SENT_MAX + 1);
	int fds[SENT_MAX];
	struct iovec part;
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	for (size_t i = 0; i < count; i++)
		fds[i] = fd_of(input_byte(input));
	if (count > 0) {
		header.msg_control = control.room;
		header.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(&control.header), fds, sizeof(int) * count);
	}
	part = (struct iovec){ .iov_base = (void *)(uintptr_t)input->bytes,
			       .iov_len = input->size };
	must(sendmsg(fd, &header, MSG_DONTWAIT) == (ssize_t)input->size);
}

static void check(const struct channel *channel, const struct channel_message *message)
{
	const struct ipc_message *row = ipc_message(message->type);

	must(row && row->sender == channel->peer && row->receiver == channel->self &&
	     row->phase == channel->phase && strlen(row->fds) == message->fd_count);
	for (uint32_t i = 0; i < message->fd_count; i++)
		must(fcntl(message->fds[i], F_GETFD) == FD_CLOEXEC);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct channel_message message;
	static int ends[2] = { -1, -1 };
	struct input input = { data, size };
	struct channel channel;
	enum ipc_error error = IPC_OK;
	int free_fd, result;
	const uint8_t roles = input_byte(&input);

	if (ends[0] < 0) {
		must(channel_pair(ends) == 0);
		for (uint8_t i = 0; i < FUZZ_KINDS; i++)
			(void)fd_of(i);
	}
	channel = (struct channel){ ends[0], (enum ipc_role)(roles % 5 + 1),
				    (enum ipc_role)(roles / 5 % 5 + 1),
				    input_byte(&input) % 2 ? IPC_SERVE : IPC_SETUP };
	free_fd = property_free_fd();
	send_packet(ends[1], &input);
	result = channel_receive(&channel, &message, MSG_DONTWAIT, &error);
	must((result == 1) == (error == IPC_OK && result != 0) && result != -EAGAIN);
	if (result == 1) {
		check(&channel, &message);
		channel_message_done(&message);
	}
	must(property_free_fd() == free_fd);
	return 0;
}
