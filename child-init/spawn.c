/* SPDX-License-Identifier: Apache-2.0
 *
 * The new process shares its memory with the init until it executes (as vfork does), and the init
 * waits: what a step found wrong is simply left in `attempt`. The steps change only what the
 * kernel keeps per process, and `attempt`.
 */
#include "spawn.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "common/confine/capabilities.h"
#include "common/confine/seccomp.h"
#include "common/fd.h"
#include "common/ipc/ipc_init.h"
#include "common/kernel.h"
#include "common/text/names.h"
#include "common/text/text.h"
#include "gate.h"
#include "layers.h"
#include "memory.h"
#include "probe.h"
#include "steps.h"

static struct attempt {
	const struct init *init;
	struct spawn *spawn;
	const struct ipc_spawn *request;
	bool is_workload;  /* it executes a program; else it is a probe alone */
	bool is_probe;     /* it tries the layers on its way */
	int terminal;      /* the workload's side of its terminal, or -1 */
	bool is_observed;  /* its filter has a listener */
	bool is_filtered;  /* it has its filter before it has a request */
	int to_init;       /* takes the listener, and ends with the exec; or -1 */
	struct text image; /* a name of spawn->image, if there is one */
	bool is_probed;    /* all acts of the probe are done */
	struct spawn_told *told;
} attempt;

static bool gives_way; /* the init, which is in SCHED_BATCH */

/* The report of a process that shares the init's memory. */
static struct spawn_told told_here;

/* It is woken when the workload begins to end, and would hold that up. */
void spawn_give_way(void)
{
	gives_way = syscall(SYS_sched_getscheduler, 0) == SCHED_OTHER &&
		    kernel_set_scheduler(SCHED_BATCH) == 0;
}

/* Point `list` at each string of `bytes`, which has a NUL after each. */
static int split_list(uint8_t *bytes, uint32_t size, char **list, size_t room)
{
	size_t count = 0;

	if (size > 0 && bytes[size - 1] != '\0')
		return -EINVAL;
	for (uint32_t at = 0; at < size; at += (uint32_t)strlen((char *)bytes + at) + 1) {
		if (count + 1 >= room)
			return -E2BIG;
		list[count++] = (char *)bytes + at;
	}
	list[count] = NULL;
	return 0;
}

/* Must: leave the init's process group, so that keys and signals for it reach no init; with a
 * terminal begin a session. Without one a new session would only cost the launch its share of the
 * CPU under load. */
static int become_leader(void)
{
	if (attempt.terminal < 0)
		return setpgid(0, 0) == 0 ? 0 : -errno;
	return setsid() >= 0 && ioctl(attempt.terminal, TIOCSCTTY, 0) == 0 ? 0 : -errno;
}

/* Must: come before close_descriptors(), which keeps 0 to 2. Must not: leave there a descriptor of
 * the init. */
static int attach_stdio(void)
{
	for (int fd = 0; fd < 3; fd++) {
		const int own = attempt.spawn->stdio[fd];

		if (dup2(attempt.terminal >= 0 ? attempt.terminal : own, fd) < 0)
			return -errno;
	}
	return 0;
}

/* Set all limits but the one on descriptors, or that one. A workload gets at most half of the
 * descriptors that this process may have: the kernel compares all that a user's processes have in
 * flight with the sender's own limit, so that msp can still send when a workload cannot. At the
 * disk limit it can write no file; nor can the kernel for it, which copies one up whose permissions
 * change. */
static int set_limits(bool on_descriptors)
{
	const struct plan_profile *profile = attempt.init->profile;
	const struct plan_rlimit *limits = plan_rlimits(&attempt.init->factory->plan, profile);

	for (uint32_t i = 0; i < profile->rlimit_count; i++) {
		struct rlimit now;

		if ((limits[i].resource == RLIMIT_NOFILE) != on_descriptors)
			continue;
		if (getrlimit(limits[i].resource, &now) != 0)
			return -errno;
		now.rlim_max /= on_descriptors ? 2 : 1;
		if (limits[i].resource == RLIMIT_FSIZE && factory_is_full(attempt.init->factory))
			now.rlim_max = 0;
		now.rlim_max = limits[i].value < now.rlim_max ? limits[i].value : now.rlim_max;
		now.rlim_cur = now.rlim_max;
		if (prlimit(0, limits[i].resource, &now, NULL) != 0)
			return -errno;
	}
	return 0;
}

/* Must: lower the hard limit too. Must not: come before the last message of this process: the
 * kernel counts against it the descriptors that all processes of the user have in flight, those of
 * other sandboxes too. */
