/* SPDX-License-Identifier: Apache-2.0
 *
 * The filters of the built-in profiles as they stand in the plan, against the oracle, a list of
 * calls with arguments, and the kernel.
 */
#include "common/confine/seccomp.h"
#include "oracle.h"
#include "support.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define HIGH 0xdeadbeef00000000ULL

static struct builtin builtin;

static void open_plan(void)
{
	builtin = builtin_open();
}

static void close_plan(void)
{
	builtin_close(&builtin);
}

TestSuite(builtin, .init = open_plan, .fini = close_plan);

static uint32_t answer_of(size_t profile, uint32_t number, const uint64_t arguments[6])
{
	return builtin_answer(&builtin.plan, oracle_profiles[profile].name, number, arguments);
}

static void check_number(size_t profile, uint32_t number, const uint64_t arguments[6])
{
	const uint32_t answer = answer_of(profile, number, arguments);
	const uint32_t expected =
		oracle_answer_number(&oracle_profiles[profile], number, arguments);

	cr_assert_eq(answer, expected, "%s: %u(%#lx, %#lx, %#lx, %#lx): %#x, expected %#x",
		     oracle_profiles[profile].name, number, arguments[0], arguments[1],
		     arguments[2], arguments[3], answer, expected);
}

Test(builtin, there_is_no_profile_that_the_oracle_does_not_know)
{
	cr_expect_eq(plan_profile_count(&builtin.plan), oracle_profile_count);
	for (size_t i = 0; i < oracle_profile_count; i++)
		cr_expect_geq(plan_profile_find(&builtin.plan, oracle_profiles[i].name), 0);
}

Test(builtin, every_number_has_the_answer_of_its_group)
{
	static const uint32_t far[] = {
		1000, 0xffff, 0x10000, 0x3fffffff, 0x80000000U, 0xbfffffffU
	};
	static const uint64_t fills[] = {
		0, 1, HIGH, HIGH | 1, 0xffffffffULL, 0xffffffffffffffffULL, 0x5555555555555555ULL
	};

	for (size_t i = 0; i < oracle_profile_count; i++) {
		for (size_t j = 0; j < COUNT(fills); j++) {
			const uint64_t all[6] = { fills[j], fills[j], fills[j],
						  fills[j], fills[j], fills[j] };

			for (uint32_t number = 0; number <= 600; number++)
				check_number(i, number, all);
			for (size_t k = 0; k < COUNT(far); k++)
				cr_expect_eq(answer_of(i, far[k], all), FILTER_ENOSYS, "%#x",
					     far[k]);
		}
	}
}

static uint32_t random_state = 20261121;

/* The same sequence in every run. */
static uint32_t next_random(void)
{
	random_state = random_state * 1664525U + 1013904223U;
	return random_state >> 8;
}

/* Numbers such as the conditions are about: small ones, modes and flags, the four that terminals
 * are not asked; with and without an upper half. */
static uint64_t next_argument(void)
{
	static const uint64_t highs[] = { 0, 0, 1ULL << 32, 1ULL << 63, HIGH };
	static const uint32_t known[] = { 0x5412, 0x541c, 0x541d, 0x5423, 0x40000, 0xffffffffU };
	uint64_t low;

	switch (next_random() % 8) {
	case 0:
		low = next_random() % 40;
		break;
	case 1:
		low = 1U << next_random() % 32;
		break;
	case 2:
		low = 1U << next_random() % 32 | 1U << next_random() % 32;
		break;
	case 3:
		low = next_random() % 0x20000;
		break;
	case 4:
		low = known[next_random() % COUNT(known)];
		break;
	case 5:
		low = next_random() << 16 ^ next_random();
		break;
	default: /* families and types of sockets */
		low = next_random() % 8;
	}
	return low | highs[next_random() % COUNT(highs)];
}

