/* SPDX-License-Identifier: Apache-2.0
 *
 * How a sandbox comes to be, in order. Each step returns 0 or -errno; the first that fails is
 * reported with its stage and ends the process.
 */
#include "init.h"

#include <errno.h>
#include <linux/capability.h>
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
#include "common/names.h"
#include "layers.h"
#include "probe.h"
#include "serve.h"

/* The namespaces that the factory has not cloned it into. A network takes the kernel longest. */
#define NAMESPACES (CLONE_NEWIPC | CLONE_NEWUTS | LAYER_NETWORK_NAMESPACE)

static struct init init = { .ruleset = -1 };
static uint32_t profile_index;
static uint32_t stage; /* the current step's */

#define NONE_KEPT (~0U)

/* The lowest from `first` on that is kept. */
static unsigned int next_kept(unsigned int first)
{
	const struct places *places = &init.factory->places;
	/* -1 is never the lowest. */
	const unsigned int base = (unsigned int)init.factory->base[0];
	unsigned int lowest = first <= CHANNEL_FD ? CHANNEL_FD : NONE_KEPT;

	lowest = base >= first && base < lowest ? base : lowest;
	for (uint32_t i = 0; i < places->count; i++) {
		const unsigned int fd = (unsigned int)places->layers[i].fd;

		lowest = fd >= first && fd < lowest ? fd : lowest;
	}
	return lowest;
}

/* Must: leave open the channel, and until the tree is complete what that is made from. Must not:
 * keep any other descriptor of the factory. */
static int close_descriptors(void)
{
	if (dup3(init.channel.fd, CHANNEL_FD, O_CLOEXEC) < 0)
		return -errno; /* CHANNEL_FD is still the factory's channel */
	init.channel.fd = CHANNEL_FD;
	for (unsigned int first = 0, kept = 0; kept != NONE_KEPT; first = kept + 1) {
		kept = next_kept(first);
		if (kept > first && kernel_close_range(first, kept - 1) != 0)
			return -errno;
	}
	/* PID 1 of a pid namespace: signals without a handler do nothing to it from inside. */
	return signal(SIGCHLD, SIG_DFL) == SIG_ERR ? -errno : 0;
}

/* /proc/self of a process that is not dumpable belongs to root, and it could not write its own
 * maps. No workload is there yet that could look. */
static int map_identity(void)
{
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0)
		return -errno;
	return identity_map("/" STAGING_HOST "/proc", true, WORKLOAD_ID, WORKLOAD_ID, WORKLOAD_ID);
}

int init_protect(void)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 ||
	    prctl(PR_SET_DUMPABLE, LAYER_DUMPABLE, 0, 0, 0) != 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -errno;
	return 0;
}

int init_isolate(uint32_t *ret_stage)
{
	int error;

	*ret_stage = STAGE_IDENTITY;
	error = map_identity();
	if (error)
		return error;
	*ret_stage = STAGE_PROTECT;
	error = init_protect();
	if (error)
		return error;
	STAGE_HOOK(STEP, STAGE_NAMESPACES);
	*ret_stage = STAGE_NAMESPACES;
	return unshare(NAMESPACES) == 0 ? 0 : -errno;
}

int init_enter(const struct factory *factory, uint32_t profile, int base,
	       struct probe_namespaces *ret_namespaces, uint32_t *ret_stage)
{
	char told;
	ssize_t got = 1;
	int error = 0;

	*ret_stage = STAGE_BASE;
	do {
		if (base >= 0)
			got = read(base, &told, 1);
	} while (got < 0 && errno == EINTR);
	if (got != 1)
		return -EPIPE; /* the factory ended; one that cannot build it ends us */
	*ret_stage = STAGE_NAMESPACES;
	if (unshare(CLONE_NEWNS) != 0)
		return -errno;
	*ret_stage = STAGE_PROBE; /* while the host's /proc is there */
	if (ret_namespaces)
		error = probe_note_namespaces("/" STAGING_HOST "/proc/self/ns", ret_namespaces);
	STAGE_HOOK(STEP, STAGE_MOUNTS);
	return error ? error
		     : mounts_enter(&factory->plan, profile, factory->shown, &factory->places,
				    ret_stage);
}

static int isolate_self(void)
{
	return init_isolate(&stage);
}

static int enter_tree(void)
{
	return init_enter(init.factory, profile_index, init.factory->base[0],
			  init.factory->is_probed ? &init.namespaces : NULL, &stage);
}