static int set_descriptor_limit(void)
{
	return set_limits(true);
}

/* Must: lower the hard limits too, which the workload could raise itself to. */
static int set_rlimits(void)
{
	return set_limits(false);
}

/* Must: leave no capability in any set, over no namespace. */
static int drop_capabilities(void)
{
	return capabilities_set(0);
}

/* Must: come before every step that opens a path. Needs no_new_privs, which the init has set. */
static int enter_landlock(void)
{
	return landlock_enter(attempt.init->ruleset);
}

/* Must: come after enter_landlock() and drop_capabilities(), so that the file is made with the
 * workload's own rights: what can go wrong here, the workload could do itself. Must not: follow a
 * link at the last name, or take a file that exists. */
static int write_code(void)
{
	char *path = attempt.spawn->code_path;
	int error, fd;

	if (attempt.spawn->code < 0 || factory_is_full(attempt.init->factory))
		return attempt.spawn->code < 0 ? 0 : -ENOSPC;
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0755) != 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		error = -errno;
	else if (attempt.request->feed == FEED_WAIT)
		error = gate_enter(scratch.arguments[0]);
	else
		error = fd_copy(attempt.spawn->code, fd);
	fd_close(&fd);
	return error;
}

/* Must: close all but the standard streams, a socket that leads to the init and ends with the exec,
 * and the program. Must not: run before write_code(), which reads a descriptor. */
static int close_descriptors(void)
{
	const int kept[] = { attempt.to_init, attempt.spawn->image };
	int next = CHANNEL_FD;

	for (int i = 0; i < 2; i++) {
		if (kept[i] >= 0 && kept[i] != next && dup3(kept[i], next, O_CLOEXEC) < 0)
			return -errno;
		next += kept[i] >= 0;
	}
	if (attempt.to_init >= 0)
		attempt.to_init = CHANNEL_FD;
	text_add(&attempt.image, "/proc/self/fd/");
	text_add_number(&attempt.image, (uint64_t)next - 1);
	return layer_close_descriptors((unsigned int)next);
}

/* Must: come after enter_landlock(), for the workload's own rights, and after close_descriptors(),
 * when /proc/self/fd leads nowhere, to a cgroup of the host least of all. */
static int change_directory(void)
{
	return chdir(attempt.request->cwd) == 0 ? 0 : -errno;
}

/* Must: give back the init's own umask and scheduling. */
static int reset_own(void)
{
	(void)umask(022);
	return gives_way && kernel_set_scheduler(SCHED_OTHER) != 0 ? -errno : 0;
}

/* Must: unblock every signal. Must not: do so in a standby process before its request: a signal for
 * the workload would end it with no report. */
static int take_signals(void)
{
	sigset_t none;

	return sigemptyset(&none) == 0 && sigprocmask(SIG_SETMASK, &none, NULL) == 0 ? 0 : -errno;
}

/* Must: come last but for calls that the filter itself allows: those of the exec; of
 * set_descriptor_limit() where the filter has a listener to send; and of all of RESUME where the
 * profile says filters_standby, which msp-policy computes from the filter. */
static int install_filter(void)
{
	const struct plan_profile *profile = attempt.init->profile;
	const struct sock_filter *filter = plan_filter(&attempt.init->factory->plan, profile);
	const struct channel to_init = { attempt.to_init, IPC_WORKLOAD, IPC_INIT, IPC_SERVE };
	const struct ipc_spawn_listener message = { .slot = attempt.spawn ? attempt.spawn->slot
									  : 0 };

	if (!attempt.is_observed)
		return seccomp_install(filter, profile->filter_count);
	const int listener = seccomp_install_observed(filter, profile->filter_count);
	/* The init waits for the exec and does not answer for the filter yet: until then it must
	 * allow every call (seccomp_can_observe() in policy/). */
	return listener < 0
		       ? listener
		       : channel_send(&to_init, IPC_TYPE_spawn_listener, &message, &listener, 0);
}

/* Must: come last, with every barrier in force. execvpe(3) looks at the caller's own PATH: the
 * caller is the workload from here on. A filter hides execveat(2), so that an image goes by the
 * name that the sandbox's /proc has for it; no rule of Landlock is about a sealed memory file. */
static int execute_program(void)
{
	environ = scratch.environment;
	attempt.told->executed_us = clock_now_us();
	if (attempt.spawn->image >= 0)
		(void)execve(attempt.image.bytes, scratch.arguments, scratch.environment);
	else
		(void)execvpe(scratch.arguments[0], scratch.arguments, scratch.environment);
	return -errno;
}

