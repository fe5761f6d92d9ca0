/* SPDX-License-Identifier: Apache-2.0
 *
 * The supervisor and its factory, started (see launch.h). The factory comes first, and of the
 * process that becomes the supervisor: it needs longest, and needs nothing but its program to begin
 * with. What it is executed from is a sealed copy: what a sandbox's /proc/1/exe names can never be
 * written, by nobody.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/channel.h"
#include "common/fd.h"
#include "common/kernel.h"
#include "launch/launch.h"

/* Behind the descriptors that a program gets its own is put. */
#define FACTORY_IMAGE (START_FD_LAUNCHER + 1)
#define SUPERVISOR_IMAGE START_FD_END

/* `image` is executed by descriptor: after a change of account its path may be out of reach. */
static int execute(int image, char *name)
{
	char *const arguments[] = { name, NULL };
	char *const environment[] = { NULL };

	(void)kernel_execute(image, arguments, environment);
	return -errno;
}

/* The process that becomes the factory is in our memory until its exec, and nobody waits for it, so
 * that its parent can execute the supervisor meanwhile. What it uses there is its own and is not
 * written by others any more: that parent may be killed, and we go on. */
static struct {
	int image;
	int channel;
	int null;
	pid_t pid; /* for the launcher, whose memory it is */
	char stack[16384] __attribute__((aligned(16)));
} new_factory;

static int become_factory(void *context)
{
	static char name[] = "msp-child-init";
	static const int places[] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, START_FD_LAUNCHER,
				      FACTORY_IMAGE };
	const int fds[] = { new_factory.null, new_factory.null, STDERR_FILENO, new_factory.channel,
			    new_factory.image };

	(void)context;
	if (fd_place(fds, places, 5, 0xf) == 0)
		(void)execute(FACTORY_IMAGE, name);
	return MSP_EXIT_SOFTWARE; /* whoever talks to it finds out */
}

int launch_factory(const struct images *images, int null, struct factory *ret)
{
	int image = fd_sealed_from_file("msp-child-init", images->child_init);
	int error = image < 0 ? image : 0;
	int ends[2] = { -1, -1 };
	int pidfd = -1;

	if (!error)
		error = channel_pair(ends);
	new_factory.image = image;
	new_factory.channel = ends[1];
	new_factory.null = null;
	if (!error)
		new_factory.pid =
			clone(become_factory, new_factory.stack + sizeof(new_factory.stack),
			      CLONE_VM | CLONE_PIDFD | SIGCHLD, NULL, &pidfd);
	if (!error && new_factory.pid < 0)
		error = -errno;
	fd_close(&image);
	fd_close(&ends[1]);
	if (error)
		fd_close(&ends[0]);
	else
		*ret = (struct factory){ ends[0], pidfd };
	return error;
}

int launch_exec(const struct images *images, int channel, const struct factory *factory)
{
	static char name[] = "msp-supervisor";
	const int fds[] = { channel, factory->channel, factory->pidfd, images->supervisor };
	const int places[] = { START_FD_LAUNCHER, START_FD_FACTORY, START_FD_FACTORY_PIDFD,
			       SUPERVISOR_IMAGE };
	const int error = fd_place(fds, places, 4, 0x7);

	return error ? error : execute(SUPERVISOR_IMAGE, name);
}

/* In the child: the same, without the caller's stdin and stdout. */
static int become_child(const struct images *images, int channel, int null, const sigset_t *mask)
{
	struct factory factory = { -1, -1 };
	int error = sigprocmask(SIG_SETMASK, mask, NULL) == 0 ? 0 : -errno;

	if (!error)
		error = launch_factory(images, null, &factory);
	if (!error && (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0))
		error = -errno;
	return error ? error : launch_exec(images, channel, &factory);
}

int launch_spawn(const struct images *images, int channel, int null, const sigset_t *mask,
		 struct launched *ret)
{
	volatile int error = 0;
	pid_t pid;

	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* else others reap what it leaves */
	pid = vfork();
	/* The child runs in our memory until its exec: it calls the system, and touches `error` and
	 * what the factory is started from. */
	if (pid == 0) {
		error = become_child(images, channel, null, mask);
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

int launch_await(const struct launched *launched, int wait_ms)
{
	int status = MSP_EXIT_SOFTWARE << 8;
	struct pollfd entry = { .fd = kernel_pidfd_open(launched->supervisor), .events = POLLIN };
	int ready;

	do {
		ready = entry.fd < 0 ? 1 : poll(&entry, 1, wait_ms);
	} while (ready < 0 && errno == EINTR);
	if (ready == 0) /* our child, not reaped yet: nobody else's number */
		(void)kill(launched->supervisor, SIGKILL);
	fd_close(&entry.fd);
	while (waitpid(launched->supervisor, &status, 0) < 0 && errno == EINTR)
		;
	end_group(launched->factory, wait_ms);
	return status;
}
