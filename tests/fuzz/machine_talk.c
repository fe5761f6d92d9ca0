/* SPDX-License-Identifier: Apache-2.0
 *
 * Properties of msp-vm's port, whatever bytes a machine sends: nothing is written but the bodies of
 * its frames for stdout and stderr, in their order and only after the machine listens; the talk
 * ends with the port; an end is an exit code or a signal that ends programs; a reason is printable.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "property.h"
#include "vm/talk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int fuzz_write_all(int fd, const void *bytes, size_t size);
ssize_t fuzz_read(int fd, void *bytes, size_t size);

struct stream {
	size_t size;
	uint8_t bytes[WIRE_BODY_MAX];
};

static struct stream streams[2]; /* what stdout and stderr got */
static struct mounts mounts = { .count = 1, .list = { { .path = "/" } } };
static struct machine machine;
static struct talk talk;

/* In talk.c's place of fd_write_all(): keep what goes out. */
int fuzz_write_all(int fd, const void *bytes, size_t size)
{
	struct stream *stream = &streams[fd == STDERR_FILENO];

	if (fd == machine.port)
		return 0;
	must(fd == STDOUT_FILENO || fd == STDERR_FILENO);
	must(talk.is_ready);
	must(size <= sizeof(stream->bytes) - stream->size);
	memcpy(stream->bytes + stream->size, bytes, size);
	stream->size += size;
	return 0;
}

/* In talk.c's place of read(): stdin is at its end. */
ssize_t fuzz_read(int fd, void *bytes, size_t size)
{
	return fd == STDIN_FILENO ? 0 : read(fd, bytes, size);
}

/* Find what the streams must be: the bodies of frames until the first one that ends the talk. */
static void check_streams(const uint8_t *data, size_t size)
{
	size_t used[2] = { 0, 0 };
	struct wire_head head;

	while (size >= sizeof(head)) {
		memcpy(&head, data, sizeof(head));
		data += sizeof(head);
		size -= sizeof(head);
		if (head.size > size || (used[0] == streams[0].size && used[1] == streams[1].size))
			break;
		if (head.type == WIRE_OUTPUT || head.type == WIRE_ERRORS) {
			const int i = head.type == WIRE_ERRORS;

			must(used[i] + head.size <= streams[i].size);
			must(memcmp(streams[i].bytes + used[i], data, head.size) == 0);
			used[i] += head.size;
		}
		data += head.size;
		size -= head.size;
	}
	must(used[0] == streams[0].size && used[1] == streams[1].size);
}

static void check_end(enum talk_end end)
{
	must(end == TALK_ENDED || end == TALK_FAILED || end == TALK_GONE || end == TALK_WRONG);
	if (end == TALK_ENDED && talk.ended.signal == 0)
		must(talk.is_ready && talk.ended.code <= UINT8_MAX);
	else if (end == TALK_ENDED)
		must(talk.is_ready && talk_is_fatal(talk.ended.signal));
	for (const char *at = talk.failed.act; *at != '\0'; at++)
		must(*at >= ' ' && *at <= '~');
	must(talk.failed.act[sizeof(talk.failed.act) - 1] == '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char word[] = "true";
	static char *words[] = { word, NULL };
	int ports[2];

	if (size > WIRE_BODY_MAX || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ports) != 0)
		return 0;
	streams[0].size = streams[1].size = 0;
	machine = (struct machine){ .port = ports[0], .console = -1 };
	talk = (struct talk){
		.machine = &machine, .mounts = &mounts, .arguments = words, .boot_ms = 1000
	};
	must(write(ports[1], data, size) == (ssize_t)size);
	(void)shutdown(ports[1], SHUT_WR);
	check_end(talk_run(&talk));
	check_streams(data, size);
	(void)close(ports[0]);
	(void)close(ports[1]);
	return 0;
}