/* Must: fail if a layer was found open, so that nothing is executed behind it. */
static int end_probe(void)
{
	attempt.is_probed = true;
	return probe_tell(NULL) ? 0 : -ECANCELED;
}

/* clang-format off */
static const struct step standby[] = {
#define STANDBY(stage, run, who, when) { run, stage, who, when },
#include "steps.def"
};

static const struct step resume[] = {
#define RESUME(stage, run, who, when) { run, stage, who, when },
#include "steps.def"
};
/* clang-format on */

static bool is_due(const struct step *step)
{
	const uint16_t filter = attempt.is_filtered ? IF_FILTERED_STANDBY : IF_FILTERED_LAST;
	const uint16_t listener = attempt.is_observed ? IF_OBSERVED : IF_UNOBSERVED;

	return (step->when == ALWAYS || step->when == filter || step->when == listener) &&
	       (step->who != WORKLOAD || attempt.is_workload) &&
	       (step->who != PROBE || attempt.is_probe);
}

int spawn_run_steps(const struct step *steps, size_t count, uint32_t *ret_stage)
{
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		if (!is_due(&steps[i]))
			continue;
		STAGE_HOOK(STEP, steps[i].stage);
		*ret_stage = steps[i].stage;
		error = steps[i].run();
	}
	return error;
}

static int run_own(const struct step *steps, size_t count)
{
	attempt.told->error = spawn_run_steps(steps, count, &attempt.told->stage);
	return attempt.told->error;
}

static _Noreturn void child_main(void)
{
	if (run_own(STEPS(standby)) == 0)
		(void)run_own(STEPS(resume));
	_exit(MSP_EXIT_SANDBOX); /* a step failed, or it is a probe that is no workload */
}

/*
 * clone3 with CLONE_VM | CLONE_VFORK on the caller's own stack. The call must be inline: a wrapper
 * function would return twice, and the first return (the child's) would overwrite the second's
 * address. The child goes straight into a function that never returns, so it only writes below
 * this frame.
 */
static long clone_child(const struct kernel_clone_args *args)
{
	long pid = SYS_clone3;

	__asm__ volatile("syscall"
			 : "+a"(pid)
			 : "D"(args), "S"(sizeof(*args))
			 : "rcx", "r11", "memory");
	if (pid == 0)
		child_main();
	return pid;
}

/* A terminal of the sandbox's own devpts, with its size from the first moment on: the workload may
 * ask for it before the frontend has the master. */
static int open_terminal(const struct ipc_spawn *request, int *ret_master)
{
	const struct winsize size = { .ws_row = (uint16_t)request->tty_rows,
				      .ws_col = (uint16_t)request->tty_columns };
	int unlocked = 0, slave = -1;

	*ret_master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*ret_master >= 0 && ioctl(*ret_master, TIOCSPTLCK, &unlocked) == 0 &&
	    ioctl(*ret_master, TIOCSWINSZ, &size) == 0)
		slave = ioctl(*ret_master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	return slave < 0 ? -errno : slave;
}

/* The strings are used where they lie. */
static int prepare_lists(struct ipc_spawn *request)
{
	int error = split_list(request->argv, request->argv_size, scratch.arguments, ARGUMENTS_MAX);

	if (!error && !scratch.arguments[0])
		error = -EINVAL;
	if (!error)
		error = split_list(request->environment, request->environment_size,
				   scratch.environment, ENVIRONMENT_MAX);
	if (!error && !request->use_tty && attempt.spawn->stdio[0] < 0)
		error = -EBADF;
	return error;
}

int spawn_hear(int from, int flags, struct observed *observed)
{
	const struct channel channel = { from, IPC_INIT, IPC_WORKLOAD, IPC_SERVE };
	enum ipc_error wrong;
	const int status = channel_receive(&channel, &scratch.told, flags, &wrong);

	if (status == 1)
		observe_begin(observed, channel_take_fd(&scratch.told, 0));
	return status;
}

