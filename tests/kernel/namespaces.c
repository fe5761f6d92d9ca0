/* SPDX-License-Identifier: Apache-2.0
 *
 * User, pid and network namespaces made by an ordinary user. Each assertion names the decision
 * that rests on it.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

static int has_every_capability(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	int last = 0;

	while (prctl(PR_CAPBSET_READ, last + 1) >= 0)
		last++;
	if (syscall(SYS_capget, &header, data) != 0)
		return UNPREPARED;
	for (int i = 0; i <= last; i++) {
		if (!(data[i / 32].permitted & (1U << (i % 32))))
			return 1;
	}
	return 0;
}

Test(namespaces, one_clone3_gives_all_namespaces_and_full_capabilities)
{
	cr_assert_eq(exit_of(NAMESPACES, has_every_capability), 0,
		     "the factory makes a sandbox with one clone3 and no privilege");
}

static int free_all_ports(void)
{
	const struct sockaddr_in low = { .sin_family = AF_INET, .sin_port = htons(80) };
	const int server = socket(AF_INET, SOCK_STREAM, 0);
	const struct __user_cap_data_struct none[2] = { { 0 } };
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	if (write_text("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0") != 0)
		return UNPREPARED;
	if (syscall(SYS_capset, &header, none) != 0 ||
	    bind(server, (const struct sockaddr *)&low, sizeof(low)) != 0)
		return 1;
	return write_text("/proc/sys/net/ipv4/ip_unprivileged_port_start", "1") == EACCES ? 0 : 2;
}

Test(namespaces, low_ports_are_a_setting_of_the_network_namespace)
{
	cr_assert_eq(
		exit_of(CLONE_NEWUSER | CLONE_NEWNET, free_all_ports), 0,
		"the init frees them for a workload without capabilities, which cannot set it");
}

static int write_setgroups_late(void)
{
	return write_text("/proc/self/setgroups", "allow");
}

Test(namespaces, setgroups_stays_denied)
{
	cr_assert_eq(exit_of(CLONE_NEWUSER, write_setgroups_late), EPERM,
		     "a workload cannot get setgroups back");
}

static int read_setgroups_below(void)
{
	char text[8] = "";
	int status = -1;
	const pid_t pid = clone_with(CLONE_NEWUSER, NULL);

	if (pid == 0) {
		const int fd = open("/proc/self/setgroups", O_RDONLY | O_CLOEXEC);

		_exit(read(fd, text, sizeof(text) - 1) < 0 || strcmp(text, "deny\n") != 0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid ? exit_code_of(status) : UNPREPARED;
}

Test(namespaces, setgroups_is_denied_below_where_it_is)
{
	cr_assert_eq(exit_of(CLONE_NEWUSER, read_setgroups_below), 0,
		     "the factory's denial is each sandbox's");
}

/* With room for two, and a namespace below that asks for ten: the third is refused there too. */
static int take_inotify_below(void)
{
	static const char path[] = "/proc/sys/user/max_inotify_instances";

	if (write_text(path, "2") != 0 || unshare(CLONE_NEWUSER) != 0 ||
	    write_text(path, "10") != 0)
		return UNPREPARED;
	for (int i = 0; i < 2; i++) {
		if (inotify_init1(IN_CLOEXEC) < 0)
			return UNPREPARED;
	}
	return inotify_init1(IN_CLOEXEC) < 0 ? errno : 0;
}

Test(namespaces, inotify_instances_are_bounded_for_all_below)
{
	cr_assert_eq(exit_of(CLONE_NEWUSER, take_inotify_below), EMFILE,
		     "the factory's bound is one of all sandboxes together");
}

static int raise_without_capability(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[2] = { 0 };

	if (syscall(SYS_capset, &header, none) != 0)
		return UNPREPARED;
	return write_text("/proc/sys/user/max_inotify_instances", "1000");
}

Test(namespaces, a_bound_is_raised_with_a_capability_only)
{
	cr_assert_eq(exit_of(CLONE_NEWUSER, raise_without_capability), EACCES,
		     "a workload cannot raise what its sandbox may have");
}

static int write_map_again(void)
{
	return write_text("/proc/self/uid_map", "0 0 2");
}

Test(namespaces, a_map_is_written_once)
{
	cr_assert_eq(exit_of(CLONE_NEWUSER, write_map_again), EPERM,
		     "a workload cannot map more ids than the init did");
}

static int map_a_foreign_id(void)
{
	return write_text("/proc/self/setgroups", "deny") ||
	       write_text("/proc/self/uid_map", "0 0 1") == 0;
}

Test(namespaces, only_the_own_id_can_be_mapped)
{
	int status;
	const pid_t pid = clone_with(CLONE_NEWUSER, NULL);

	if (geteuid() == 0)
		cr_skip("for root, 0 is the own id");
	if (pid == 0)
		_exit(map_a_foreign_id());
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert_eq(exit_code_of(status), 0, "an ordinary user cannot map the host's root");
}

static int mount_hidden_proc(void)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return UNPREPARED;
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  "hidepid=invisible,subset=pid") != 0 &&
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=invisible") !=
		    0)
		return errno;
	return access("/proc/1/stat", F_OK) == 0 ? 0 : 1;
}

