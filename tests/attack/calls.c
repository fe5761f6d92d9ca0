/* SPDX-License-Identifier: Apache-2.0
 *
 * System calls that a workload shall not have.
 */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

/* The last call that Linux 6.1 has: later ones are in no list of ours. */
#define LAST_KNOWN_CALL 450
#define CALLS_END 65536

/* --- namespaces and mounts -------------------------------------------------------------------- */

static int act_unshare(char **arguments)
{
	return outcome(unshare((int)number_of(arguments)));
}

/* clone(2) by number: the C library's own wrapper may choose clone3. */
static int clone_child(unsigned long flags)
{
	const long pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return errno;
	(void)waitpid((pid_t)pid, NULL, 0);
	return SUCCEEDED;
}

static int act_clone(char **arguments)
{
	return clone_child((unsigned long)number_of(arguments));
}

static int act_clone3(char **arguments)
{
	uint64_t args[11] = { (uint64_t)number_of(arguments), 0, 0, 0, SIGCHLD };
	const long pid = syscall(SYS_clone3, args, sizeof(args));

	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return errno;
	(void)waitpid((pid_t)pid, NULL, 0);
	return SUCCEEDED;
}

static int act_setns(char **arguments)
{
	const int fd = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);

	(void)arguments;
	return fd < 0 ? UNPREPARED : outcome(setns(fd, 0));
}

