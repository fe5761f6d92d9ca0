/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that are allowed for some arguments only. A filter sees the six argument registers and
 * nothing behind a pointer. Values that the kernel reads as int or shorter are compared in those
 * bits alone: the rest of the register is the caller's to fill.
 *
 * Numbers are written out where the C library's headers may lack the name; the header beside them
 * is the kernel's.
 */
#include "policy/seccomp_groups.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* clang-format off: read as tables */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define IS(index, bits, expected)                                                                  \
	{                                                                                          \
		(index), FILTER_EQUAL, (bits), (expected)                                          \
	}
#define NOT(index, bits, expected)                                                                 \
	{                                                                                          \
		(index), FILTER_DIFFERS, (bits), (expected)                                        \
	}
#define INT_IS(index, expected) IS(index, FILTER_INT, expected)
#define INT_NOT(index, expected) NOT(index, FILTER_INT, expected)
#define ANY_OF(index, bits) NOT(index, bits, 0)
#define ALLOW_WHEN(...)                                                                            \
	{                                                                                          \
		FILTER_ALLOW,                                                                      \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define REFUSE_WHEN(...)                                                                           \
	{                                                                                          \
		FILTER_EPERM,                                                                      \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

/* linux/sched.h; CLONE_NEWTIME lies in what clone() takes for the exit signal: no signal has it. */
#define CLONE_NEW_ANY                                                                              \
	(0x00020000U | 0x02000000U | 0x04000000U | 0x08000000U | 0x10000000U | 0x20000000U |       \
	 0x40000000U | 0x00000080U)
#define MODE_SETID (S_ISUID | S_ISGID)
#define OPEN_CREATES (O_CREAT | 020000000) /* __O_TMPFILE, asm-generic/fcntl.h */

static const struct filter_clause clone_clauses[] = {
	REFUSE_WHEN(ANY_OF(0, CLONE_NEW_ANY)),
};

static const struct filter_clause open_clauses[] = {
	REFUSE_WHEN(ANY_OF(1, OPEN_CREATES), ANY_OF(2, MODE_SETID)),
};

static const struct filter_clause openat_clauses[] = {
	REFUSE_WHEN(ANY_OF(2, OPEN_CREATES), ANY_OF(3, MODE_SETID)),
};

/* The init of a sandbox is PID 1 and has the workload's uid: its limits are not the workload's. */
static const struct filter_clause not_init_clauses[] = {
	REFUSE_WHEN(INT_IS(0, 1)),
};

static const struct filter_clause mmap_clauses[] = {
	REFUSE_WHEN(ANY_OF(3, 0x40000)), /* MAP_HUGETLB, asm-generic/mman-common.h */
};

static const struct filter_clause memfd_create_clauses[] = {
	REFUSE_WHEN(ANY_OF(1, 1U << 2)), /* MFD_HUGETLB, linux/memfd.h */
};

static const struct filter_clause mode_1_clauses[] = {
	REFUSE_WHEN(ANY_OF(1, MODE_SETID)),
};

static const struct filter_clause mode_2_clauses[] = {
	REFUSE_WHEN(ANY_OF(2, MODE_SETID)),
};

/* umode_t: 16 bits. Type 0 means a regular file. */
static const struct filter_clause mknod_clauses[] = {
	REFUSE_WHEN(ANY_OF(1, MODE_SETID)),
	REFUSE_WHEN(IS(1, S_IFMT, S_IFCHR)),
	REFUSE_WHEN(IS(1, S_IFMT, S_IFBLK)),
};

static const struct filter_clause mknodat_clauses[] = {
	REFUSE_WHEN(ANY_OF(2, MODE_SETID)),
	REFUSE_WHEN(IS(2, S_IFMT, S_IFCHR)),
	REFUSE_WHEN(IS(2, S_IFMT, S_IFBLK)),
};

static const struct filter_clause renameat2_clauses[] = {
	REFUSE_WHEN(ANY_OF(4, 1U << 2)), /* RENAME_WHITEOUT, linux/fs.h */
};

/* asm-generic/ioctls.h */
static const struct filter_clause ioctl_clauses[] = {
	REFUSE_WHEN(INT_IS(1, 0x5412)), /* TIOCSTI */
	REFUSE_WHEN(INT_IS(1, 0x541c)), /* TIOCLINUX */
	REFUSE_WHEN(INT_IS(1, 0x541d)), /* TIOCCONS */
	REFUSE_WHEN(INT_IS(1, 0x5423)), /* TIOCSETD */
};

/* linux/personality.h: 0xffffffff asks, 0 is the ordinary one, 0x40000 ADDR_NO_RANDOMIZE. */
static const struct filter_clause personality_clauses[] = {
	ALLOW_WHEN(INT_IS(0, 0xffffffffU)),
	ALLOW_WHEN(INT_IS(0, 0)),
	ALLOW_WHEN(INT_IS(0, 0x40000)),
};

/* linux/prctl.h */
static const struct filter_clause prctl_clauses[] = {
	REFUSE_WHEN(INT_IS(0, 35)), /* PR_SET_MM */
	REFUSE_WHEN(INT_IS(0, 62)), /* PR_SCHED_CORE */
};

static const struct filter_clause seccomp_clauses[] = {
	REFUSE_WHEN(ANY_OF(1, 1U << 3)), /* SECCOMP_FILTER_FLAG_NEW_LISTENER, linux/seccomp.h */
};

#define TYPE_BITS 0xfU /* SOCK_TYPE_MASK, linux/net.h */

/* SOCK_STREAM is 1, SOCK_SEQPACKET 5. Datagrams, which SOCK_RAW means here too, are refused: a
 * sender that waits for room at a datagram socket has passed the kernel's check of descriptors in
 * flight and is not counted yet, so that many senders exceed the limit together
 * (unix_dgram_sendmsg(), net/unix/af_unix.c). */
#define UNIX_CONNECTED ALLOW_WHEN(INT_IS(0, AF_UNIX), IS(1, TYPE_BITS & ~4U, SOCK_STREAM))

static const struct filter_clause socket_clauses[] = {
	UNIX_CONNECTED,
	ALLOW_WHEN(INT_IS(0, AF_NETLINK), INT_IS(2, 0)), /* NETLINK_ROUTE: getifaddrs(3) */
	REFUSE_WHEN(INT_NOT(0, AF_INET), INT_NOT(0, AF_INET6)),
	REFUSE_WHEN(NOT(1, TYPE_BITS, SOCK_STREAM), NOT(1, TYPE_BITS, SOCK_DGRAM)),
	ALLOW_WHEN(INT_IS(2, 0)),
	ALLOW_WHEN(INT_IS(2, 6)),  /* IPPROTO_TCP, linux/in.h */
	ALLOW_WHEN(INT_IS(2, 17)), /* IPPROTO_UDP */
};

static const struct filter_clause socketpair_clauses[] = {
	UNIX_CONNECTED,
};

#define FAST_OPEN 0x20000000U /* MSG_FASTOPEN, linux/socket.h */

static const struct filter_clause flags_2_clauses[] = {
	REFUSE_WHEN(ANY_OF(2, FAST_OPEN)),
};

static const struct filter_clause flags_3_clauses[] = {
	REFUSE_WHEN(ANY_OF(3, FAST_OPEN)),
};

/* linux/tcp.h */
static const struct filter_clause setsockopt_clauses[] = {
	ALLOW_WHEN(INT_NOT(1, 6)),  /* not IPPROTO_TCP */
	REFUSE_WHEN(INT_IS(2, 23)), /* TCP_FASTOPEN */
	REFUSE_WHEN(INT_IS(2, 30)), /* TCP_FASTOPEN_CONNECT */
	REFUSE_WHEN(INT_IS(2, 31)), /* TCP_ULP */
};

#define CONDITION(name, clauses, otherwise, reason)                                                \
	{                                                                                          \
		name, reason, clauses, COUNT(clauses), FILTER_##otherwise                          \
	}

static const char setid_reason[] = "no set-user-ID or set-group-ID files: they could leave";
static const char node_reason[] = "no devices, whiteouts or set-ID files";
static const char fast_open_reason[] = "no TCP Fast Open: it connects past Landlock";

static const char huge_reason[] = "no huge pages: they are the machine's, beyond the memory limit";
static const char not_init_reason[] = "not of PID 1, which is the sandbox's init";

static const struct seccomp_condition conditions[] = {
	CONDITION("clone", clone_clauses, ALLOW, "no new namespaces"),
	CONDITION("prlimit64", not_init_clauses, ALLOW, not_init_reason),
	CONDITION("sched_setaffinity", not_init_clauses, ALLOW, not_init_reason),
	CONDITION("mmap", mmap_clauses, ALLOW, huge_reason),
	CONDITION("memfd_create", memfd_create_clauses, ALLOW, huge_reason),
	CONDITION("open", open_clauses, ALLOW, setid_reason),
	CONDITION("openat", openat_clauses, ALLOW, setid_reason),
	CONDITION("creat", mode_1_clauses, ALLOW, setid_reason),
	CONDITION("chmod", mode_1_clauses, ALLOW, setid_reason),
	CONDITION("fchmod", mode_1_clauses, ALLOW, setid_reason),
	CONDITION("fchmodat", mode_2_clauses, ALLOW, setid_reason),
	CONDITION("mknod", mknod_clauses, ALLOW, node_reason),
	CONDITION("mknodat", mknodat_clauses, ALLOW, node_reason),
	CONDITION("renameat2", renameat2_clauses, ALLOW, "no whiteouts"),
	CONDITION("ioctl", ioctl_clauses, ALLOW,
		  "no input pushed into a terminal, no console taken, no line discipline loaded"),
	CONDITION("personality", personality_clauses, EPERM,
		  "ask, ordinary, or without address randomisation; nothing else"),
	CONDITION("prctl", prctl_clauses, ALLOW,
		  "no moving of the memory map, no claim on whole processor cores"),
	CONDITION("seccomp", seccomp_clauses, ALLOW, "no listeners: a filter cannot be a servant"),
	CONDITION("socket", socket_clauses, EPERM,
		  "unix without datagrams, IPv4 and IPv6 with TCP or UDP, NETLINK_ROUTE; no MPTCP, "
		  "SCTP, raw"),
	CONDITION("socketpair", socketpair_clauses, EPERM, "unix only, without datagrams"),
	CONDITION("sendto", flags_3_clauses, ALLOW, fast_open_reason),
	CONDITION("sendmsg", flags_2_clauses, ALLOW, fast_open_reason),
	CONDITION("sendmmsg", flags_3_clauses, ALLOW, fast_open_reason),
	CONDITION("setsockopt", setsockopt_clauses, ALLOW,
		  "no TCP Fast Open and no TCP upper-layer modules"),
};

/* clang-format on */

const struct seccomp_condition *seccomp_condition_find(const char *name)
{
	for (size_t i = 0; i < COUNT(conditions); i++) {
		if (strcmp(conditions[i].name, name) == 0)
			return &conditions[i];
	}
	return NULL;
}
