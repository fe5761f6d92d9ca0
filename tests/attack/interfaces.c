/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of the kernel that no ordinary program needs, used as far as a call can be useful.
 */
#include "probe.h"

#include <asm/ldt.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <sys/fanotify.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif
#define RING_ENTRIES 2
#define OP_SOCKET 45 /* IORING_OP_SOCKET; Linux 5.19 */

/* --- io_uring ----------------------------------------------------------------------------------
 */

struct ring {
	int fd;
	struct io_uring_params is;
	uint8_t *queues; /* both lie in one mapping: IORING_FEAT_SINGLE_MMAP */
	struct io_uring_sqe *entries;
};

static int act_io_uring_setup(char **arguments)
{
	struct io_uring_params parameters = { 0 };

	(void)arguments;
	return outcome(syscall(SYS_io_uring_setup, RING_ENTRIES, &parameters));
}

/* These two reach the kernel as EBADF. */
static int act_io_uring_enter(char **arguments)
{
	(void)arguments;
	return outcome(syscall(SYS_io_uring_enter, -1, 1, 0, 0, NULL, 0));
}

static int act_io_uring_register(char **arguments)
{
	(void)arguments;
	return outcome(syscall(SYS_io_uring_register, -1, 0, NULL, 0));
}

static int open_ring(struct ring *ret)
{
	const size_t room = 65536;

	*ret = (struct ring){ .fd = -1 };
	ret->fd = (int)syscall(SYS_io_uring_setup, RING_ENTRIES, &ret->is);
	if (ret->fd < 0)
		return errno;
	ret->queues =
		mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, ret->fd, IORING_OFF_SQ_RING);
	ret->entries = mmap(NULL, RING_ENTRIES * sizeof(*ret->entries), PROT_READ | PROT_WRITE,
			    MAP_SHARED, ret->fd, IORING_OFF_SQES);
	if (ret->queues == MAP_FAILED || ret->entries == MAP_FAILED)
		return UNPREPARED;
	return SUCCEEDED;
}

/* DOMAIN TYPE PROTOCOL: a socket that no filter of socket(2) sees. */
static int act_io_uring_socket(char **arguments)
{
	struct ring ring;
	const struct io_uring_cqe *done;
	int result = open_ring(&ring);

	if (result != SUCCEEDED)
		return result;
	ring.entries[0] = (struct io_uring_sqe){
		.opcode = OP_SOCKET,
		.fd = (int)number_of(arguments),
		.off = (uint64_t)number_of(arguments + 1),
		.len = (uint32_t)number_of(arguments + 2),
	};
	*(uint32_t *)(void *)(ring.queues + ring.is.sq_off.array) = 0;
	__atomic_store_n((uint32_t *)(void *)(ring.queues + ring.is.sq_off.tail), 1,
			 __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring.fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		return errno;
	done = (const struct io_uring_cqe *)(void *)(ring.queues + ring.is.cq_off.cqes);
	return done->res < 0 ? -done->res : SUCCEEDED;
}

/* --- others ------------------------------------------------------------------------------------
 */

static int act_aio(char **arguments)
{
	aio_context_t context = 0;

	(void)arguments;
	return outcome(syscall(SYS_io_setup, 1, &context));
}

static int act_ldt(char **arguments)
{
	struct user_desc entry = { .entry_number = 0, .limit = 0xfff, .seg_32bit = 1 };

	(void)arguments;
	return outcome(syscall(SYS_modify_ldt, 1, &entry, sizeof(entry)));
}

static int act_vmsplice(char **arguments)
{
	static char byte = 'x';
	const struct iovec part = { &byte, 1 };
	int fds[2];

	(void)arguments;
	return pipe(fds) != 0 ? UNPREPARED : outcome(vmsplice(fds[1], &part, 1, 0));
}

static int act_secret_memory(char **arguments)
{
	(void)arguments;
	return outcome(syscall(SYS_memfd_secret, 0));
}

static int act_fanotify(char **arguments)
{
	(void)arguments; /* what an ordinary user may ask for */
	return outcome(syscall(SYS_fanotify_init, FAN_CLASS_NOTIF | FAN_REPORT_FID, O_RDONLY));
}

static int act_remap(char **arguments)
{
	(void)arguments; /* reaches the kernel as EINVAL */
	return outcome(syscall(SYS_remap_file_pages, 0, 0, 0, 0, 0));
}

static const struct act list[] = {
	{ "io-uring-setup", act_io_uring_setup },
	{ "io-uring-enter", act_io_uring_enter },
	{ "io-uring-register", act_io_uring_register },
	{ "io-uring-socket", act_io_uring_socket },
	{ "aio", act_aio },
	{ "ldt", act_ldt },
	{ "vmsplice", act_vmsplice },
	{ "secret-memory", act_secret_memory },
	{ "fanotify", act_fanotify },
	{ "remap", act_remap },
};

const struct acts interface_acts = ACTS(list);
