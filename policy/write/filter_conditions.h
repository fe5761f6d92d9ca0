/* SPDX-License-Identifier: Apache-2.0
 *
 * The conditions of a process's own system call list, and the constants that lists use. The
 * generator of filters (filtergen.c) and the tests of the lists read lists with this file.
 */
#ifndef POLICY_WRITE_FILTER_CONDITIONS_H
#define POLICY_WRITE_FILTER_CONDITIONS_H

#include <fcntl.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/ipc/bridge_fd.h"
#include "policy/write/filter.h"

/* (argument & bits) == expected; `bits` is 64 bits wide. */
#define FILTER_CONDITION(argument_index, bits, expected)                                           \
	{                                                                                          \
		.argument = (argument_index), .mask = (uint64_t)(bits),                            \
		.value = (uint64_t)(expected)                                                      \
	}

/* For arguments that the kernel reads as 32 bits: it drops the others, and so does the filter. */
#define IS(argument_index, expected)                                                               \
	FILTER_CONDITION(argument_index, FILTER_INT, (uint32_t)(expected))
#define HAS(argument_index, bits)                                                                  \
	FILTER_CONDITION(argument_index, (uint32_t)(bits), (uint32_t)(bits))
#define HAS_NOT(argument_index, bits) FILTER_CONDITION(argument_index, (uint32_t)(bits), 0)

/* No bit but these. */
#define WITHIN(argument_index, bits)                                                               \
	FILTER_CONDITION(argument_index, (uint32_t) ~(uint32_t)(bits), 0)

/* For arguments that the kernel reads as 64 bits, such as pointers. */
#define IS_NULL(argument_index) FILTER_CONDITION(argument_index, FILTER_LONG, 0)
#define IS_LONG(argument_index, expected) FILTER_CONDITION(argument_index, FILTER_LONG, expected)

/* A socket of this type, whatever its flags. */
#define TYPE(argument_index, type)                                                                 \
	FILTER_CONDITION(argument_index, (uint32_t) ~(SOCK_NONBLOCK | SOCK_CLOEXEC), type)

/* An open file that is only read. Landlock does not govern O_PATH, with which any directory that
 * the user may search can be opened and handed on. */
#define READS(argument_index)                                                                      \
	WITHIN(argument_index, O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_DIRECTORY | LARGE_FILE)
#define LARGE_FILE 0100000 /* musl adds it; O_LARGEFILE is 0 here with glibc */

/* An open file that Landlock governs: for reading or both, or for reading or writing. It is no
 * O_PATH, and it has not the access mode 3, with which a file is opened for neither. */
#define NO_PATH(argument_index) HAS_NOT(argument_index, O_PATH | O_WRONLY)
#define NO_PATH_WRITES(argument_index) HAS_NOT(argument_index, O_PATH | O_RDWR)

/* Conditions of the calls of several lists. An address would lead elsewhere than to the peer, and
 * MSG_FASTOPEN connects a socket anew, without connect(2) and what judges that. A name in the
 * message of sendmsg(2) is in memory: a connected stream and a SOCK_SEQPACKET socket ignore it. */
#define TO_PEER WITHIN(3, MSG_NOSIGNAL | MSG_DONTWAIT), IS_NULL(4)
#define MESSAGE WITHIN(2, MSG_NOSIGNAL | MSG_DONTWAIT)
#define FROM_PEER WITHIN(3, MSG_DONTWAIT | MSG_PEEK), IS_NULL(4)
#define RECEIVED WITHIN(2, MSG_CMSG_CLOEXEC | MSG_DONTWAIT)
#define OPTION(level, name) IS(1, level), IS(2, name)

/* Files that fcntl(2) has no other command for: Linux's own numbers. */
#define FCNTL_ADD_SEALS 1033
#define FCNTL_GET_SEALS 1034

#endif