/* How often a call is allowed, and how often not, over many arguments. */
static void try_call(size_t profile, uint32_t number, uint32_t counts[2])
{
	for (uint32_t i = 0; i < 4000; i++) {
		uint64_t arguments[6];

		for (int j = 0; j < 6; j++)
			arguments[j] = next_argument();
		check_number(profile, number, arguments);
		counts[answer_of(profile, number, arguments) == FILTER_ALLOW]++;
	}
}

Test(builtin, arguments_decide_as_the_oracle_says, .timeout = 100)
{
	for (uint32_t number = 0; number <= 600; number++) {
		char *call = seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, (int)number);
		uint32_t counts[2] = { 0 };
		bool is_in_a_profile = false;

		if (call != NULL && oracle_is_conditional(call)) {
			for (size_t i = 0; i < oracle_profile_count; i++) {
				is_in_a_profile |= oracle_has_group_of(&oracle_profiles[i], call);
				try_call(i, number, counts);
			}
			cr_expect(counts[0] > 50 && (counts[1] > 50 || !is_in_a_profile),
				  "%s: %u to %u", call, counts[0], counts[1]);
		}
		free(call);
	}
}

static void check_killed(const struct plan_profile *profile, uint32_t number, uint32_t arch)
{
	const struct seccomp_data data = { .nr = (int)number, .arch = arch };

	cr_expect_eq(bpf_run(plan_filter(&builtin.plan, profile), profile->filter_count, &data),
		     FILTER_KILL, "%#x of %#x", number, arch);
}

Test(builtin, i386_and_x32_are_killed)
{
	for (uint32_t i = 0; i < plan_profile_count(&builtin.plan); i++) {
		const struct plan_profile *profile = plan_profile(&builtin.plan, i);

		for (uint32_t number = 0; number <= 600; number++) {
			check_killed(profile, number, AUDIT_ARCH_I386);
			check_killed(profile, number, AUDIT_ARCH_AARCH64);
			check_killed(profile, number, 0);
			check_killed(profile, number | 0x40000000U, AUDIT_ARCH_X86_64);
		}
		check_killed(profile, 0xffffffffU, AUDIT_ARCH_X86_64);
		check_killed(profile, 0x7fffffffU, AUDIT_ARCH_X86_64);
	}
}

struct call_case {
	const char *call;
	uint64_t arguments[6];
	uint32_t answer;
};

#define OK FILTER_ALLOW
#define NO FILTER_EPERM