/* With the capabilities of a user namespace of its own, where that can be had. */
static int act_mount(char **arguments)
{
	if (arguments[0] && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		return errno;
	return outcome(mount("none", "/tmp", "tmpfs", 0, NULL));
}

static int act_fsopen(char **arguments)
{
	if (arguments[0] && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		return errno;
	return outcome(syscall(SYS_fsopen, "tmpfs", 0));
}

static int act_open_tree(char **arguments)
{
	(void)arguments;
	return outcome(syscall(SYS_open_tree, AT_FDCWD, "/", 0));
}

/* PATH: make it writable. With another argument it is given a mount of its own first. */
static int act_remount(char **arguments)
{
	if (arguments[1] && mount("none", arguments[0], "tmpfs", MS_RDONLY, NULL) != 0)
		return UNPREPARED;
	return outcome(mount(NULL, arguments[0], NULL, MS_REMOUNT | MS_BIND, NULL));
}

static int act_umount(char **arguments)
{
	return outcome(umount2(arguments[0], MNT_DETACH));
}

static int act_chroot(char **arguments)
{
	if (arguments[0] && unshare(CLONE_NEWUSER) != 0)
		return errno;
	return outcome(chroot("/tmp"));
}

static int act_sethostname(char **arguments)
{
	if (arguments[0] && unshare(CLONE_NEWUSER | CLONE_NEWUTS) != 0)
		return errno;
	return outcome(sethostname("other", 5));
}

/* --- kernel interfaces -------------------------------------------------------------------------
 */

static int act_bpf(char **arguments)
{
	(void)arguments; /* reaches the kernel as EFAULT */
	return outcome(syscall(SYS_bpf, BPF_MAP_CREATE, (void *)1, 8));
}

static int act_perf(char **arguments)
{
	(void)arguments; /* reaches the kernel as EFAULT */
	return outcome(syscall(SYS_perf_event_open, (void *)1, 0, -1, -1, 0));
}

static int act_userfaultfd(char **arguments)
{
	(void)arguments;
	return outcome(syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
}

static int act_keyctl(char **arguments)
{
	(void)arguments; /* KEYCTL_GET_KEYRING_ID of the session keyring, made when missing */
	return outcome(syscall(SYS_keyctl, 0, -3, 1));
}

static int act_add_key(char **arguments)
{
	(void)arguments; /* into the process's own keyring */
	return outcome(syscall(SYS_add_key, "user", "probe", "x", 1, -2));
}

static int act_request_key(char **arguments)
{
	(void)arguments; /* reaches the kernel as ENOKEY */
	return outcome(syscall(SYS_request_key, "user", "no such key", NULL, 0));
}

static int act_personality(char **arguments)
{
	(void)arguments;
	return outcome(syscall(SYS_personality, READ_IMPLIES_EXEC));
}

static int act_listener(char **arguments)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { 1, &allow };

	(void)arguments;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return UNPREPARED;
	return outcome(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			       SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
}

static int act_name_to_handle(char **arguments)
{
	struct {
		struct file_handle header;
		uint8_t room[MAX_HANDLE_SZ];
	} handle = { .header = { .handle_bytes = MAX_HANDLE_SZ } };
	int mount = 0;

	(void)arguments;
	return outcome(syscall(SYS_name_to_handle_at, AT_FDCWD, "/usr", &handle, &mount, 0));
}

static int act_open_by_handle(char **arguments)
{
	(void)arguments; /* reaches the kernel as EFAULT */
	return outcome(syscall(SYS_open_by_handle_at, AT_FDCWD, (void *)1, O_RDONLY));
}

/* --- other processes ---------------------------------------------------------------------------
 */

static int act_traceme(char **arguments)
{
	(void)arguments;
	return outcome(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int act_seize(char **arguments)
{
	return outcome(ptrace(PTRACE_SEIZE, (pid_t)number_of(arguments), NULL, NULL));
}

static int act_process_vm(char **arguments)
{
	char from = 'x';
	char to = 0;
	const struct iovec local = { &to, 1 };
	const struct iovec remote = { &from, 1 };

	(void)arguments;
	return outcome(process_vm_readv(getpid(), &local, 1, &remote, 1, 0));
}

static int act_pidfd_getfd(char **arguments)
{
	const int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	(void)arguments;
	return pidfd < 0 ? UNPREPARED : outcome(syscall(SYS_pidfd_getfd, pidfd, 1, 0));
}

static int act_kcmp(char **arguments)
{
	(void)arguments;
	return outcome(syscall(SYS_kcmp, getpid(), getpid(), 1, 0, 0));
}

/* --- the terminal ------------------------------------------------------------------------------
 */

/* ioctl(2) with a request whose upper half is not zero: the kernel reads the lower half. */
static int ioctl_on_own_terminal(unsigned long request)
{
	static char byte[16] = { 'x' };
	int unlocked = 0;
	int slave;
	const int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlocked) != 0)
		return UNPREPARED;
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
	if (slave < 0 || (setsid() < 0 && errno != EPERM) || ioctl(slave, TIOCSCTTY, 0) != 0)
		return UNPREPARED;
	return outcome(syscall(SYS_ioctl, slave, request, byte));
}

static int run_terminal(char **arguments)
{
	return ioctl_on_own_terminal(strtoul(arguments[0], NULL, 0));
}

static int act_terminal(char **arguments)
{
	(void)number_of(arguments);
	return outcome_in_child(run_terminal, arguments); /* a leader has a session already */
}

/* --- numbers beyond every list ------------------------------------------------------------------
 */

/* Succeeds when the kernel itself, and not a filter, answered for any of them. */
static int act_unknown_calls(char **arguments)
{
	(void)arguments;
	for (long number = LAST_KNOWN_CALL + 1; number < CALLS_END; number++) {
		if (syscall(number, -1, -1, -1, -1, -1, -1) >= 0 || errno != ENOSYS) {
			(void)printf("call %ld: %s\n", number, strerrorname_np(errno));
			return SUCCEEDED;
		}
	}
	if (syscall(0x3fffffff, 0, 0, 0) >= 0 || errno != ENOSYS)
		return SUCCEEDED;
	return ENOSYS;
}

/* One call with arguments that can do nothing: what answers, the filter or the kernel? */
static int act_call(char **arguments)
{
	return outcome(syscall(number_of(arguments), -1, -1, -1, -1, -1, -1));
}

static const struct act list[] = {
	{ "unshare", act_unshare },
	{ "clone", act_clone },
	{ "clone3", act_clone3 },
	{ "setns", act_setns },
	{ "mount", act_mount },
	{ "fsopen", act_fsopen },
	{ "open-tree", act_open_tree },
	{ "remount", act_remount },
	{ "umount", act_umount },
	{ "chroot", act_chroot },
	{ "sethostname", act_sethostname },
	{ "bpf", act_bpf },
	{ "perf", act_perf },
	{ "userfaultfd", act_userfaultfd },
	{ "keyctl", act_keyctl },
	{ "add-key", act_add_key },
	{ "request-key", act_request_key },
	{ "personality", act_personality },
	{ "seccomp-listener", act_listener },
	{ "name-to-handle", act_name_to_handle },
	{ "open-by-handle", act_open_by_handle },
	{ "traceme", act_traceme },
	{ "seize", act_seize },
	{ "process-vm", act_process_vm },
	{ "pidfd-getfd", act_pidfd_getfd },
	{ "kcmp", act_kcmp },
	{ "terminal", act_terminal },
	{ "unknown-calls", act_unknown_calls },
	{ "call", act_call },
};

const struct acts call_acts = ACTS(list);
