/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that are allowed for some arguments only. A filter sees the six argument registers and
 * nothing behind a pointer. Values that the kernel reads as int or shorter are compared in those
 * bits alone: the rest of the register can hold any value.
 *
 * Constants are numbers where the C library's headers may lack the name; the header beside them
 * is the kernel's.
 */
#include "policy/write/seccomp_rules.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* clang-format off: read as tables */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define COMPARE(index, relation, bits, expected)                                                   \
	{                                                                                          \
		(index), FILTER_##relation, (bits), (expected)                                     \
	}
#define IS(index, bits, expected) COMPARE(index, EQUAL, bits, expected)
#define NOT(index, bits, expected) COMPARE(index, DIFFERS, bits, expected)
#define INT_IS(index, expected) IS(index, FILTER_INT, expected)
#define INT_NOT(index, expected) NOT(index, FILTER_INT, expected)
#define ANY_OF(index, bits) NOT(index, bits, 0)

#define CLAUSE(action, ...)                                                                        \
	{                                                                                          \
		FILTER_##action,                                                                   \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define ALLOW_WHEN(...) CLAUSE(ALLOW, __VA_ARGS__)
#define REFUSE_WHEN(...) CLAUSE(EPERM, __VA_ARGS__)
#define PRETEND_WHEN(...) CLAUSE(PRETEND, __VA_ARGS__)
#define UNSUPPORTED_WHEN(...) CLAUSE(UNSUPPORTED, __VA_ARGS__)

/* linux/sched.h; CLONE_NEWTIME is in the bits of clone()'s exit signal: no signal has that bit. */
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

static const struct filter_clause creat_clauses[] = {
	REFUSE_WHEN(ANY_OF(1, MODE_SETID)),
};

/* The first clause of both holds only if ownership is pretended. */
static const struct filter_clause mode_1_clauses[] = {
	PRETEND_WHEN(ANY_OF(1, MODE_SETID)),
	REFUSE_WHEN(ANY_OF(1, MODE_SETID)),
};

static const struct filter_clause mode_2_clauses[] = {
	PRETEND_WHEN(ANY_OF(2, MODE_SETID)),
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

/* A request names its subsystem in bits 8 to 15 (asm-generic/ioctl.h). */
#define REQUEST_TYPE 0xff00U

/* asm-generic/ioctls.h, linux/fs.h, linux/sockios.h. Requests to a device that a profile shows
 * pass. For file systems and sockets, only the requests of ordinary programs pass. */
static const struct filter_clause ioctl_clauses[] = {
	REFUSE_WHEN(INT_IS(1, 0x5412)),           /* TIOCSTI */
	REFUSE_WHEN(INT_IS(1, 0x541c)),           /* TIOCLINUX */
	REFUSE_WHEN(INT_IS(1, 0x541d)),           /* TIOCCONS */
	REFUSE_WHEN(INT_IS(1, 0x5423)),           /* TIOCSETD */
	ALLOW_WHEN(INT_IS(1, 0x80086601U)),       /* FS_IOC_GETFLAGS: lsattr */
	ALLOW_WHEN(INT_IS(1, 0xc020660bU)),       /* FS_IOC_FIEMAP: filefrag */
	ALLOW_WHEN(INT_IS(1, 0x801c581fU)),       /* FS_IOC_FSGETXATTR: lsattr -p */
	ALLOW_WHEN(INT_IS(1, 0x40049409)),        /* FICLONE: cp */
	ALLOW_WHEN(INT_IS(1, 0x4020940d)),        /* FICLONERANGE */
	REFUSE_WHEN(IS(1, REQUEST_TYPE, 0x6600)), /* flags, encryption, verity, ext4's own */
	REFUSE_WHEN(IS(1, REQUEST_TYPE, 0x5800)), /* project ids, freezing, XFS's own */
	REFUSE_WHEN(IS(1, REQUEST_TYPE, 0x9400)), /* FIDEDUPERANGE, Btrfs's own */
	REFUSE_WHEN(IS(1, REQUEST_TYPE, 0xf500)), /* F2FS's own */
	REFUSE_WHEN(IS(1, 0xff80U, 0x8980)),      /* VLAN, bridge, bond, a driver's own */
	REFUSE_WHEN(IS(1, 0xfffffffeU, 0x8940)),  /* SIOCGIFBR, SIOCSIFBR: load a module */
};

#define FCNTL_BITS(bits) (0xffffffffU & ~(bits))

/* linux/fcntl.h: leases, delegations and notices let a process delay or watch others that open the
 * file, the host included. Commands of future kernels are refused: no program needs them. */
static const struct filter_clause fcntl_clauses[] = {
	REFUSE_WHEN(IS(1, FCNTL_BITS(3U), 0x400)), /* F_SETLEASE, F_GETLEASE, F_NOTIFY */
	REFUSE_WHEN(INT_IS(1, 0x40f)),             /* F_GETDELEG; F_SETDELEG is 0x410 */
	ALLOW_WHEN(IS(1, FCNTL_BITS(0x40fU), 0)),  /* POSIX's, and Linux's up to 0x40e */
	ALLOW_WHEN(INT_IS(1, 16)),                 /* F_GETOWN_EX */
	ALLOW_WHEN(IS(1, FCNTL_BITS(3U), 36)),     /* locks of open files */
};

/* linux/mman.h */
static const struct filter_clause madvise_clauses[] = {
	REFUSE_WHEN(INT_IS(2, 12)), /* MADV_MERGEABLE */
};

/* linux/ipc.h, linux/shm.h */
static const struct filter_clause shmget_clauses[] = {
	REFUSE_WHEN(ANY_OF(2, 04000)), /* SHM_HUGETLB */
};

/* linux/resource.h, linux/ioprio.h: PID 1, the init, is one of the user's processes. */
static const struct filter_clause setpriority_clauses[] = {
	REFUSE_WHEN(INT_IS(0, 2)), /* PRIO_USER */
	REFUSE_WHEN(INT_IS(1, 1)),
};

/* The default (class 0, or class 2 with level 4) and below it: class 2 with a higher number, and
 * class
 * 3. The highest classes and levels are ahead of the host's other programs. */
static const struct filter_clause ioprio_set_clauses[] = {
	REFUSE_WHEN(INT_NOT(2, 0), NOT(2, 0xfffffffcU, 2U << 13 | 4),
		    NOT(2, 0xfffffff8U, 3U << 13)),
	REFUSE_WHEN(INT_IS(0, 3)), /* IOPRIO_WHO_USER */
	REFUSE_WHEN(INT_IS(1, 1)),
};

#define SCHED_BITS 0xbfffffffU /* without SCHED_RESET_ON_FORK, linux/sched.h */

/* SCHED_OTHER, SCHED_BATCH, SCHED_IDLE. RLIMIT_RTPRIO keeps sched_setattr(2) from real-time
 * classes, which it has in memory. */
static const struct filter_clause sched_setscheduler_clauses[] = {
	REFUSE_WHEN(NOT(1, SCHED_BITS, 0), NOT(1, SCHED_BITS, 3), NOT(1, SCHED_BITS, 5)),
	REFUSE_WHEN(INT_IS(0, 1)),
};

/* More than RLIMIT_MEMLOCK, or all: the kernel would say that there is no memory. */
static const struct filter_clause mlock_clauses[] = {
	REFUSE_WHEN(ANY_OF(1, 0xffff0000U)),
};

static const struct filter_clause mlockall_clauses[] = {
	REFUSE_WHEN(ANY_OF(0, 7U)), /* MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT */
};

/* Without it the kernel would say EINVAL, since 0 is in no map (enum plan_user). */
static const struct filter_clause one_id_clauses[] = {
	REFUSE_WHEN(INT_IS(0, 0)),
};

static const struct filter_clause two_ids_clauses[] = {
	REFUSE_WHEN(INT_IS(0, 0)),
	REFUSE_WHEN(INT_IS(1, 0)),
};

/* linux/personality.h: 0xffffffff queries, 0 is the ordinary one, 0x40000 ADDR_NO_RANDOMIZE. */
static const struct filter_clause personality_clauses[] = {
	ALLOW_WHEN(INT_IS(0, 0xffffffffU)),
	ALLOW_WHEN(INT_IS(0, 0)),
	ALLOW_WHEN(INT_IS(0, 0x40000)),
};

#define PRCTL_BITS(bits) (0xffffffffU & ~(bits))

/* linux/prctl.h: the options that x86_64 programs are known to use. The others are refused, such as
 * PR_SET_MM, PR_SCHED_CORE, PR_SET_MEMORY_MERGE, PR_SET_IO_FLUSHER and options of newer kernels. */
static const struct filter_clause prctl_clauses[] = {
	PRETEND_WHEN(INT_IS(1, 0), INT_IS(0, 8)), /* PR_SET_KEEPCAPS is locked at 0 */
	ALLOW_WHEN(IS(0, PRCTL_BITS(31U), 0)),    /* 1 to 31: names, signals, filters, bounds */
	ALLOW_WHEN(IS(0, PRCTL_BITS(3U), 36)),    /* PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS */
	ALLOW_WHEN(IS(0, PRCTL_BITS(7U), 40)),    /* PR_SET_THP_DISABLE, PR_CAP_AMBIENT */
	ALLOW_WHEN(INT_IS(0, 52)),                /* PR_GET_SPECULATION_CTRL */
	ALLOW_WHEN(INT_IS(0, 53), IS(2, 1U << 1, 0)), /* PR_SET_SPECULATION_CTRL, not _ENABLE */
	ALLOW_WHEN(INT_IS(0, 65)),                    /* PR_SET_MDWE */
	ALLOW_WHEN(INT_IS(0, 66)),                    /* PR_GET_MDWE */
	ALLOW_WHEN(INT_IS(0, 0x53564d41)),            /* PR_SET_VMA */
	ALLOW_WHEN(INT_IS(0, 0x59616d61)),            /* PR_SET_PTRACER */
	ALLOW_WHEN(INT_IS(0, 0x41555856)),            /* PR_GET_AUXV */
};

static const struct filter_clause seccomp_clauses[] = {
	REFUSE_WHEN(ANY_OF(1, 1U << 3)), /* SECCOMP_FILTER_FLAG_NEW_LISTENER, linux/seccomp.h */
};

#define TYPE_BITS 0xfU /* SOCK_TYPE_MASK, linux/net.h */

/* SOCK_STREAM is 1, SOCK_SEQPACKET 5. Datagrams (SOCK_RAW is one too for AF_UNIX) are refused: a
 * sender that waits for room at a datagram socket has passed the kernel's check of descriptors in
 * flight and is not counted yet, so that many senders exceed the limit together
 * (unix_dgram_sendmsg(), net/unix/af_unix.c). */
#define UNIX_CONNECTED ALLOW_WHEN(INT_IS(0, AF_UNIX), IS(1, TYPE_BITS & ~4U, SOCK_STREAM))

/* The first clause holds only if ownership is pretended (linux/netlink.h: NETLINK_AUDIT). */
static const struct filter_clause socket_clauses[] = {
	UNSUPPORTED_WHEN(INT_IS(0, AF_NETLINK), INT_IS(2, 9)),
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

/* asm-generic/socket.h, linux/tcp.h, linux/udp.h. One list for three levels: an option that it
 * names for one level is missing or read-only in the other two. */
static const struct filter_clause setsockopt_clauses[] = {
	ALLOW_WHEN(INT_NOT(1, 1), INT_NOT(1, 6), INT_NOT(1, 17)), /* SOL_SOCKET, TCP, UDP */
	REFUSE_WHEN(INT_IS(2, 23)),                               /* TCP_FASTOPEN */
	REFUSE_WHEN(INT_IS(2, 30)),                               /* TCP_FASTOPEN_CONNECT */
	REFUSE_WHEN(INT_IS(2, 31)),                               /* TCP_ULP */
	REFUSE_WHEN(INT_IS(2, 26)),                               /* SO_ATTACH_FILTER */
	REFUSE_WHEN(INT_IS(2, 50)),                               /* SO_ATTACH_BPF */
	REFUSE_WHEN(INT_IS(2, 51)),                               /* SO_ATTACH_REUSEPORT_CBPF */
	REFUSE_WHEN(INT_IS(2, 52)),                               /* SO_ATTACH_REUSEPORT_EBPF */
	REFUSE_WHEN(INT_IS(2, 100)),                              /* UDP_ENCAP */
};

#define CONDITION_PRETENDED(name, clauses, count, pretended, otherwise, reason)                    \
	{                                                                                          \
		name, reason, clauses, COUNT(clauses), count, pretended, FILTER_##otherwise        \
	}
#define CONDITION(name, clauses, otherwise, reason)                                                \
	CONDITION_PRETENDED(name, clauses, 0, NULL, otherwise, reason)

static const char no_setid[] = "0, and nothing is done, for a mode with set-ID bits";
static const char setid_reason[] = "no set-user-ID or set-group-ID files: they could leave";
static const char mode_reason[] = "no set-user-ID or set-group-ID files: they could leave; of a "
				  "directory, the init sets the set-group-ID bit";
static const char node_reason[] = "no devices, whiteouts or set-ID files";
static const char fast_open_reason[] = "no TCP Fast Open: it connects past Landlock";

static const char huge_reason[] = "no huge pages: they are the machine's, beyond the memory limit";
static const char lock_reason[] = "less than 64 KiB at once";
static const char root_reason[] = "not 0: a workload has no root rights";
static const char not_init_reason[] = "not of PID 1, which is the sandbox's init";

static const struct seccomp_condition conditions[] = {
	CONDITION("clone", clone_clauses, ALLOW, "no new namespaces"),
	CONDITION("prlimit64", not_init_clauses, ALLOW, not_init_reason),
	CONDITION("sched_setaffinity", not_init_clauses, ALLOW, not_init_reason),
	CONDITION("mmap", mmap_clauses, ALLOW, huge_reason),
	CONDITION("memfd_create", memfd_create_clauses, ALLOW, huge_reason),
	CONDITION("open", open_clauses, ALLOW, setid_reason),
	CONDITION("openat", openat_clauses, ALLOW, setid_reason),
	CONDITION("creat", creat_clauses, ALLOW, setid_reason),
	CONDITION_PRETENDED("chmod", mode_1_clauses, 1, no_setid, ALLOW, mode_reason),
	CONDITION_PRETENDED("fchmod", mode_1_clauses, 1, no_setid, ALLOW, mode_reason),
	CONDITION_PRETENDED("fchmodat", mode_2_clauses, 1, no_setid, ALLOW, mode_reason),
	CONDITION("mknod", mknod_clauses, ALLOW, node_reason),
	CONDITION("mknodat", mknodat_clauses, ALLOW, node_reason),
	CONDITION("renameat2", renameat2_clauses, ALLOW, "no whiteouts"),
	CONDITION("shmget", shmget_clauses, ALLOW, huge_reason),
	CONDITION("madvise", madvise_clauses, ALLOW,
		  "no merging of equal pages: it tells what other sandboxes hold"),
	CONDITION("fcntl", fcntl_clauses, EPERM,
		  "no leases, delegations and notices: they hold up whoever opens the file"),
	CONDITION("setpriority", setpriority_clauses, ALLOW, not_init_reason),
	CONDITION("sched_setscheduler", sched_setscheduler_clauses, ALLOW,
		  "SCHED_OTHER, SCHED_BATCH and SCHED_IDLE, and not of PID 1, which is the "
		  "sandbox's init"),
	CONDITION("sched_setparam", not_init_clauses, ALLOW, not_init_reason),
	CONDITION("sched_setattr", not_init_clauses, ALLOW, not_init_reason),
	CONDITION("ioprio_set", ioprio_set_clauses, ALLOW,
		  "no priority above the ordinary one, and not of PID 1, which is the sandbox's "
		  "init"),
	CONDITION("mlock", mlock_clauses, ALLOW, lock_reason),
	CONDITION("mlock2", mlock_clauses, ALLOW, lock_reason),
	CONDITION("mlockall", mlockall_clauses, ALLOW, lock_reason),
	CONDITION("setuid", one_id_clauses, ALLOW, root_reason),
	CONDITION("setgid", one_id_clauses, ALLOW, root_reason),
	CONDITION("setreuid", two_ids_clauses, ALLOW, root_reason),
	CONDITION("setregid", two_ids_clauses, ALLOW, root_reason),
	CONDITION("ioctl", ioctl_clauses, ALLOW,
		  "no input pushed into a terminal, no console taken, no module loaded, "
		  "no flags, keys or volumes of a file system"),
	CONDITION("personality", personality_clauses, EPERM,
		  "ask, ordinary, or without address randomisation; nothing else"),
	CONDITION("prctl", prctl_clauses, EPERM,
		  "what programs are known to need: no moving of the memory map, no claim on whole "
		  "processor cores, no merging of equal pages, no weaker speculation"),
	CONDITION("seccomp", seccomp_clauses, ALLOW, "no listeners: a filter cannot be a servant"),
	CONDITION_PRETENDED(
		"socket", socket_clauses, 1, "NETLINK_AUDIT is unknown", EPERM,
		"unix without datagrams, IPv4 and IPv6 with TCP or UDP, NETLINK_ROUTE; no "
		"MPTCP, SCTP, raw"),
	CONDITION("socketpair", socketpair_clauses, EPERM, "unix only, without datagrams"),
	CONDITION("sendto", flags_3_clauses, ALLOW, fast_open_reason),
	CONDITION("sendmsg", flags_2_clauses, ALLOW, fast_open_reason),
	CONDITION("sendmmsg", flags_3_clauses, ALLOW, fast_open_reason),
	CONDITION(
		"setsockopt", setsockopt_clauses, ALLOW,
		"no TCP Fast Open, no TCP upper-layer modules, no packet filters, no UDP tunnels"),
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