/* clang-format off */
static const struct call_case cases[] = {
	/* fork, a thread of glibc, vfork; then each kind of namespace. */
	{ "clone", { 17 }, OK },
	{ "clone", { 0x3d0f00 }, OK },
	{ "clone", { 0x4111 }, OK },
	{ "clone", { 0x00020011 }, NO }, { "clone", { 0x02000011 }, NO },
	{ "clone", { 0x04000011 }, NO }, { "clone", { 0x08000011 }, NO },
	{ "clone", { 0x10000011 }, NO }, { "clone", { 0x20000011 }, NO },
	{ "clone", { 0x40000011 }, NO }, { "clone", { 0x00000091 }, NO },
	{ "clone", { 0x7e020000 }, NO },
	{ "prlimit64", { 0, 7 }, OK }, { "prlimit64", { 2, 7 }, OK }, { "prlimit64", { 1, 7 }, NO },
	{ "sched_setaffinity", { 0 }, OK }, { "sched_setaffinity", { 1 }, NO },
	/* MAP_PRIVATE|MAP_ANONYMOUS, with MAP_HUGETLB and its sizes; MFD_CLOEXEC, MFD_HUGETLB */
	{ "mmap", { 0, 4096, 7, 0x22 }, OK }, { "mmap", { 0, 4096, 3, 0x40022 }, NO },
	{ "mmap", { 0, 4096, 3, 0x54040022 }, NO },
	{ "memfd_create", { 0, 1 }, OK }, { "memfd_create", { 0, 5 }, NO },
	/* O_RDONLY with a stray mode, O_CREAT, O_TMPFILE */
	{ "open", { 0, 0, 06777 }, OK },
	{ "open", { 0, 0102, 0755 }, OK }, { "open", { 0, 0102, 01777 }, OK },
	{ "open", { 0, 0102, 04755 }, NO }, { "open", { 0, 0101, 02755 }, NO },
	{ "open", { 0, 020200002, 04700 }, NO },
	{ "openat", { 0, 0, 0, 06777 }, OK },
	{ "openat", { 0, 0, 0102, 0644 }, OK },
	{ "openat", { 0, 0, 0102, 04755 }, NO }, { "openat", { 0, 0, 0100, 02000 }, NO },
	{ "openat", { 0, 0, 020200001, 06000 }, NO },
	{ "creat", { 0, 0644 }, OK }, { "creat", { 0, 04644 }, NO }, { "creat", { 0, 02644 }, NO },
	{ "chmod", { 0, 01777 }, OK }, { "chmod", { 0, 04755 }, NO }, { "chmod", { 0, 02755 }, NO },
	{ "fchmod", { 0, 0755 }, OK }, { "fchmod", { 0, 06755 }, NO },
	{ "fchmodat", { 0, 0, 0755 }, OK }, { "fchmodat", { 0, 0, 04000 }, NO },
	/* regular file by type 0 and by name, FIFO, socket; then devices, set-ID */
	{ "mknod", { 0, 0644 }, OK }, { "mknod", { 0, 0100644 }, OK },
	{ "mknod", { 0, 0010644 }, OK }, { "mknod", { 0, 0140644 }, OK },
	{ "mknod", { 0, 0020644 }, NO }, { "mknod", { 0, 0060644 }, NO },
	{ "mknod", { 0, 0104755 }, NO }, { "mknod", { 0, 0020000, 0 }, NO },
	{ "mknodat", { 0, 0, 0010644 }, OK }, { "mknodat", { 0, 0, 0100600 }, OK },
	{ "mknodat", { 0, 0, 0020644 }, NO }, { "mknodat", { 0, 0, 0060644 }, NO },
	{ "mknodat", { 0, 0, 0102755 }, NO },
	{ "renameat2", { 0, 0, 0, 0, 0 }, OK }, { "renameat2", { 0, 0, 0, 0, 1 }, OK },
	{ "renameat2", { 0, 0, 0, 0, 2 }, OK },
	{ "renameat2", { 0, 0, 0, 0, 4 }, NO }, { "renameat2", { 0, 0, 0, 0, 5 }, NO },
	/* TCGETS, TIOCGWINSZ, FIONBIO; TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD */
	{ "ioctl", { 0, 0x5401 }, OK }, { "ioctl", { 0, 0x5413 }, OK }, { "ioctl", { 0, 0x5421 }, OK },
	{ "ioctl", { 0, 0x5412 }, NO }, { "ioctl", { 0, 0x541c }, NO },
	{ "ioctl", { 0, 0x541d }, NO }, { "ioctl", { 0, 0x5423 }, NO },
	/* FS_IOC_GETFLAGS, FIEMAP, FSGETXATTR, FICLONE, FICLONERANGE, FIGETBSZ */
	{ "ioctl", { 0, 0x80086601 }, OK }, { "ioctl", { 0, 0xc020660b }, OK },
	{ "ioctl", { 0, 0x801c581f }, OK }, { "ioctl", { 0, 0x40049409 }, OK },
	{ "ioctl", { 0, 0x4020940d }, OK }, { "ioctl", { 0, 2 }, OK },
	/* SIOCGIFCONF, SIOCGIFINDEX; a GPU's, as a profile may show one */
	{ "ioctl", { 0, 0x8912 }, OK }, { "ioctl", { 0, 0x8933 }, OK },
	{ "ioctl", { 0, 0xc0406400 }, OK },
	/* FS_IOC_SETFLAGS, _SET_ENCRYPTION_POLICY, _ENABLE_VERITY, _FSSETXATTR, FIFREEZE */
	{ "ioctl", { 0, 0x40086602 }, NO }, { "ioctl", { 0, 0x800c6613 }, NO },
	{ "ioctl", { 0, 0x40806685 }, NO }, { "ioctl", { 0, 0x401c5820 }, NO },
	{ "ioctl", { 0, 0xc0045877 }, NO },
	/* FIDEDUPERANGE, a subvolume of Btrfs, F2FS; SIOCGIFVLAN, SIOCBRADDBR, SIOCSIFBR */
	{ "ioctl", { 0, 0xc0189436 }, NO }, { "ioctl", { 0, 0x5000940e }, NO },
	{ "ioctl", { 0, 0xf501 }, NO }, { "ioctl", { 0, 0x8982 }, NO },
	{ "ioctl", { 0, 0x89a0 }, NO }, { "ioctl", { 0, 0x8941 }, NO },
	/* F_DUPFD, F_SETLKW, F_SETOWN_EX, F_GETOWN_EX, F_OFD_SETLK, F_DUPFD_CLOEXEC, F_GET_SEALS */
	{ "fcntl", { 0, 0 }, OK }, { "fcntl", { 0, 7 }, OK }, { "fcntl", { 0, 15 }, OK },
	{ "fcntl", { 0, 16 }, OK }, { "fcntl", { 0, 37 }, OK }, { "fcntl", { 0, 1030 }, OK },
	{ "fcntl", { 0, 1034 }, OK }, { "fcntl", { 0, 1038 }, OK },
	/* F_SETLEASE, F_GETLEASE, F_NOTIFY, F_GETDELEG, F_SETDELEG; of no kernel yet */
	{ "fcntl", { 0, 1024 }, NO }, { "fcntl", { 0, 1025 }, NO }, { "fcntl", { 0, 1026 }, NO },
	{ "fcntl", { 0, 1039 }, NO }, { "fcntl", { 0, 1040 }, NO }, { "fcntl", { 0, 17 }, NO },
	{ "fcntl", { 0, 40 }, NO }, { "fcntl", { 0, 1055 }, NO }, { "fcntl", { 0, 0x100400 }, NO },
	{ "madvise", { 0, 0, 4 }, OK }, { "madvise", { 0, 0, 14 }, OK },
	{ "madvise", { 0, 0, 12 }, NO },
	{ "setpriority", { 0, 0, 19 }, OK }, { "setpriority", { 0, 1, 19 }, NO },
	{ "setpriority", { 1, 1, 19 }, NO }, { "setpriority", { 2, 0, 19 }, NO },
	{ "personality", { 0xffffffff }, OK }, { "personality", { 0 }, OK },
	{ "personality", { 0x40000 }, OK },
	{ "personality", { 0x400000 }, NO }, { "personality", { 8 }, NO },
	{ "personality", { 0x440000 }, NO }, { "personality", { 0x20000 }, NO },
	/* PR_SET_NAME, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP; PR_SET_MM, PR_SCHED_CORE */
	{ "prctl", { 15 }, OK }, { "prctl", { 38 }, OK }, { "prctl", { 22 }, OK },
	{ "prctl", { 36 }, OK }, { "prctl", { 41 }, OK }, { "prctl", { 47 }, OK },
	{ "prctl", { 0x53564d41 }, OK }, { "prctl", { 0x59616d61 }, OK },
	{ "prctl", { 35 }, NO }, { "prctl", { 62 }, NO },
	/* PR_SPEC_DISABLE, _FORCE_DISABLE; _ENABLE of store bypass, of L1D flushing */
	{ "prctl", { 53, 0, 4 }, OK }, { "prctl", { 53, 1, 8 }, OK },
	{ "prctl", { 53, 0, 2 }, NO }, { "prctl", { 53, 2, 2 }, NO },
	/* events, machine checks, IO_FLUSHER, dispatch, MEMORY_MERGE, timers, FUTEX_HASH, later ones */
	{ "prctl", { 32 }, NO }, { "prctl", { 33 }, NO }, { "prctl", { 57 }, NO },
	{ "prctl", { 59 }, NO }, { "prctl", { 67 }, NO }, { "prctl", { 68 }, NO },
	{ "prctl", { 77 }, NO }, { "prctl", { 78 }, NO }, { "prctl", { 1000 }, NO },
	{ "seccomp", { 1, 0 }, OK }, { "seccomp", { 1, 1 }, OK }, { "seccomp", { 2, 0 }, OK },
	{ "seccomp", { 1, 8 }, NO }, { "seccomp", { 1, 9 }, NO },
	/* AF_UNIX; TCP, UDP over both; netlink route */
	{ "socket", { 1, 1, 0 }, OK }, { "socket", { 1, 0x80805, 0 }, OK },
	/* unix datagrams, by either name, and what the kernel does not know */
	{ "socket", { 1, 2, 0 }, NO }, { "socket", { 1, 0x80802, 0 }, NO },
	{ "socket", { 1, 3, 0 }, NO }, { "socket", { 1, 4, 0 }, NO }, { "socket", { 1, 7, 0 }, NO },
	{ "socketpair", { 1, 0x80002, 0 }, NO }, { "socketpair", { 1, 3, 0 }, NO },
	{ "socketpair", { 1, 0x80001, 0 }, OK },
	{ "socket", { 2, 1, 0 }, OK }, { "socket", { 2, 0x80801, 6 }, OK },
	{ "socket", { 2, 2, 17 }, OK }, { "socket", { 10, 1, 6 }, OK }, { "socket", { 10, 2, 0 }, OK },
	{ "socket", { 16, 3, 0 }, OK }, { "socket", { 16, 0x80002, 0 }, OK },
	/* other netlinks, MPTCP, SCTP, raw, ICMP, packet through AF_INET, other families */
	{ "socket", { 16, 3, 9 }, NO }, { "socket", { 16, 3, 12 }, NO },
	{ "socket", { 2, 1, 262 }, NO }, { "socket", { 10, 1, 262 }, NO },
	{ "socket", { 2, 5, 0 }, NO }, { "socket", { 2, 1, 132 }, NO }, { "socket", { 2, 6, 33 }, NO },
	{ "socket", { 2, 3, 1 }, NO }, { "socket", { 2, 2, 1 }, NO }, { "socket", { 10, 2, 58 }, NO },
	{ "socket", { 2, 10, 0 }, NO }, { "socket", { 2, 3, 255 }, NO }, { "socket", { 2, 2, 136 }, NO },
	{ "socket", { 0, 1, 0 }, NO }, { "socket", { 17, 3, 0 }, NO }, { "socket", { 38, 5, 0 }, NO },
	{ "socket", { 40, 1, 0 }, NO }, { "socket", { 31, 1, 0 }, NO }, { "socket", { 29, 3, 1 }, NO },
	{ "socket", { 15, 3, 2 }, NO }, { "socket", { 44, 3, 0 }, NO }, { "socket", { 21, 5, 0 }, NO },
	{ "socketpair", { 1, 1, 0 }, OK }, { "socketpair", { 1, 5, 0 }, OK },
	{ "socketpair", { 2, 1, 0 }, NO }, { "socketpair", { 30, 1, 0 }, NO },
	/* MSG_NOSIGNAL, MSG_FASTOPEN */
	{ "sendto", { 0, 0, 0, 0x4000 }, OK }, { "sendto", { 0, 0, 0, 0x20000000 }, NO },
	{ "sendto", { 0, 0, 0, 0x20004000 }, NO },
	{ "sendmsg", { 0, 0, 0x4000 }, OK }, { "sendmsg", { 0, 0, 0x20000000 }, NO },
	{ "sendmmsg", { 0, 0, 1, 0 }, OK }, { "sendmmsg", { 0, 0, 1, 0x20000000 }, NO },
	/* SO_REUSEADDR, TCP_NODELAY, IP option 23; TCP_FASTOPEN, _CONNECT, TCP_ULP */
	{ "setsockopt", { 0, 1, 2 }, OK }, { "setsockopt", { 0, 6, 1 }, OK },
	{ "setsockopt", { 0, 0, 23 }, OK }, { "setsockopt", { 0, 41, 30 }, OK },
	{ "setsockopt", { 0, 6, 23 }, NO }, { "setsockopt", { 0, 6, 30 }, NO },
	{ "setsockopt", { 0, 6, 31 }, NO },
	/* the same numbers of other levels; SO_ATTACH_FILTER, _BPF, _REUSEPORT_CBPF, _EBPF, UDP_ENCAP */
	{ "setsockopt", { 0, 41, 26 }, OK }, { "setsockopt", { 0, 0, 50 }, OK },
	{ "setsockopt", { 0, 1, 27 }, OK }, { "setsockopt", { 0, 17, 1 }, OK },
	{ "setsockopt", { 0, 1, 26 }, NO }, { "setsockopt", { 0, 1, 50 }, NO },
	{ "setsockopt", { 0, 1, 51 }, NO }, { "setsockopt", { 0, 1, 52 }, NO },
	{ "setsockopt", { 0, 17, 100 }, NO },
	/* Refused and hidden whatever the arguments are. */
	{ "unshare", { 0 }, NO }, { "setns", { 0 }, NO }, { "pidfd_getfd", { 0 }, NO },
	{ "ptrace", { 0 }, OK }, { "process_vm_readv", { 0 }, OK }, { "kcmp", { 0 }, OK },
	{ "mount", { 0 }, NO }, { "bpf", { 0 }, NO }, { "io_uring_setup", { 0 }, NO },
	{ "keyctl", { 0 }, NO }, { "userfaultfd", { 0 }, NO }, { "perf_event_open", { 0 }, NO },
	{ "clone3", { 0 }, FILTER_ENOSYS }, { "openat2", { 0 }, FILTER_ENOSYS },
};
/* clang-format on */