Test(namespaces, a_fresh_proc_with_hidepid_mounts)
{
	cr_assert_eq(exit_of(NAMESPACES, mount_hidden_proc), 0,
		     "each sandbox has a /proc of its own, mounted without privilege");
}

static int make_devices(void)
{
	if (mount("t", "/tmp", "tmpfs", 0, NULL) != 0)
		return UNPREPARED;
	if (mknod("/tmp/null", S_IFCHR | 0666, makedev(1, 3)) == 0)
		return 1;
	return mount("d", "/tmp", "devtmpfs", 0, NULL) == 0 ? 2 : 0;
}

Test(namespaces, devices_cannot_be_made)
{
	cr_assert_eq(exit_of(NAMESPACES, make_devices), 0,
		     "/dev is a tmpfs with bound nodes; a workload makes no others");
}

static int bring_loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request) != 0 || (request.ifr_flags & IFF_UP))
		return UNPREPARED;
	request.ifr_flags |= IFF_UP;
	return ioctl(fd, SIOCSIFFLAGS, &request) == 0 ? 0 : errno;
}

Test(namespaces, the_loopback_comes_up)
{
	cr_assert_eq(exit_of(NAMESPACES, bring_loopback_up), 0, "the init's network step");
}

static int count_interfaces(void)
{
	struct if_nameindex *names = if_nameindex();
	int count = 0;

	while (names && names[count].if_index != 0)
		count++;
	if_freenameindex(names);
	return count;
}

Test(namespaces, nothing_but_a_loopback_is_in_a_new_network)
{
	/* Some kernels add tunnel devices to each network namespace; all of them are down. */
	cr_assert_geq(exit_of(NAMESPACES, count_interfaces), 1);
}

static int end_with_grandchildren_alive(void)
{
	for (int i = 0; i < 3; i++) {
		const pid_t pid = fork();

		if (pid == 0) {
			(void)signal(SIGTERM, SIG_IGN);
			(void)setsid(); /* not even a new session gets away */
			for (;;)
				pause();
		}
	}
	return 0;
}

Test(namespaces, the_death_of_pid_1_kills_all)
{
	int ends[2], status;
	char byte;

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	const pid_t pid = clone_with(CLONE_NEWUSER | CLONE_NEWPID, NULL);
	if (pid == 0)
		_exit(end_with_grandchildren_alive());
	(void)close(ends[1]);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	/* Each of them held the pipe's other end: its end of file says that none is left. */
	cr_assert_eq(read(ends[0], &byte, 1), 0, "ending a sandbox is killing its init");
}

static int signal_pid_1(void)
{
	const int signals[] = { SIGTERM, SIGINT, SIGKILL, SIGSTOP };
	const pid_t pid = fork();

	if (pid == 0) {
		for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
			(void)kill(1, signals[i]); /* none of them may arrive */
		_exit(0);
	}
	return waitpid(pid, NULL, 0) == pid ? 0 : 1;
}

Test(namespaces, pid_1_cannot_be_killed_from_inside)
{
	cr_assert_eq(exit_of(CLONE_NEWUSER | CLONE_NEWPID, signal_pid_1), 0,
		     "a workload cannot end or stop its init");
}

/* How many children can be had under RLIMIT_NPROC 20 set here. */
static int count_forks(void)
{
	const struct rlimit limit = { 20, 20 };
	int made = 0;

	if (setrlimit(RLIMIT_NPROC, &limit) != 0)
		return UNPREPARED;
	while (made < 60) {
		const pid_t pid = fork();

		if (pid < 0)
			return errno == EAGAIN ? made : UNPREPARED;
		if (pid == 0) {
			for (;;)
				pause();
		}
		made++;
	}
	return made;
}

/* As count_forks(), after the capabilities are gone that would lift the limit. */
static int count_forks_without_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	if (syscall(SYS_capset, &header, none) != 0)
		return UNPREPARED;
	return count_forks();
}

Test(namespaces, process_limits_count_in_the_own_user_namespace)
{
	int status;
	const unsigned int uid = geteuid();
	const unsigned int gid = getegid();

	if (uid == 0)
		cr_skip("the kernel does not count the host's root");
	const pid_t pid = clone_with(CLONE_NEWUSER | CLONE_NEWPID, NULL);

	if (pid == 0)
		_exit(map_ids(1000, uid, gid) ? UNPREPARED : count_forks_without_capabilities());
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	/* Were the user's processes outside counted too, there would be fewer, or none. */
	cr_assert_geq(exit_code_of(status), 18, "--limits=fallback: RLIMIT_NPROC per sandbox");
	cr_assert_leq(exit_code_of(status), 20, "--limits=fallback: RLIMIT_NPROC is enforced");
}

Test(namespaces, a_pidfd_tells_the_end)
{
	int pidfd = -1;
	siginfo_t info = { 0 };
	const pid_t pid = clone_with(CLONE_NEWUSER | CLONE_NEWPID, &pidfd);

	if (pid == 0)
		_exit(7);
	cr_assert_geq(pidfd, 0);
	cr_assert_eq(waitid(P_PIDFD, (id_t)pidfd, &info, WEXITED), 0,
		     "the supervisor watches sandboxes by pidfd, never by number");
	cr_assert_eq(info.si_status, 7);
	(void)close(pidfd);
}
