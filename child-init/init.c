/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of INIT and HELPER, whose order is in steps.def.
 */
#include "init.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "common/confine/capabilities.h"
#include "common/confine/identity.h"
#include "common/fd.h"
#include "common/ipc/ipc_gateway.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/limits_mode.h"
#include "common/text/names.h"
#include "common/text/text.h"
#include "layers.h"
#include "mounts.h"
#include "probe.h"
#include "serve.h"
#include "spawn.h"
#include "steps.h"

/* The namespaces that the factory has not cloned it into. A network takes the kernel longest. */
#define NAMESPACES (CLONE_NEWIPC | CLONE_NEWUTS | LAYER_NETWORK_NAMESPACE)

/* The namespace's own, whichever /proc has it. */
#define FIRST_FREE_PORT "/" STAGING_HOST "/proc/sys/net/ipv4/ip_unprivileged_port_start"

static struct init init = { .ruleset = -1 };
static uint32_t profile_index;
static uint32_t stage; /* the current step's */

/* Pipes with one byte each, when the base tree is complete and when the cable is made, in the order
 * of the steps; -1: there is nothing to wait for. */
static int told[2] = { -1, -1 };

/* Must: let go of the factory's channel, and of the own end of the pipe that only the factory may
 * write to. Must not: let anything run that is not this program before settle_descriptors(), which
 * closes what else is the factory's. */
static int take_channel(void)
{
	(void)close(init.factory->base[1]); /* EBADF: the base was there before */
	if (dup3(init.channel.fd, CHANNEL_FD, O_CLOEXEC) < 0)
		return -errno; /* CHANNEL_FD is still the factory's channel */
	init.channel.fd = CHANNEL_FD;
	/* PID 1 of a pid namespace: signals without a handler do nothing to it from inside. */
	return signal(SIGCHLD, SIG_DFL) == SIG_ERR ? -errno : 0;
}

/* Must: map one user and one group, and deny setgroups, while no workload could look: /proc/self of
 * a process that is not dumpable belongs to root. Must not: map an id of another user. */
static int map_identity(void)
{
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0)
		return -errno;
	return identity_map("/" STAGING_HOST "/proc", true, init.profile->user, WORKLOAD_ID,
			    WORKLOAD_ID);
}

/* Must: die with the parent, be unreadable for other processes, gain nothing by an exec. */
static int protect_process(void)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 ||
	    prctl(PR_SET_DUMPABLE, LAYER_DUMPABLE, 0, 0, 0) != 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -errno;
	return 0;
}

/* Must: leave every namespace of the factory that the clone shares, but the mounts. */
static int leave_namespaces(void)
{
	return unshare(NAMESPACES) == 0 ? 0 : -errno;
}

/* Must: wait for the next byte of `told`, and fail if its writer has ended. Must not: change a
 * mount while it waits for the base, which would be the factory's. */
static int await_next(void)
{
	static const int *next = told;
	char byte;
	ssize_t got;

	do
		got = *next < 0 ? 1 : read(*next, &byte, 1);
	while (got < 0 && errno == EINTR);
	next++;
	return got == 1 ? 0 : -EPIPE;
}

/* Must: come after the wait for the base, since the copy of the mounts has the base only from then
 * on. */
static int leave_mounts(void)
{
	return unshare(CLONE_NEWNS) == 0 ? 0 : -errno;
}

/* Must: come before enter_tree(), which detaches the host's /proc. */
static int note_namespaces(void)
{
	return init.factory->is_probed
		       ? probe_note_namespaces("/" STAGING_HOST "/proc/self/ns", &init.namespaces)
		       : 0;
}

/* Must: detach the host's tree, after which no name leads there. Must not: change the base, which
 * other sandboxes share. */
static int enter_tree(void)
{
	return mounts_enter(&init.factory->plan, profile_index, init.factory->shown,
			    &init.factory->places, &stage);
}

/* Must: come after enter_tree(), the last user of the factory's descriptors; and have descriptors 0
 * to 2 open, so that no other can take their numbers. Must not: keep any but the channel. */
static int settle_descriptors(void)
{
	if (kernel_close_range(0, CHANNEL_FD - 1) != 0 ||
	    kernel_close_range(CHANNEL_FD + 1, ~0U) != 0)
		return -errno;
	for (int fd = 0; fd < CHANNEL_FD; fd++) {
		if ((fd == 0 ? open("/dev/null", O_RDWR) : dup(0)) != fd)
			return -EBADF;
	}
	return 0;
}

/* Must: come after leave_namespaces(), or it would be the factory's. */
static int set_hostname(void)
{
	const char *name = plan_string(&init.factory->plan, init.profile->hostname);

	return sethostname(name, strlen(name)) == 0 ? 0 : -errno;
}

