/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel interfaces that the C library or the installed kernel headers do not have: Debian 12
 * ships headers of Linux 6.1, and musl wraps none of the new mount calls. Each definition is
 * copied in value from the kernel's uapi header named beside it.
 */
#ifndef COMMON_KERNEL_H
#define COMMON_KERNEL_H

#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* linux/landlock.h, Linux 6.2 to 6.12 */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif
#ifndef LANDLOCK_ACCESS_NET_BIND_TCP
#define LANDLOCK_ACCESS_NET_BIND_TCP (1ULL << 0)
#define LANDLOCK_ACCESS_NET_CONNECT_TCP (1ULL << 1)
#endif
#ifndef LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
#define LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#define LANDLOCK_SCOPE_SIGNAL (1ULL << 1)
#endif

/* struct landlock_ruleset_attr as of ABI 6; older kernels take its beginning. */
struct kernel_landlock_ruleset {
	uint64_t handled_access_fs;
	uint64_t handled_access_net; /* ABI 4 */
	uint64_t scoped;             /* ABI 6 */
};

/* linux/fcntl.h; the C library's own names for these calls differ */
#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

/* linux/sched.h; struct clone_args there is not visible beside musl's sched.h */
#define KERNEL_CLONE_PIDFD 0x00001000ULL
#define KERNEL_CLONE_INTO_CGROUP 0x200000000ULL
struct kernel_clone_args {
	uint64_t flags;
	uint64_t pidfd;
	uint64_t child_tid;
	uint64_t parent_tid;
	uint64_t exit_signal;
	uint64_t stack;
	uint64_t stack_size;
	uint64_t tls;
	uint64_t set_tid;
	uint64_t set_tid_size;
	uint64_t cgroup;
};

/* Have the new process begin in `cgroup`, the directory of one, or, if that is -1, in the caller's.
 */
static inline void kernel_clone_into(struct kernel_clone_args *args, int cgroup)
{
	if (cgroup < 0)
		return;
	args->flags |= KERNEL_CLONE_INTO_CGROUP;
	args->cgroup = (uint64_t)cgroup;
}

/* linux/seccomp.h, Linux 6.6 */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS _IOW('!', 4, uint64_t)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

/* A sealed file: content and size can never change again. */
#define FD_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* The raw calls; each returns what the kernel returns and sets errno. */
static inline int kernel_open_tree(int dir, const char *path, unsigned int flags)
{
	return (int)syscall(SYS_open_tree, dir, path, flags);
}

static inline int kernel_move_mount(int from, int to, const char *to_path, unsigned int flags)
{
	return (int)syscall(SYS_move_mount, from, "", to, to_path, flags);
}

/* With RESOLVE_IN_ROOT or RESOLVE_BENEATH the kernel answers EAGAIN to a path with ".." if anything
 * on the machine was mounted or renamed meanwhile, and leaves the repetition to the caller. Repeats
 * the call at most KERNEL_OPEN_TRIES times; then it fails with EAGAIN. */
#define KERNEL_OPEN_TRIES 128
int kernel_openat2(int dir, const char *path, uint64_t flags, uint64_t resolve);

/* The C library's own needs more than this call since glibc 2.41: memory of its own, and no signals
 * meanwhile, which a small list of system calls does not have. */
static inline ssize_t kernel_getrandom(void *ret, size_t size)
{
	return syscall(SYS_getrandom, ret, size, 0);
}

static inline int kernel_pidfd_open(int pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static inline int kernel_pidfd_send_signal(int pidfd, int signal)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}

/* Among the policies that know no priority. Of this call musl has but the name. */
static inline int kernel_set_scheduler(int policy)
{
	const int no_priority = 0; /* the whole of struct sched_param */

	return (int)syscall(SYS_sched_setscheduler, 0, policy, &no_priority);
}

/* Execute the program that is open as `image`, whose path may be out of reach. */
static inline int kernel_execute(int image, char *const *arguments, char *const *environment)
{
	return (int)syscall(SYS_execveat, image, "", arguments, environment, AT_EMPTY_PATH);
}

static inline int kernel_close_range(unsigned int first, unsigned int last)
{
	return (int)syscall(SYS_close_range, first, last, 0);
}

#endif