/* The tree is complete. Descriptors 0 to 2 exist, so that no other can take their numbers. */
static int settle_descriptors(void)
{
	if (kernel_close_range(CHANNEL_FD + 1, ~0U) != 0)
		return -errno;
	for (int fd = 0; fd < CHANNEL_FD; fd++) {
		if ((fd == 0 ? open("/dev/null", O_RDWR) : dup(0)) != fd)
			return -EBADF;
	}
	return 0;
}

static int set_hostname(void)
{
	const char *name = plan_string(&init.factory->plan, init.profile->hostname);

	return sethostname(name, strlen(name)) == 0 ? 0 : -errno;
}

static int raise_loopback(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	int error = 0;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	request.ifr_flags = IFF_UP | IFF_RUNNING;
	if (ioctl(fd, SIOCSIFFLAGS, &request) != 0)
		error = -errno;
	fd_close(&fd);
	return error;
}

static int add_rule(const char *path, uint64_t rights)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	int error;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno; /* no such file to use */
	error = landlock_allow(init.ruleset, &init.landlock, fd, rights);
	fd_close(&fd);
	return error;
}

/* Fit the ruleset: all rights that the profile asks for and the kernel knows. */
static void fit_ruleset(void)
{
	const struct kernel_landlock_ruleset wanted = { init.profile->landlock_fs,
							init.profile->landlock_net,
							init.profile->landlock_scopes };

	init.landlock_abi = landlock_abi();
	init.landlock = landlock_fit(wanted, init.landlock_abi);
}

/* The sandbox's tree is final: its rules are built once and each execution enters them. */
static int build_ruleset(void)
{
	const struct plan *plan = &init.factory->plan;
	const struct plan_rule *rules = plan_rules(plan, init.profile);
	int error = 0;

	if (init.landlock_abi < (int)init.profile->landlock_abi_min)
		return -EOPNOTSUPP; /* the ABI that the supervisor saw, or nothing */
	init.ruleset = landlock_create(&init.landlock);
	if (init.ruleset < 0)
		return init.ruleset;
	for (uint32_t i = 0; i < init.profile->rule_count && !error; i++) {
		const char *path = plan_string(plan, rules[i].path);

		init.root_rights |= strcmp(path, "/") == 0 ? rules[i].rights : 0;
		error = add_rule(path, rules[i].rights);
	}
	for (uint32_t i = 0; i < init.factory->shown->bind_count && !error; i++)
		error = add_rule(init.factory->shown->binds[i].is.inside_path,
				 LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR |
					 LANDLOCK_ACCESS_FS_EXECUTE);
	return error;
}

/* The fallback's memory watch reads the memory of processes that made themselves unreadable; it
 * is a right over this sandbox's user namespace alone. */
static int drop_capabilities(void)
{
	return capabilities_drop(LAYER_KEPT_CAPABILITIES(init.factory->limits == LIMITS_FALLBACK));
}

/* clang-format off */
static const struct step {
	uint32_t stage;
	int (*run)(void);
} steps[] = {
	{ STAGE_DESCRIPTORS, close_descriptors },
	{ STAGE_IDENTITY, isolate_self },
	LAYER_NETWORK(STAGE_NETWORK, raise_loopback)
	{ STAGE_HOSTNAME, set_hostname },
	{ STAGE_BASE, enter_tree },
	{ STAGE_DESCRIPTORS, settle_descriptors },
	LAYER_LANDLOCK(STAGE_LANDLOCK, build_ruleset)
	{ STAGE_CAPABILITIES, LAYER_CAPABILITIES(drop_capabilities) },
	/* Giving up capabilities is a change of credentials, after which these count anew. */
	{ STAGE_PROTECT, init_protect },
};
/* clang-format on */

static void fail_step(int error)
{
	const struct ipc_init_failed failed = { stage, (uint32_t)-error };

	/* The supervisor is told or gone; either way this sandbox ends. */
	(void)channel_send(&init.channel, IPC_TYPE_init_failed, &failed, NULL, MSG_DONTWAIT);
	_exit(1);
}

void init_run(const struct factory *factory, uint32_t profile, const int *fds)
{
	init.factory = factory;
	profile_index = profile;
	init.profile = plan_profile(&factory->plan, profile);
	init.channel = (struct channel){ fds[0], IPC_INIT, IPC_SUPERVISOR, IPC_SERVE };
	fit_ruleset();
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		STAGE_HOOK(STEP, steps[i].stage);
		stage = steps[i].stage;
		const int error = steps[i].run();

		if (error)
			fail_step(error);
	}
	serve_run(&init);
}
