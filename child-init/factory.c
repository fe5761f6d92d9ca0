/* SPDX-License-Identifier: Apache-2.0 */
#include "factory.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common/confine/cgroup.h"
#include "common/confine/identity.h"
#include "common/fd.h"
#include "common/ipc/dispatch.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_init.h"
#include "common/kernel.h"
#include "helper.h"
#include "init.h"
#include "layers.h"
#include "memory.h"
#include "mounts.h"
#include "probe.h"

/* The namespaces of a sandbox from its first moment on; init.c enters the rest, beside the factory.
 * CLONE_NEWCGROUP makes the cgroup it starts in its root. */
#define NAMESPACES (CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWCGROUP)

/* How long inits and helpers may take to end by themselves: clients give 50 to 450 ms in all. */
#define CHILDREN_END_MS 100

static struct factory factory;
static struct ipc_factory_ready ready = { .stage = STAGE_NAMESPACES }; /* outcome of the set-up */

/* Apart from what changes with each sandbox: all of them share its pages. */
static MEMORY_APART struct shown shown;

/* The kernel's names of the own ones are noted: no sandbox may have one of them. */
static int enter_namespaces(void)
{
	const uid_t uid = geteuid();
	const gid_t gid = getegid();
	int error;

	if (uid == 0) /* a workload never has the host's uid 0 */
		return -EPERM;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		return -errno;
	error = identity_map("/proc", false, WORKLOAD_ID, uid, gid);
	if (!error && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		error = -errno;
	return error ? error : probe_note_namespaces("/proc/self/ns", &factory.namespaces);
}

static int keep_plan(uint32_t slot, int fd)
{
	if (slot >= GENERATIONS_MAX || factory.plans[slot].bytes)
		return -EPROTO;
	const int error = plan_open_fd(fd, &factory.plans[slot]);
	if (error)
		return error;
	factory.plans[slot].slot = slot;
	factory.newest = slot;
	return 0;
}

static int handle_factory_start(void *context, struct channel_message *message)
{
	const struct ipc_factory_start *start = ipc_body(message, factory_start);

	if (memcmp(start->schema, ipc_schema_hash, sizeof(start->schema)) != 0)
		return -EPROTO;
	factory.limits = start->limits;
	return keep_plan(0, message->fds[0]);
}

static int handle_factory_policy(void *context, struct channel_message *message)
{
	return keep_plan(ipc_body(message, factory_policy)->slot, message->fds[0]);
}

/* Running sandboxes have mounts of their own. */
static int handle_factory_forget(void *context, struct channel_message *message)
{
	const uint32_t slot = ipc_body(message, factory_forget)->slot;

	if (slot >= GENERATIONS_MAX || slot == factory.newest)
		return -EPROTO;
	for (uint32_t i = 0; i < PLAN_PROFILES_MAX; i++) {
		if (factory.is_built[slot][i])
			mounts_forget_base(&factory.plans[slot], i);
		factory.is_built[slot][i] = false;
	}
	while (shown.pin_counts[slot] > 0)
		fd_close(&shown.pins[slot][--shown.pin_counts[slot]].fd);
	plan_close(&factory.plans[slot]);
	return 0;
}

static int handle_factory_cgroup(void *context, struct channel_message *message)
{
	factory.cgroup_slots = ipc_body(message, factory_cgroup)->slots;
	factory.cgroup = channel_take_fd(message, 0);
	return 0;
}

static int handle_factory_pin(void *context, struct channel_message *message)
{
	const struct ipc_factory_pin *from = ipc_body(message, factory_pin);
	struct pin *pin;

	if (from->generation >= GENERATIONS_MAX || shown.pin_counts[from->generation] == PINS_MAX)
		return -EPROTO;
	pin = &shown.pins[from->generation][shown.pin_counts[from->generation]++];
	pin->is = *from;
	pin->fd = channel_take_fd(message, 0);
	return fstat(pin->fd, &pin->meant) == 0 ? 0 : -errno;
}

/* Prepare while the supervisor still receives the launcher's messages; nothing needs to be
 * reported.
 */
static void get_ready(void)
{
	int error = enter_namespaces();

	if (!error) {
		STAGE_HOOK(STEP, STAGE_STAGING);
		factory.host = mounts_stage();
		error = factory.host < 0 ? factory.host : 0;
		ready.stage = error ? STAGE_STAGING : STAGE_NONE;
	}
	ready.error = (uint32_t)-error;
}

static int handle_factory_serve(void *context, struct channel_message *message)
{
	int error;

	if (!factory.plans[0].bytes)
		return -EPROTO;
	factory.channel.phase = IPC_SERVE;
	error = channel_send(&factory.channel, IPC_TYPE_factory_ready, &ready, NULL, 0);
	return ready.stage == STAGE_NONE ? error : -ECANCELED;
}

/* Take a descriptor for the next sandbox, in place of that of a sandbox that never came. */
static int handle_sandbox_fd(void *context, struct channel_message *message)
{
	int *into = &factory.next_cgroup;

	if (message->type == IPC_TYPE_sandbox_workspace)
		into = &factory.places.hosts[ipc_body(message, sandbox_workspace)->is_git & 1];
	fd_replace(into, channel_take_fd(message, 0));
	return 0;
}

static int handle_sandbox_layer(void *context, struct channel_message *message)
{
	return places_add(&factory.places, ipc_body(message, sandbox_layer));
}

/* Returns 0 in the child, the child's pid here, or -errno. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the kernel writes it, by its address */
static int clone_isolated(int *ret_pidfd)
{
	struct kernel_clone_args args = {
		.flags = NAMESPACES | KERNEL_CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)ret_pidfd,
		.exit_signal = SIGCHLD,
	};
	long pid;

	kernel_clone_into(&args, factory.next_cgroup);
	pid = syscall(SYS_clone3, &args, sizeof(args));
	return pid < 0 ? -errno : (int)pid;
}

