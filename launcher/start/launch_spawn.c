/* SPDX-License-Identifier: Apache-2.0
 *
 * The supervisor and its factory, started (see launch.h). The factory comes first, and of the
 * process that becomes the supervisor: it needs longest, and needs nothing but its program to begin
 * with. What it is executed from is a sealed copy: what a sandbox's /proc/1/exe names can never be
 * written, by nobody.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/channel.h"
#include "common/ipc/ipc_start.h"
#include "common/kernel.h"
#include "launcher/start/launch.h"

/* Behind the descriptors that a program gets, its own is put. */
#define SUPERVISOR_IMAGE START_FD_END

/* Descriptors of a child at most, its image among them. */
#define BEHIND_LAST (4 + LAUNCH_STEWARD_FDS_MAX + 1)

/* `image` is executed by descriptor: after a change of account its path may be out of reach. */
static int execute_image(int image, char *name)
{
	char *const arguments[] = { name, NULL };
	char *const environment[] = { NULL };

	(void)kernel_execute(image, arguments, environment);
	return -errno;
}

/* A child that is in our memory until its exec, and that nobody waits for, so that its parent can
 * go on meanwhile. What it uses there is its own and is not written by others any more: that parent
 * may be killed, and the child goes on. */
struct child {
	char *name;
	int fds[BEHIND_LAST]; /* by the number that the program gets each under */
	int fd_count;
	pid_t pid; /* for the launcher, whose memory it is */
	char stack[16384] __attribute__((aligned(16)));
};

static char factory_name[] = "msp-child-init";
static struct child new_factory = { .name = factory_name };
static char steward_names[LAUNCH_STEWARDS][sizeof("msp-audit")] = { "msp-audit", "msp-store",
								    "msp-cable", "msp-audit" };
static struct child stewards[LAUNCH_STEWARDS];

static int become_program(void *context)
{
	const struct child *child = context;
	const int image = child->fd_count - 1; /* the program gets all but its own image */

	(void)signal(SIGXFSZ, SIG_DFL); /* a workload inherits the factory's */
	if (fd_place(child->fds, NULL, (size_t)child->fd_count, (1U << image) - 1) == 0)
		(void)execute_image(image, child->name);
	return MSP_EXIT_SOFTWARE; /* its peer sees the end */
}

/* Without `ret_pidfd` the child's end is not signalled, and waiting for it needs __WALL. */
static int start_child(struct child *child, int *ret_pidfd)
{
	const int flags = CLONE_VM | (ret_pidfd ? CLONE_PIDFD | SIGCHLD : 0);

	child->pid =
		clone(become_program, child->stack + sizeof(child->stack), flags, child, ret_pidfd);
	return child->pid < 0 ? -errno : 0;
}

int launch_factory(const struct images *images, int state, int null, struct factory *ret)
{
	int image FD_OWNED = fd_sealed_from_file("msp-child-init", images->child_init);
	int ends[2] = { -1, -1 };
	int error = image < 0 ? image : channel_pair(ends);
	int pidfd = -1;

	if (error)
		return error;

	/* No directory and no program, in the place of what is missing. */
	const int fds[] = { null,
			    null,
			    STDERR_FILENO,
			    ends[1],
			    state < 0 ? null : state,
			    images->broker < 0 ? null : images->broker,
			    images->layers < 0 ? null : images->layers,
			    image };

	memcpy(new_factory.fds, fds, sizeof(fds));
	new_factory.fd_count = sizeof(fds) / sizeof(fds[0]);
	error = start_child(&new_factory, &pidfd);
	fd_close(&ends[1]);
	if (error)
		fd_close(&ends[0]);
	else
		*ret = (struct factory){ ends[0], pidfd };
	return error;
}

int launch_steward(enum launch_steward which, int image, const int *fds, size_t count)
{
	struct child *child = &stewards[which];
	int null FD_OWNED = open("/dev/null", O_RDWR | O_CLOEXEC);
	int ends[2] = { -1, -1 };
	int error = null < 0 ? -errno : channel_pair(ends);

	if (!error) {
		const int first[] = { null, null, STDERR_FILENO, ends[1] };

		memcpy(child->fds, first, sizeof(first));
		memcpy(child->fds + 4, fds, count * sizeof(*fds));
		child->fds[4 + count] = image;
		child->fd_count = (int)count + 5;
		child->name = steward_names[which];
		error = start_child(child, NULL);
	}
	fd_close(&ends[1]);
	return fd_unless(error, ends[0]);
}

