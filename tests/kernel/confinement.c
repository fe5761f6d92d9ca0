/* SPDX-License-Identifier: Apache-2.0
 *
 * Landlock, seccomp and capabilities as child-init combines them.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/confine/landlock.h"
#include "common/confine/seccomp.h"
#include "support.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

Test(confinement, the_landlock_abi_is_asked_not_derived)
{
	const int abi = landlock_abi();

	cr_assert_gt(abi, 0, "this kernel has no Landlock: msp refuses to start");
	if (abi < 6)
		cr_skip("the default policy wants Landlock ABI 6, this kernel has %d", abi);
}

/* Enter a domain that allows nothing. */
static int enter_landlock(uint64_t scopes)
{
	const struct kernel_landlock_ruleset attr = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE,
		.scoped = scopes,
	};
	const int ruleset = landlock_create(&attr);

	return ruleset < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	       landlock_enter(ruleset) != 0;
}

static int mount_after_landlock(void)
{
	if (mount("t", "/tmp", "tmpfs", 0, NULL) != 0 || enter_landlock(0) != 0)
		return UNPREPARED;
	return mount("t", "/tmp", "tmpfs", 0, NULL) == 0 ? 0 : errno;
}

Test(confinement, landlock_ends_mounting)
{
	cr_assert_eq(exit_of(CLONE_NEWUSER | CLONE_NEWNS, mount_after_landlock), EPERM,
		     "the init mounts everything before a workload's domain");
}

static int execute_after_landlock(void)
{
	char program[] = "/bin/true";
	char *arguments[] = { program, NULL };
	char *environment[] = { NULL };

	if (enter_landlock(0) != 0)
		return UNPREPARED;
	(void)execve(program, arguments, environment);
	return errno;
}

Test(confinement, landlock_covers_exec)
{
	cr_assert_eq(exit_of(0, execute_after_landlock), EACCES,
		     "what no rule allows cannot be executed");
}

static int signal_child_outside(void)
{
	const pid_t outside = fork();

	if (outside == 0) {
		for (;;)
			pause();
	}
	if (enter_landlock(LANDLOCK_SCOPE_SIGNAL) != 0)
		return UNPREPARED;
	const int error = kill(outside, SIGTERM) == 0 ? 0 : errno;
	return error;
}

Test(confinement, landlock_scopes_signals)
{
	if (landlock_abi() < 6)
		cr_skip("scopes need Landlock ABI 6");
	cr_assert_eq(exit_of(CLONE_NEWUSER | CLONE_NEWPID, signal_child_outside), EPERM,
		     "a workload cannot signal its init");
}

static int nested_user_namespace_after_limit(void)
{
	/* What the seccomp filter does with the clone flags, the kernel's own limit could too. */
	if (unshare(CLONE_NEWUSER) != 0)
		return UNPREPARED;
	return 0;
}

Test(confinement, user_namespaces_nest_unless_filtered)
{
	cr_assert_eq(exit_of(CLONE_NEWUSER, nested_user_namespace_after_limit), 0,
		     "nothing but the filter keeps a workload from making its own");
}

/* Two filters: the one that refuses wins over the one that allows, whichever came first. */
static int stack_filters(void)
{
	const struct sock_filter refuse[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDOM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    seccomp_install(refuse, LENGTH(refuse)) != 0 ||
	    seccomp_install(allow, LENGTH(allow)) != 0)
		return UNPREPARED;
	return syscall(SYS_getppid) < 0 ? errno : 0;
}

Test(confinement, a_later_filter_cannot_allow_again)
{
	cr_assert_eq(exit_of(0, stack_filters), EDOM, "a workload's own filters only narrow");
}

/* The filter sees x32 calls under the same architecture, with bit 30 in the number. */
static int call_x32(void)
{
	const struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000U, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDOM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    seccomp_install(filter, LENGTH(filter)) != 0)
		return UNPREPARED;
	return syscall(0x40000000L | SYS_getppid) < 0 ? errno : 0;
}

Test(confinement, x32_calls_reach_the_filter_with_bit_30)
{
	cr_assert_eq(exit_of(0, call_x32), EDOM, "the filter kills numbers from 0x40000000 on");
}

static int capabilities_after_lock(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
				   SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
				   SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

	for (unsigned long i = 0; prctl(PR_CAPBSET_READ, i) >= 0; i++) {
		if (prctl(PR_CAPBSET_DROP, i) != 0)
			return UNPREPARED;
	}
	if (prctl(PR_SET_SECUREBITS, bits) != 0 || syscall(SYS_capset, &header, data) != 0)
		return UNPREPARED;
	if (prctl(PR_SET_SECUREBITS, 0) == 0 || prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN) != 0)
		return 1;
	data[0].effective = data[0].permitted = 1U << CAP_SYS_CHROOT;
	if (syscall(SYS_capset, &header, data) == 0)
		return 2;
	return mount("t", "/tmp", "tmpfs", 0, NULL) == 0 ? 3 : 0;
}

Test(confinement, dropped_capabilities_do_not_come_back)
{
	cr_assert_eq(exit_of(CLONE_NEWUSER | CLONE_NEWNS, capabilities_after_lock), 0,
		     "every set empty and the securebits locked, before the workload's exec");
}

static int read_init_memory(void)
{
	int fd;

	if (prctl(PR_SET_DUMPABLE, 0) != 0)
		return UNPREPARED;
	const pid_t pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_DUMPABLE, 1); /* as after an exec */
		struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
		struct __user_cap_data_struct none[2] = { 0 };

		if (syscall(SYS_capset, &header, none) != 0)
			_exit(UNPREPARED);
		fd = open("/proc/1/mem", O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			_exit(1);
		fd = open("/proc/1/environ", O_RDONLY | O_CLOEXEC);
		_exit(fd >= 0 ? 2 : 0);
	}
	int status;
	return waitpid(pid, &status, 0) == pid ? exit_code_of(status) : UNPREPARED;
}

static int read_init_memory_with_proc(void)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("proc", "/proc", "proc", 0, NULL) != 0)
		return UNPREPARED;
	return read_init_memory();
}

Test(confinement, an_undumpable_init_is_closed_to_its_workloads)
{
	cr_assert_eq(
		exit_of(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID, read_init_memory_with_proc), 0,
		"PR_SET_DUMPABLE 0 protects /proc/1/mem and /proc/1/environ");
}
