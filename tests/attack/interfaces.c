/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of the kernel that no ordinary program needs, used as far as a call can be useful.
 */
#include "probe.h"

#include <asm/ldt.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
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

/* --- requests of calls that are allowed otherwise -------------------------------------------- */

static int new_file(void)
{
	char name[] = "/tmp/probe-XXXXXX";
	const int fd = mkstemp(name);

	if (fd >= 0)
		(void)unlink(name);
	return fd;
}

static int act_prctl(char **arguments)
{
	const long option = number_of(arguments);
	const long first = arguments[1] ? number_of(arguments + 1) : 0;
	const long second = arguments[1] && arguments[2] ? number_of(arguments + 2) : 0;

	return outcome(prctl((int)option, first, second, 0, 0));
}

static int act_fcntl(char **arguments)
{
	const int command = (int)number_of(arguments);
	const int fd = command == F_NOTIFY ? open("/tmp", O_RDONLY) : new_file();

	return fd < 0 ? UNPREPARED : outcome(fcntl(fd, command, (long)number_of(arguments + 1)));
}

/* A request to a file system, with room for what the largest reads and writes. */
static int act_file_request(char **arguments)
{
	static char room[8192];
	const int fd = new_file();

	return fd < 0 ? UNPREPARED : outcome(ioctl(fd, (unsigned long)number_of(arguments), room));
}

static int act_merge_pages(char **arguments)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)arguments;
	return page == MAP_FAILED ? UNPREPARED : outcome(madvise(page, 4096, MADV_MERGEABLE));
}

static int act_packet_filter(char **arguments)
{
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, 0xffff);
	const struct sock_fprog filter = { 1, &all };
	const int option = (int)number_of(arguments);
	const int fd = socket(AF_INET, SOCK_DGRAM, 0);

	return fd < 0 ? UNPREPARED
		      : outcome(setsockopt(fd, SOL_SOCKET, option, &filter, sizeof(filter)));
}

static int act_udp_tunnel(char **arguments)
{
	const int kind = 2; /* UDP_ENCAP_ESPINUDP, linux/udp.h */
	const int fd = socket(AF_INET, SOCK_DGRAM, 0);

	(void)arguments;
	return fd < 0 ? UNPREPARED : outcome(setsockopt(fd, IPPROTO_UDP, 100, &kind, sizeof(kind)));
}

/* The kernel leaves the priority as it is, where it lets it be set. */
static int act_renice(char **arguments)
{
	const int now = getpriority(PRIO_PROCESS, 1);

	(void)arguments;
	return outcome(setpriority(PRIO_PROCESS, 1, now));
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
	{ "prctl", act_prctl },
	{ "fcntl", act_fcntl },
	{ "file-request", act_file_request },
	{ "merge-pages", act_merge_pages },
	{ "packet-filter", act_packet_filter },
	{ "udp-tunnel", act_udp_tunnel },
	{ "renice", act_renice },
};

const struct acts interface_acts = ACTS(list);
