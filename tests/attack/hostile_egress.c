/* SPDX-License-Identifier: Apache-2.0
 *
 * A msp-egress that somebody has taken over, for tests/integration/gateway_broken.py: as soon as a
 * message of one type has come, it says what stands behind the end of its own file: the type, then
 * the size and the bytes of each message, and at last the size of all that.
 */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHANNEL 3 /* GATEWAY_FD_CHANNEL */

static uint8_t words[1 << 20];

/* Read the words. Return their size, or 0. */
static size_t read_words(void)
{
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t size = 0;
	struct stat is;

	if (fd < 0 || fstat(fd, &is) != 0 ||
	    pread(fd, &size, sizeof(size), is.st_size - (off_t)sizeof(size)) != sizeof(size) ||
	    size > sizeof(words) ||
	    pread(fd, words, size, is.st_size - (off_t)(sizeof(size) + size)) != (ssize_t)size)
		return 0;
	return size;
}

/* Return the type of the next message, or -1 at the end. */
static int64_t next_type(void)
{
	static uint8_t message[1 << 16];
	uint32_t type;

	if (recv(CHANNEL, message, sizeof(message), 0) < (ssize_t)sizeof(type))
		return -1;
	memcpy(&type, message, sizeof(type));
	return type;
}

int main(void)
{
	const size_t all = read_words();
	uint32_t type, size;
	int64_t come;

	memcpy(&type, words, sizeof(type));
	do
		come = next_type();
	while (come >= 0 && come != type);
	for (size_t at = sizeof(type); at + sizeof(size) <= all; at += size) {
		memcpy(&size, words + at, sizeof(size));
		at += sizeof(size);
		if (size > all - at || send(CHANNEL, words + at, size, 0) < 0)
			return 1;
	}
	while (come >= 0)
		come = next_type();
	return 0;
}