/* Must: come after leave_namespaces(), and while the capability for it is there; free the ports
 * that only root has outside, of the sandbox's own network alone; and with hosts, send a routing
 * socket of the namespace, by which msp-cable makes the cable from outside. A bridge finds a
 * persistent sandbox by it. Must not: keep that socket. */
static int raise_network(void)
{
	const struct ipc_network_socket message = { init.profile->network == PLAN_NETWORK_HOSTS };
	const struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fds[] = { -1, -1, socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE) };
	int error = fds[2] >= 0 && ioctl(fds[2], SIOCSIFFLAGS, &request) == 0
			    ? text_write_file(AT_FDCWD, FIRST_FREE_PORT, "0")
			    : -errno;

	if (!error && (message.has_hosts || init.factory->lasts))
		error = pipe2(fds, O_CLOEXEC) == 0
				? channel_send(&init.channel, IPC_TYPE_network_socket, &message,
					       &fds[1], 0)
				: -errno;
	told[1] = message.has_hosts ? fds[0] : -1;
	fd_close_all(&fds[1], 2);
	return error;
}

/* At the disk limit a workload can read, execute and remove files, and write only the kernel's. */
static int add_rule(const char *path, uint64_t rights)
{
	const bool is_of_kernel = strcmp(path, "/dev") == 0 || strcmp(path, "/proc") == 0;
	int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno; /* no such file to use */
	if (factory_is_full(init.factory))
		rights &= LANDLOCK_FS_REMOVAL | (is_of_kernel ? LANDLOCK_ACCESS_FS_WRITE_FILE : 0);
	const int error = landlock_allow(init.ruleset, &init.landlock, fd, rights);
	fd_close(&fd);
	return error;
}

/* Must: come after enter_tree(), since rules hold for inodes of the final tree; and refuse an ABI
 * below the profile's. Must not: restrict the init itself: each workload enters the ruleset. */
static int build_ruleset(void)
{
	const struct plan *plan = &init.factory->plan;
	const struct plan_rule *rules = plan_rules(plan, init.profile);
	int error = 0;

	if (init.landlock_abi < (int)init.profile->landlock_abi_min)
		return -EOPNOTSUPP; /* the supervisor has seen a higher one */
	init.ruleset = landlock_create(&init.landlock);
	if (init.ruleset < 0)
		return init.ruleset;
	for (uint32_t i = 0; i < init.profile->rule_count && !error; i++) {
		const char *path = plan_string(plan, rules[i].path);

		init.root_rights |= strcmp(path, "/") == 0 ? rules[i].rights : 0;
		error = add_rule(path, rules[i].rights);
	}
	return error;
}

/* Must: empty every set and lock the securebits. Must not: keep more than CAP_SYS_PTRACE over the
 * own user namespace, and that in the fallback alone: its memory watch reads processes that made
 * themselves unreadable. */
static int drop_capabilities(void)
{
	return capabilities_drop(LAYER_KEPT_CAPABILITIES(init.factory->limits == LIMITS_FALLBACK));
}

/* Must: empty every set and lock the securebits, and keep nothing. */
static int drop_every_capability(void)
{
	return capabilities_drop(0);
}

/* clang-format off */
static const struct step init_steps[] = {
#define INIT(stage, run) { run, stage, EACH, ALWAYS },
#include "steps.def"
};

static const struct step helper_steps[] = {
#define HELPER(stage, run) { run, stage, EACH, ALWAYS },
#include "steps.def"
};
/* clang-format on */

static void begin_role(const struct factory *factory, uint32_t profile, int base)
{
	init.factory = factory;
	init.profile = plan_profile(&factory->plan, profile);
	profile_index = profile;
	told[0] = base;
}

void init_run(const struct factory *factory, uint32_t profile, const int *fds)
{
	begin_role(factory, profile, factory->base[0]);
	init.channel = (struct channel){ fds[0], IPC_INIT, IPC_SUPERVISOR, IPC_SERVE };
	/* All rights that the profile asks for and the kernel knows. */
	const struct kernel_landlock_ruleset wanted = { init.profile->landlock_fs,
							init.profile->landlock_net,
							init.profile->landlock_scopes };
	init.landlock_abi = landlock_abi();
	init.landlock = landlock_fit(wanted, init.landlock_abi);
	const int error = spawn_run_steps(STEPS(init_steps), &stage);
	const struct ipc_init_failed failed = { stage, (uint32_t)-error };

	if (!error)
		serve_run(&init);
	/* The supervisor is told or gone; either way this sandbox ends. */
	(void)channel_send(&init.channel, IPC_TYPE_init_failed, &failed, NULL, MSG_DONTWAIT);
	_exit(1);
}

int init_become_helper(const struct factory *factory, uint32_t profile, int base)
{
	begin_role(factory, profile, base);
	return spawn_run_steps(STEPS(helper_steps), &stage);
}