/* In a profile with the groups of `default` the case's own answer; elsewhere the group may be what
 * is refused. */
static uint32_t expected_of(const struct call_case *one, const struct oracle_profile *profile)
{
	if (one->answer == NO)
		return oracle_refused(profile);
	if (one->answer == OK && !oracle_has_group_of(profile, one->call))
		return oracle_refused(profile);
	return one->answer;
}

static void check_case(const struct call_case *one, uint64_t high)
{
	const int number = seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, one->call);
	uint64_t arguments[6];

	for (int i = 0; i < 6; i++)
		arguments[i] = one->arguments[i] | high;
	for (size_t i = 0; i < oracle_profile_count; i++)
		cr_expect_eq(answer_of(i, (uint32_t)number, arguments),
			     expected_of(one, &oracle_profiles[i]),
			     "%s: %s(%#lx, %#lx, %#lx, %#lx)", oracle_profiles[i].name, one->call,
			     arguments[0], arguments[1], arguments[2], arguments[3]);
}

Test(builtin, arguments_decide)
{
	for (size_t i = 0; i < COUNT(cases); i++)
		check_case(&cases[i], 0);
}

/* Every argument in the conditions is an int or shorter: the kernel ignores the rest of it. */
Test(builtin, upper_halves_of_arguments_change_nothing)
{
	for (size_t i = 0; i < COUNT(cases); i++) {
		check_case(&cases[i], HIGH);
		check_case(&cases[i], 1ULL << 32);
		check_case(&cases[i], 1ULL << 63);
	}
}