/* A probe alone is reaped like any other child when it is gone: it has said everything by then. */
static int run_child(int ends[2], struct workload *ret, uint32_t *ret_stage)
{
	struct kernel_clone_args args = { .flags = CLONE_VM | CLONE_VFORK, .exit_signal = SIGCHLD };
	int error;
	long pid;

	attempt.to_init = ends[1];
	kernel_clone_into(&args, attempt.spawn->cgroup);
	pid = clone_child(&args);
	fd_close(&ends[1]);
	*ret_stage = pid < 0 ? STAGE_CLONE : told_here.stage;
	error = pid < 0 ? (int)pid : told_here.error;
	ret->is_probed = attempt.is_probed;
	if (!error && !attempt.is_workload && !attempt.is_probed) {
		*ret_stage = STAGE_PROBE;
		error = -ECANCELED;
	}
	if (error || !attempt.is_workload)
		return error;
	*ret_stage = STAGE_LISTENER;
	if (ends[0] >= 0)
		error = spawn_hear(ends[0], 0, &ret->observed);
	error = error < 0 ? error : 0; /* killed before it could, it has not executed anything */
	if (error)
		(void)kill((pid_t)pid, SIGKILL); /* not reaped yet, so it is that process */
	ret->pid = error ? 0 : (pid_t)pid;
	ret->executed_us = told_here.executed_us;
	return error;
}

int spawn_start(const struct init *init, struct spawn *spawn, struct ipc_spawn *request,
		struct workload *ret, uint32_t *ret_stage)
{
	const bool is_workload = request->probe != PROBE_ALONE;
	int ends[2] = { -1, -1 };
	int error;

	spawn->slot = request->slot;
	attempt = (struct attempt){ .init = init,
				    .spawn = spawn,
				    .request = request,
				    .is_workload = is_workload,
				    .is_probe = request->probe != PROBE_NONE,
				    .terminal = -1,
				    .is_observed = is_workload && LAYER_OBSERVES(init->profile),
				    .to_init = -1,
				    .told = &told_here };
	told_here = (struct spawn_told){ 0 };
	*ret = (struct workload)WORKLOAD_NONE;
	*ret_stage = STAGE_STDIO;
	probe_begin(init);
	error = is_workload ? prepare_lists(request) : 0;
	if (!error && request->use_tty) {
		*ret_stage = STAGE_TERMINAL;
		attempt.terminal = open_terminal(request, &ret->terminal);
		error = attempt.terminal < 0 ? attempt.terminal : 0;
	}
	if (!error && attempt.is_observed) {
		*ret_stage = STAGE_LISTENER;
		error = channel_pair(ends);
	}
	if (!error)
		error = run_child(ends, ret, ret_stage);
	fd_close_all(ends, 2);
	fd_close(&attempt.terminal);
	if (error)
		fd_close(&ret->terminal);
	return error;
}

int spawn_standby(const struct init *init, int to_init, struct spawn_told *told)
{
	attempt = (struct attempt){ .init = init,
				    .is_workload = true,
				    .terminal = -1,
				    .is_observed = LAYER_OBSERVES(init->profile),
				    .is_filtered = init->profile->filters_standby,
				    .to_init = to_init,
				    .told = told };
	scratch.arguments[0] = scratch.environment[0] = NULL;
	return run_own(STEPS(standby));
}

void spawn_become(struct spawn *spawn, struct ipc_spawn *request)
{
	spawn->slot = request->slot;
	attempt.spawn = spawn;
	attempt.request = request;
	attempt.told->stage = STAGE_STDIO;
	/* A process that waits has no terminal, and was not probed. */
	attempt.told->error =
		request->use_tty || request->probe != PROBE_NONE ? -EPROTO : prepare_lists(request);
	if (!attempt.told->error)
		(void)run_own(STEPS(resume));
	_exit(MSP_EXIT_SANDBOX);
}

bool spawn_feed(const struct spawn *spawn, const struct spawn *waiting, pid_t pid)
{
	int file = kernel_openat2(AT_FDCWD, waiting->code_path, O_WRONLY | O_CLOEXEC,
				  RESOLVE_NO_SYMLINKS);
	const bool is_there = file >= 0 && fd_copy(spawn->code, file) == 0;

	fd_close(&file);
	return is_there && gate_open(pid);
}

/* Do not follow a link: by it a workload, whose rights are narrower than this process's, could have
 * another file removed. */
void spawn_remove_code(struct spawn *spawn)
{
	char *name = strrchr(spawn->code_path, '/');
	int folder;

	if (!name)
		return;
	*name = '\0';
	folder = kernel_openat2(AT_FDCWD, spawn->code_path, O_PATH | O_DIRECTORY | O_CLOEXEC,
				RESOLVE_NO_SYMLINKS);
	if (folder >= 0 && unlinkat(folder, name + 1, 0) == 0)
		(void)rmdir(spawn->code_path); /* it may have got more than that file */
	fd_close(&folder);
}

void spawn_done(struct spawn *spawn)
{
	fd_close_all(spawn->stdio, 3);
	fd_close(&spawn->cgroup);
	fd_close(&spawn->image);
	fd_close(&spawn->code);
}