/* Pin the new init to another CPU while the factory builds the base tree, then to the factory's
 * CPU: processes on the other one have work too. Nothing depends on it, so a failure is ignored. */
static void place_child(pid_t child, bool is_beside)
{
	cpu_set_t all, its;
	const int cpu = sched_getcpu();

	if (cpu < 0 || sched_getaffinity(child, sizeof(all), &all) != 0)
		return;
	CPU_ZERO(&its);
	CPU_SET((size_t)cpu, &its);
	if (is_beside)
		CPU_XOR(&its, &its, &all);
	/* EINVAL: there is no other. */
	if (sched_setaffinity(child, sizeof(its), &its) == 0)
		(void)sched_setaffinity(child, sizeof(all), &all);
}

/* Build the base tree of a profile, which its first child waits for. */
static int build_base(uint32_t profile, pid_t child, uint32_t *ret_stage)
{
	place_child(child, true);
	STAGE_HOOK(STEP, STAGE_BASE);
	const int error =
		mounts_build_base(&factory.plan, profile, factory.host, &shown, ret_stage);
	if (error)
		return error;
	factory.is_built[factory.plan.slot][profile] = true;
	place_child(child, false);
	/* Our own end for reading is there: this finds room and a reader. */
	return fd_write_all(factory.base[1], "", 1);
}

/* Clone a child that goes on in `run`, and tell the supervisor how it went. While the child enters
 * the namespaces that take longest, the base that it needs then is built here. */
static int run_in(uint32_t profile, uint32_t slot, uint32_t type, struct channel_message *message,
		  void (*run)(const struct factory *, uint32_t, const int *))
{
	const bool is_built = factory.is_built[factory.plan.slot][profile];
	const struct ipc_sandbox_created created = { .slot = slot };
	struct ipc_sandbox_failed failed = { .slot = slot, .stage = STAGE_NAMESPACES };
	int pidfd = -1;
	int error = is_built || pipe2(factory.base, O_CLOEXEC) == 0 ? 0 : -errno;
	const int pid = error ? error : clone_isolated(&pidfd);

	if (pid == 0)
		run(&factory, profile, message->fds);
	fd_close(&factory.next_cgroup);
	places_clear(&factory.places);
	error = pid < 0 ? pid : is_built ? 0 : build_base(profile, pid, &failed.stage);
	failed.error = (uint32_t)-error;
	/* Its init has not begun to serve: it waits for its base. ESRCH: it has ended by itself. */
	if (error && pidfd >= 0)
		(void)kernel_pidfd_send_signal(pidfd, SIGKILL);
	error = error ? channel_send(&factory.channel, IPC_TYPE_sandbox_failed, &failed, NULL, 0)
		      : channel_send(&factory.channel, type, &created, &pidfd, 0);
	fd_close(&pidfd);
	fd_close_all(factory.base, 2);
	return error;
}

