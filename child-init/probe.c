/* SPDX-License-Identifier: Apache-2.0 */
#include "probe.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "common/fd.h"
#include "common/ipc/ipc_posture.h"
#include "common/resolver.h"

/* An init holds fewer, and new ones take the lowest numbers. */
#define DESCRIPTORS 64

/* TEST-NET-1 (RFC 5737): nobody is there. */
#define OUTSIDE 0xc0000201U

static const struct init *init;
static struct ipc_posture_measured found;
static uint32_t open_layers;

/* Reading the links costs a tenth of asking for the inodes behind them. */
int probe_note_namespaces(const char *path, struct probe_namespaces *ret)
{
	int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int error = dir < 0 ? -errno : 0;

	for (uint32_t i = 0; i < POSTURE_NAMESPACE_COUNT && !error; i++) {
		if (readlinkat(dir, posture_namespace_name(i), ret->links[i],
			       sizeof(ret->links[i]) - 1) < 0)
			error = -errno;
	}
	fd_close(&dir);
	return error;
}

static void set_it(enum posture_layer layer, bool is_closed, int answer)
{
	if (!is_closed && open_layers == 0)
		found.error = (uint32_t)answer;
	*(is_closed ? &found.layers_closed : &open_layers) |= POSTURE_BIT(layer);
}

/* `result` is that of a system call whose one right answer is this error. */
static void err_is(enum posture_layer layer, long result, int error)
{
	const int answer = result < 0 ? errno : 0;

	set_it(layer, answer == error, answer);
}

void probe_begin(const struct init *own)
{
	init = own;
	open_layers = 0;
	found = (struct ipc_posture_measured){ .landlock_abi = (uint32_t)init->landlock_abi,
					       .landlock_fs = init->landlock.handled_access_fs,
					       .landlock_net = init->landlock.handled_access_net,
					       .landlock_scopes = init->landlock.scoped };
	for (uint32_t i = 0; i < POSTURE_NAMESPACE_COUNT; i++) {
		const bool ours =
			strcmp(init->namespaces.links[i], init->factory->namespaces.links[i]) != 0;

		found.namespaces |= ours ? POSTURE_BIT(i) : 0;
		set_it(i == POSTURE_NAMESPACE_NET ? POSTURE_NETWORK : POSTURE_NAMESPACES, ours, 0);
	}
}

/* The base tree is the workload's by its modes. Setting times needs a mount that can be written
 * before anything else. In a root that may be written the sealed file is a mount of its own, and at
 * an optional target there may be a file of the sandbox. */
static void try_mounts(void)
{
	const struct plan *plan = &init->factory->plan;
	const struct plan_mount *mounts = plan_mounts(plan, init->profile);
	const uint32_t unsure = mounts[0].phase == PLAN_PHASE_SANDBOX ? PLAN_OPTIONAL : 0;

	err_is(POSTURE_READ_ONLY, utimensat(AT_FDCWD, PLAN_SEALED_FILE, NULL, 0), EROFS);
	for (uint32_t i = 0; i < init->profile->mount_count; i++) {
		const char *path = plan_string(plan, mounts[i].target);

		if (mounts[i].kind == PLAN_BIND && (mounts[i].attributes & MOUNT_ATTR_RDONLY) &&
		    places_roles(&init->factory->places, i) == 0 && !(mounts[i].flags & unsure) &&
		    access(path, F_OK) == 0)
			err_is(POSTURE_READ_ONLY, utimensat(AT_FDCWD, path, NULL, 0), EROFS);
	}
}

int probe_rlimits(void)
{
	const struct plan_rlimit *limits = plan_rlimits(&init->factory->plan, init->profile);

	for (uint32_t i = 0; i < init->profile->rlimit_count; i++) {
		const struct rlimit more = { limits[i].value, limits[i].value + 1 };

		if (limits[i].value != RLIM_INFINITY)
			err_is(POSTURE_RLIMITS, prlimit(0, limits[i].resource, &more, NULL), EPERM);
	}
	return 0;
}

static int try_socket(int type, int (*act)(int, const struct sockaddr *, socklen_t), uint32_t host,
		      uint16_t port)
{
	const struct sockaddr_in address = { AF_INET, htons(port), { htonl(host) }, { 0 } };
	const struct timeval most = { .tv_sec = 3 }; /* at once, unless it is busy */
	const int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
	return fd < 0 ? fd : act(fd, (const struct sockaddr *)&address, sizeof(address));
}