static int expect_error(long result, int expected)
{
	return result == -1 && errno == expected ? 0 : 1;
}

/* A filter that asks before it refuses has nobody to ask here, and the kernel refuses by itself. */
static int refused(const struct plan_profile *profile)
{
	const char *name = plan_string(&builtin.plan, profile->name);

	for (size_t i = 0; i < oracle_profile_count; i++) {
		if (strcmp(oracle_profiles[i].name, name) == 0)
			return oracle_refused(&oracle_profiles[i]) == FILTER_EPERM ? EPERM : ENOSYS;
	}
	return -1;
}

static int act_confined(const struct plan_profile *profile)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    seccomp_install(plan_filter(&builtin.plan, profile), profile->filter_count) != 0)
		return 1;
	if (expect_error(syscall(SYS_ioctl, 0, 0x5412UL | HIGH, 0), refused(profile)) != 0)
		return 2;
	if (expect_error(syscall(SYS_unshare, 0x10000000), refused(profile)) != 0)
		return 3;
	if (expect_error(syscall(SYS_clone3, NULL, 0), ENOSYS) != 0)
		return 4;
	if (expect_error(syscall(500), ENOSYS) != 0 || syscall(SYS_getpid) <= 0)
		return 5;
	(void)syscall(0x40000000L | SYS_getpid); /* does not come back */
	return 6;
}