static int handle_sandbox_create(void *context, struct channel_message *message)
{
	const struct ipc_sandbox_create *from = ipc_body(message, sandbox_create);

	if (from->generation >= GENERATIONS_MAX || !factory.plans[from->generation].bytes)
		return -EPROTO;
	factory.plan = factory.plans[from->generation];
	if (from->profile >= plan_profile_count(&factory.plan) ||
	    !places_fit(&factory.places, from->layers, &factory.plan,
			plan_profile(&factory.plan, from->profile)))
		return -EPROTO;
	factory.is_probed = from->probe != PROBE_NONE;
	factory.lasts = from->lasts;
	factory.is_last = from->is_last != 0;
	return run_in(from->profile, from->slot, IPC_TYPE_sandbox_created, message, init_run);
}

static int handle_helper_start(void *context, struct channel_message *message)
{
	const struct ipc_helper_start *from = ipc_body(message, helper_start);
	int profile;

	factory.plan = factory.plans[factory.newest];
	profile = plan_profile_find(&factory.plan, HELPER_PROFILE);
	if (profile < 0 || from->kind >= HELPER_KIND_COUNT)
		return -EPROTO;
	factory.helper = from->kind;
	fd_close(&factory.next_cgroup); /* this and these are a sandbox's that never came */
	places_clear(&factory.places);
	return run_in((uint32_t)profile, from->slot, IPC_TYPE_helper_started, message, helper_run);
}

static const dispatch_handler handlers[IPC_TYPE_COUNT] = {
	[IPC_TYPE_factory_start] = handle_factory_start,
	[IPC_TYPE_factory_cgroup] = handle_factory_cgroup,
	[IPC_TYPE_factory_pin] = handle_factory_pin,
	[IPC_TYPE_factory_serve] = handle_factory_serve,
	[IPC_TYPE_factory_policy] = handle_factory_policy,
	[IPC_TYPE_factory_forget] = handle_factory_forget,
	[IPC_TYPE_sandbox_cgroup] = handle_sandbox_fd,
	[IPC_TYPE_sandbox_layer] = handle_sandbox_layer,
	[IPC_TYPE_sandbox_workspace] = handle_sandbox_fd,
	[IPC_TYPE_sandbox_create] = handle_sandbox_create,
	[IPC_TYPE_helper_start] = handle_helper_start,
};

/* Inits and helpers see the end of their channels too; none shall outlive its parent as a zombie
 * that somebody else would have to reap. Our own end kills what does not go by itself. The remover
 * goes on without us: it has left our process group. */
static void await_children(void)
{
	for (int i = 0; i < CHILDREN_END_MS && waitpid(0, NULL, WNOHANG) >= 0; i++)
		(void)poll(NULL, 0, 1);
}

int factory_run(void)
{
	enum ipc_error wrong;
	int status = 1;

	factory.host = factory.cgroup = factory.next_cgroup = factory.places.hosts[0] =
		factory.places.hosts[1] = factory.base[0] = factory.base[1] = -1;
	factory.shown = &shown;
	factory.channel = (struct channel){ CHANNEL_FD, IPC_FACTORY, IPC_SUPERVISOR, IPC_SETUP };
	get_ready();
	while (status == 1)
		status =
			dispatch_one(&factory.channel, &scratch.request, 0, handlers, NULL, &wrong);
	await_children();
	const bool is_over = status == 0 || status == -EPIPE; /* perhaps before we are ready */

	/* A supervisor that was killed could not do this itself. Its inits see the end of their
	 * channels and our death; what remains is the directories. One that is there makes some for
	 * a sandbox meanwhile, which it takes away again when it hears of our end. */
	if (is_over && factory.cgroup >= 0)
		cgroup_empty(factory.cgroup, factory.cgroup_slots);
	return is_over ? 0 : 1;
}