/* Ask the resolver for a name that no list has. Return the bits of its answer, or -1. */
static int ask_resolver(int fd, const struct sockaddr *resolver, socklen_t size)
{
	uint8_t answer[RESOLVER_PROBE_SIZE];

	if (connect(fd, resolver, size) != 0 ||
	    send(fd, RESOLVER_PROBE, RESOLVER_PROBE_SIZE, 0) < 0)
		return -1;
	return recv(fd, answer, sizeof(answer), 0) < 4 ? -1 : RESOLVER_ANSWER(answer);
}

/* A resolver without an answer says nothing about the list: other sandboxes may keep it busy. */
int probe_list(void)
{
	int answer = RESOLVER_UNLISTED;

	if (init->profile->network == PLAN_NETWORK_HOSTS)
		answer = try_socket(SOCK_DGRAM, ask_resolver, RESOLVER_ADDRESS, RESOLVER_PORT);
	set_it(POSTURE_NETWORK, answer == RESOLVER_UNLISTED, 0);
	return answer < 0 || answer == RESOLVER_FAILED ? -EAGAIN : 0;
}

/* Landlock would refuse some of these as well. This process has the init's memory, so that to look
 * into that would prove nothing; but not its threads. */
int probe_before_landlock(void)
{
	const bool has_cable = init->profile->network == PLAN_NETWORK_HOSTS;
	struct stat root = { .st_ino = 0 }, above = { .st_ino = 1 };

	try_mounts();
	set_it(POSTURE_ROOT,
	       stat("/", &root) == 0 && stat("/..", &above) == 0 && root.st_dev == above.st_dev &&
		       root.st_ino == above.st_ino,
	       0);
	/* The gateway takes every address for its own, and listens at no port 0. */
	err_is(POSTURE_NETWORK,
	       try_socket(has_cable ? SOCK_STREAM : SOCK_DGRAM, connect, OUTSIDE, 0),
	       has_cable ? ECONNREFUSED : ENETUNREACH);
	/* No map has it (enum plan_user): not even every capability would help. */
	err_is(POSTURE_IDENTITY, syscall(SYS_setresuid, 1, 1, 1), EINVAL);
	err_is(POSTURE_IDENTITY, syscall(SYS_setresgid, 1, 1, 1), EINVAL);
	err_is(POSTURE_CAPABILITIES, sethostname("", 0), EPERM);
	set_it(POSTURE_NO_NEW_PRIVS, prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1, 0);
	err_is(POSTURE_PROTECT, syscall(SYS_get_robust_list, getppid(), NULL, NULL), EPERM);
	return 0;
}

/* As err_is(), of a right of Landlock; one that is not handled is not tried. */
static void right_is(enum posture_layer layer, uint64_t is_handled, long result, int error)
{
	if (is_handled)
		err_is(layer, result, error);
	else
		found.layers_untried |= POSTURE_BIT(layer);
}

int probe_landlock(void)
{
	const struct kernel_landlock_ruleset *handled = &init->landlock;

	right_is(POSTURE_LANDLOCK_FILES,
		 handled->handled_access_fs & ~init->root_rights & LANDLOCK_ACCESS_FS_READ_FILE,
		 open(PLAN_SEALED_FILE, O_RDONLY | O_CLOEXEC), EACCES);
	right_is(POSTURE_LANDLOCK_TCP, handled->handled_access_net & LANDLOCK_ACCESS_NET_BIND_TCP,
		 try_socket(SOCK_STREAM, bind, INADDR_ANY, 0), EACCES);
	right_is(POSTURE_LANDLOCK_SCOPES, handled->scoped & LANDLOCK_SCOPE_SIGNAL,
		 kill(getppid(), 0), EPERM);
	return 0;
}

/* Which of them would live through an exec? */
int probe_descriptors(void)
{
	for (int fd = 3; fd < DESCRIPTORS; fd++) /* -1 has every bit: it is not open */
		set_it(POSTURE_DESCRIPTORS, (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0, 0);
	return 0;
}

/* A call that the filter hides, and that the kernel has: mounts.c uses it. The answer to one that
 * is refused may be left to the init, which waits for this process. */
int probe_filter(void)
{
	err_is(POSTURE_SECCOMP, syscall(SYS_openat2, -1, NULL, NULL, 0), ENOSYS);
	return 0;
}

/* A barrier that was not tried is open: a probe may have been ended halfway. Limits are the
 * supervisor's. */
bool probe_tell(struct ipc_posture_measured *ret)
{
	found.layers_closed &= ~open_layers;
	if (ret)
		*ret = found;
	return (found.layers_closed | found.layers_untried | POSTURE_BIT(POSTURE_CGROUP)) ==
	       POSTURE_ALL;
}