Test(builtin, the_kernel_takes_the_filters)
{
	for (uint32_t i = 0; i < plan_profile_count(&builtin.plan); i++) {
		const pid_t child = fork();
		int status = 0;

		if (child == 0)
			_exit(act_confined(plan_profile(&builtin.plan, i)));
		cr_assert_eq(waitpid(child, &status, 0), child);
		cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "profile %u: %#x", i,
			  (unsigned int)status);
	}
}

Test(builtin, who_can_send_is_observed_but_for_helpers)
{
	static const uint64_t zeros[6];

	for (uint32_t i = 0; i < plan_profile_count(&builtin.plan); i++) {
		const struct plan_profile *profile = plan_profile(&builtin.plan, i);

		const char *name = plan_string(&builtin.plan, profile->name);
		const bool can_send = builtin_answer(&builtin.plan, name, SYS_sendmsg, zeros) ==
				      SECCOMP_RET_ALLOW;

		cr_expect_eq(profile->observes,
			     can_send && !plan_is_internal(&builtin.plan, profile), "%s", name);
	}
}

/* Of who is not told so, the filter is installed later. */
Test(builtin, a_workload_that_waits_has_what_it_needs)
{
	static const uint64_t zeros[6];
	static const char *const calls[] = {
		"recvmsg",  "fcntl",           "fstat",       "close", "dup2",
		"dup3",     "setpgid",         "prlimit64",   "mkdir", "open",
		"sendfile", "chdir",           "close_range", "umask", "rt_sigprocmask",
		"execve",   "timerfd_settime",
	};
	bool can_default = false;

	for (uint32_t i = 0; i < plan_profile_count(&builtin.plan); i++) {
		const struct plan_profile *profile = plan_profile(&builtin.plan, i);
		const char *name = plan_string(&builtin.plan, profile->name);
		bool can = true;

		for (size_t j = 0; j < COUNT(calls); j++)
			can = can && builtin_answer(&builtin.plan, name,
						    (uint32_t)seccomp_number(calls[j]),
						    zeros) == SECCOMP_RET_ALLOW;
		cr_expect_eq(profile->filters_standby, can, "%s", name);
		can_default |= can && strcmp(name, "default") == 0;
	}
	cr_expect(can_default);
}

/* Between the filter and the exec nobody answers. */
Test(builtin, what_starts_an_observed_workload_is_allowed)
{
	static const uint64_t zeros[6];
	static const char *const calls[] = { "sendmsg", "execve", "exit_group", "write" };

	for (uint32_t i = 0; i < plan_profile_count(&builtin.plan); i++) {
		const struct plan_profile *profile = plan_profile(&builtin.plan, i);

		for (size_t j = 0; profile->observes && j < COUNT(calls); j++)
			cr_expect_eq(builtin_answer(&builtin.plan,
						    plan_string(&builtin.plan, profile->name),
						    (uint32_t)seccomp_number(calls[j]), zeros),
				     SECCOMP_RET_ALLOW, "%s", calls[j]);
	}
}