int launch_steward_pidfd(enum launch_steward which)
{
	return fd_result(stewards[which].pid > 0 ? kernel_pidfd_open(stewards[which].pid) : -1);
}

int launch_exec(const struct images *images, int channel, const struct factory *factory)
{
	static char name[] = "msp-supervisor";
	const int fds[] = { channel, factory->channel, factory->pidfd, images->supervisor };
	const int places[] = { START_FD_LAUNCHER, START_FD_FACTORY, START_FD_FACTORY_PIDFD,
			       SUPERVISOR_IMAGE };
	const int error = fd_place(fds, places, 4, 0x7);

	return error ? error : execute_image(SUPERVISOR_IMAGE, name);
}

int launch_exec_refused(const struct images *images, int reason)
{
	static char name[] = "msp-broker";
	const int fds[] = { reason, images->broker };
	const int places[] = { START_FD_LAUNCHER, SUPERVISOR_IMAGE };
	const int error = fd_place(fds, places, 2, 0x1);

	return error ? error : execute_image(SUPERVISOR_IMAGE, name);
}

/* In the child: the same, without the caller's stdin and stdout. */
static int become_child(const struct images *images, int state, int channel, int null,
			const sigset_t *mask)
{
	struct factory factory = { -1, -1 };
	int error = sigprocmask(SIG_SETMASK, mask, NULL) == 0 ? 0 : -errno;

	if (!error)
		error = launch_factory(images, state, null, &factory);
	if (!error && (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0))
		error = -errno;
	return error ? error : launch_exec(images, channel, &factory);
}

int launch_spawn(const struct images *images, int state, int channel, int null,
		 const sigset_t *mask, struct launched *ret)
{
	volatile int error = 0;
	pid_t pid;

	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* else others reap what it leaves */
	pid = vfork();
	/* The child runs in our memory until its exec: it calls the system, and touches `error` and
	 * what the factory is started from. */
	if (pid == 0) {
		error = become_child(images, state, channel, null, mask);
		_exit(MSP_EXIT_SOFTWARE);
	}
	if (pid < 0)
		return -errno;
	if (error)
		return error; /* the child is a zombie, which our own end clears */
	*ret = (struct launched){ pid, new_factory.pid };
	return 0;
}

/* A supervisor that has reported all leaves its factory and its sandbox's init to us. They are one
 * process group, whose number is not given to others while one of them is our child. */
static void end_group(pid_t group, int wait_ms)
{
	const struct timespec most = { .tv_sec = wait_ms / 1000 };
	siginfo_t end = { 0 };
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	if (group <= 0 || sigprocmask(SIG_BLOCK, &set, NULL) != 0 ||
	    waitid(P_PGID, (id_t)group, &end, WEXITED | WNOHANG | WNOWAIT) != 0)
		return;
	(void)kill(-group, SIGKILL);
	while (waitid(P_PGID, (id_t)group, &end, WEXITED | WNOHANG) == 0) {
		if (end.si_pid == 0 && sigtimedwait(&set, NULL, &most) < 0 && errno == EAGAIN)
			return;
	}
}

/* Wait for the end of a child. False: it runs after `wait_ms`. */
static bool await_child(pid_t child, int wait_ms)
{
	struct pollfd entry = { .fd = kernel_pidfd_open(child), .events = POLLIN };
	int ready;

	do {
		ready = entry.fd < 0 ? 1 : poll(&entry, 1, wait_ms);
	} while (ready < 0 && errno == EINTR);
	fd_close(&entry.fd);
	return ready != 0;
}

void launch_await_stewards(int wait_ms)
{
	for (int i = 0; i < LAUNCH_STEWARDS; i++) {
		const pid_t pid = stewards[i].pid;

		if (pid > 0 && waitpid(pid, NULL, __WALL | WNOHANG) == 0 &&
		    await_child(pid, wait_ms))
			(void)waitpid(pid, NULL, __WALL | WNOHANG);
	}
}

int launch_await(const struct launched *launched, int wait_ms)
{
	int status = MSP_EXIT_SOFTWARE << 8;

	if (!await_child(launched->supervisor, wait_ms)) /* not reaped: nobody else's number */
		(void)kill(launched->supervisor, SIGKILL);
	while (waitpid(launched->supervisor, &status, 0) < 0 && errno == EINTR)
		;
	end_group(launched->factory, wait_ms);
	launch_await_stewards(wait_ms);
	return status;
}
