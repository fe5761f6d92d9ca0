/* SPDX-License-Identifier: Apache-2.0
 *
 * The layers that a build for tests can leave out, so that a test of one layer is known to be able
 * to fail (tests/attack). The product is built with none of MSP_WITHOUT_...: every layer is there,
 * and nothing at run time can take one away.
 */
#ifndef CHILD_INIT_LAYERS_H
#define CHILD_INIT_LAYERS_H

#include <errno.h>

#include "common/kernel.h"
#include "common/stage_hook.h"

/* A row of steps.def. */
#define LAYER_PRESENT(...) __VA_ARGS__
#define LAYER_ABSENT(...)

#ifdef MSP_WITHOUT_LANDLOCK
#define LAYER_LANDLOCK LAYER_ABSENT
#else
#define LAYER_LANDLOCK LAYER_PRESENT
#endif

#ifdef MSP_WITHOUT_SECCOMP
#define LAYER_SECCOMP LAYER_ABSENT
#define LAYER_OBSERVES(profile) 0
#else
#define LAYER_SECCOMP LAYER_PRESENT
#define LAYER_OBSERVES(profile) ((profile)->observes != 0)
#endif

/* Without, the workload has every capability over the sandbox's own namespaces. */
#ifdef MSP_WITHOUT_CAPABILITIES
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int layer_keep_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) != 0)
		return -errno;
	data[0].inheritable = data[0].permitted;
	data[1].inheritable = data[1].permitted;
	if (syscall(SYS_capset, &header, data) != 0)
		return -errno;
	for (unsigned long capability = 0; capability < 64; capability++) /* EINVAL: no such one */
		(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0);
	return 0;
}
#define LAYER_CAPABILITIES(run) layer_keep_capabilities
#else
#define LAYER_CAPABILITIES(run) run
#endif

#ifdef MSP_WITHOUT_RLIMITS
#define LAYER_RLIMITS LAYER_ABSENT
#else
#define LAYER_RLIMITS LAYER_PRESENT
#endif

#ifdef MSP_WITHOUT_NETWORK
#define LAYER_NETWORK LAYER_ABSENT
#define LAYER_NETWORK_NAMESPACE 0
#else
#define LAYER_NETWORK LAYER_PRESENT
#define LAYER_NETWORK_NAMESPACE CLONE_NEWNET
#endif

/* Is the init hidden from the workload? A capability that the workload lacks hides it as well. */
#ifdef MSP_WITHOUT_PROTECT
#define LAYER_DUMPABLE 1
#define LAYER_KEPT_CAPABILITIES(is_watched) 0
#else
#define LAYER_DUMPABLE 0
#define LAYER_KEPT_CAPABILITIES(is_watched) ((is_watched) ? 1U << CAP_SYS_PTRACE : 0)
#endif

/* Before its request an interpreter does nothing that could depend on a workload; without, all. */
#ifdef MSP_WITHOUT_GATE
#define LAYER_GATE(passes) ((passes) || 1)
#else
#define LAYER_GATE(passes) (passes)
#endif

/* The tree that a sandbox comes from is gone from it; without, it lies at "/..". */
#ifdef MSP_WITHOUT_ROOT
#define LAYER_DETACH_OLD_ROOT() 0
#else
#define LAYER_DETACH_OLD_ROOT() umount2(".", MNT_DETACH)
#endif

/* Files of the host cannot be written through the sandbox's mounts. */
#ifdef MSP_WITHOUT_READONLY
#define LAYER_READ_ONLY 0
#define LAYER_BIND(attributes) ((attributes) & ~(uint64_t)MOUNT_ATTR_RDONLY)
#else
#define LAYER_READ_ONLY MOUNT_ATTR_RDONLY
#define LAYER_BIND(attributes) ((attributes) | MOUNT_ATTR_RDONLY)
#endif

/* A path of the operator's leads to what the launcher checked; without, wherever it leads now. */
#ifdef MSP_WITHOUT_PINS
#define LAYER_RESOLVE_PINNED RESOLVE_IN_ROOT
#define LAYER_IS_MEANT(found, meant) ((void)(found), (void)(meant), 1)
#else
#define LAYER_RESOLVE_PINNED (RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS)
#define LAYER_IS_MEANT(found, meant)                                                               \
	((found)->st_dev == (meant)->st_dev && (found)->st_ino == (meant)->st_ino)
#endif

/* How names of a tree are resolved; without, as by joining paths: links lead where they will. */
#ifdef MSP_WITHOUT_RESOLVE
#define LAYER_RESOLVE 0
#define LAYER_RESOLVE_BENEATH 0
#define LAYER_RESOLVE_PATH(path) ((path)[1] != '\0' ? (path) + 1 : ".")
#else
#define LAYER_RESOLVE (RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)
/* A person may have put the layers on another file system. */
#define LAYER_RESOLVE_BENEATH (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS)
#define LAYER_RESOLVE_PATH(path) (path)
#endif

/* Descriptors before the exec, from `first` on; without, all of them live through it. */
#ifdef MSP_WITHOUT_CLOSE
static inline int layer_close_descriptors(unsigned int first)
{
	(void)first;
	for (int fd = 3; fd < 64; fd++)
		(void)fcntl(fd, F_SETFD, 0); /* EBADF: not open */
	return 0;
}
#else
static inline int layer_close_descriptors(unsigned int first)
{
	return kernel_close_range(first, ~0U) == 0 ? 0 : -errno;
}
#endif

#endif
