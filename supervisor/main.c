/* SPDX-License-Identifier: Apache-2.0
 *
 * Theory of operation
 *
 * The supervisor decides; it neither reads text from anybody but the kernel nor sees a byte that a
 * workload wrote. It is a static program without a heap.
 *
 * It starts with a channel on which a launcher (msp) says what to start from: the sealed plan, the
 * images of our other processes, perhaps a cgroup directory (start.c); and with another one to a
 * child, the factory, which alone clones. It never forks, and confines itself: Landlock with
 * nothing but that cgroup directory, and its own system call list, which refuses O_PATH, since
 * Landlock does not govern that (confine.c).
 *
 * From then on it is a loop over channels (handlers.c): a frontend, msp-broker or the msp that
 * launched it, asks for executions; each gets an ephemeral sandbox (execution.c, sandbox.c), or
 * runs in a persistent one (persistent.c), whose files are in the store (store.c). What is in these
 * files only msp-layers reads, which is started for each piece of work (layers_job.c). The pipes of
 * a workload go to the frontend by descriptor; the supervisor closes its own copies at once. What
 * is asked and what becomes of it is in the audit log, which msp-audit writes (audit.c), before it
 * happens.
 *
 * Started by msp run or msp serve it has one frontend (frontend.c) and ends with it. As the user's
 * service it has as many as connect to its socket (service.c), and the end of one ends the
 * executions of that one.
 *
 * The end of the factory, or SIGINT, SIGTERM and SIGHUP, end every sandbox and then the supervisor;
 * to the service SIGHUP means that the operator's policy may have changed (generation.c).
 * If it is killed, the same happens without it: inits and brokers see the end of their channels,
 * the factory too, and it empties the cgroups.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/audit.h"
#include "base/state.h"
#include "common/confine/relro.h"
#include "common/fd.h"
#include "common/ipc/ipc_start.h"
#include "common/kernel.h"
#include "common/log.h"
#include "common/stage_hook.h"
#include "confine.h"
#include "front/frontend.h"
#include "front/handlers.h"
#include "front/handlers_list.h"
#include "front/handlers_start.h"
#include "front/reload.h"
#include "front/service.h"
#include "persistent/layers_job.h"
#include "run/deferred.h"
#include "run/execution.h"
#include "run/pool.h"
#include "run/sandbox.h"
#include "run/standby.h"
#include "start.h"

/* Longest wait for killed sandboxes at the end: clients give 50 to 450 ms in all. A service manager
 * gives seconds, and there may be a thousand sandboxes to clear away. */
#define END_US 150000
#define SERVICE_END_US 5000000

/* Longest wait for work on files: a client does not wait for it, but a person does. */
#define WORK_END_US 5000000
#define PERSONS_WORK_END_US 60000000

/* And for an apply or what takes one back: killed, it has to be recovered before the host's files
 * are whole again. The unit's TimeoutStopSec and the launcher's wait are longer. */
#define HOST_WORK_END_US 60000000
#define END_STEP_US 1000

static struct loop_watch signal_watch;

static void on_signal(void *context)
{
	const int *fd = context;
	struct signalfd_siginfo info;

	if (read(*fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (supervisor.is_service && info.ssi_signo == SIGHUP) {
		reload_policy();
		return;
	}
	supervisor.exit_status = MSP_EXIT_SIGNAL_BASE + (int)info.ssi_signo;
	supervisor.is_ending = true;
}

static int watch_signals(void)
{
	static int fd;
	sigset_t set;

	if (sigemptyset(&set) != 0 || sigaddset(&set, SIGINT) != 0 ||
	    sigaddset(&set, SIGTERM) != 0 || sigaddset(&set, SIGHUP) != 0 ||
	    sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : loop_add(&signal_watch, fd, on_signal, &fd);
}

/* The client's descriptors go to the broker; afterwards they are no longer ours. */
static int attach_client(void)
{
	const int stdio[] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };
	int null FD_OWNED = open("/dev/null", O_RDWR | O_CLOEXEC);
	int error = null < 0 ? -errno : frontend_add_broker(stdio, handlers_on_frontend);

	if (!error && (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0))
		error = -errno;
	return error;
}

static int attach_frontends(const struct start *start)
{
	int launcher = START_FD_LAUNCHER;
	int error;

	supervisor.is_persons = start->frontend == FRONTEND_LAUNCHER;
	if (supervisor.is_persons) {
		error = start->opener < 0 ? 0 : reload_keep_launcher(start->opener);
		if (!error && !frontend_add(launcher, false, handlers_on_frontend))
			error = -ENFILE;
		return error;
	}
	error = reload_keep_launcher(launcher);
	if (!error && start->frontend == FRONTEND_BROKER)
		return attach_client();
	return error ? error : service_open(&start->service, handlers_on_frontend);
}

/* The tasks with a deadline, in the order in which they are done. */
static const struct {
	uint64_t (*deadline_us)(void);
	void (*tick)(void);
} parts[] = {
	{ execution_deadline_us, execution_expire },
	{ standby_deadline_us, standby_tick },
	{ deferred_deadline_us, handlers_tick },
	{ sandbox_deadline_us, sandbox_tick },
	{ handlers_list_deadline_us, handlers_list_tick },
	{ service_deadline_us, service_tick },
	{ pool_deadline_us, pool_tick },
};

#define PARTS (sizeof(parts) / sizeof(parts[0]))

static void serve_loop(void)
{
	while (!supervisor.is_ending) {
		uint64_t first_us = UINT64_MAX;
		int error;

		for (size_t i = 0; i < PARTS; i++) {
			const uint64_t due_us = parts[i].deadline_us();

			first_us = due_us < first_us ? due_us : first_us;
		}
		error = loop_turn(first_us);
		if (error)
			log_fatal(MSP_EXIT_SOFTWARE, "the event loop failed: %s",
				  errno_text(-error));
		for (size_t i = 0; i < PARTS; i++)
			parts[i].tick();
		frontend_regulate();
	}
}

static void on_factory_end(void *context)
{
	/* end_all() collects it */
}

static bool end_sandboxes(void)
{
	const bool are_executions_over = execution_end_all();
	const bool is_pool_over = pool_end_all();

	return sandbox_end_all() && are_executions_over && is_pool_over &&
	       !layers_job_is_removing();
}

/* How long sandboxes are waited for at the end, by what is being done now. */
static uint64_t wait_us(void)
{
	if (!sandbox_is_working() && !layers_job_is_removing())
		return supervisor.is_service ? SERVICE_END_US : END_US;
	return supervisor.is_persons && supervisor.exit_status == 0 ? PERSONS_WORK_END_US
								    : WORK_END_US;
}

/* The time does not run while files of the host are changed. Until when the rest may take. */
static uint64_t wait_for_sandboxes(void)
{
	const uint64_t host_us = clock_now_us() + HOST_WORK_END_US;
	uint64_t began_us = clock_now_us();
	uint64_t deadline = began_us + wait_us();

	while (!end_sandboxes() && clock_now_us() < deadline) {
		/* The deadline ends it whatever happens. */
		(void)loop_turn(sandbox_deadline_us() < deadline ? sandbox_deadline_us()
								 : deadline);
		if (layers_job_is_writing_host() && clock_now_us() < host_us)
			began_us = clock_now_us();
		if (began_us + wait_us() > deadline)
			deadline = began_us + wait_us();
	}
	return deadline;
}

/* Return whether all is reported of one command in an ephemeral sandbox: the launcher waits for the
 * processes below us beside our own end, and removes the cgroups. */
static bool is_all_told(void)
{
	return supervisor.is_for_one && supervisor.executions_live == 0 &&
	       supervisor.starts_pending == 0 && supervisor.factory.fd >= 0;
}

static void end_all(void)
{
	static struct loop_watch factory_end;
	uint64_t deadline;
	bool was_forced = false;
	siginfo_t factory = { 0 };

	service_tell_stopping();
	if (supervisor.exit_status >= MSP_EXIT_SIGNAL_BASE) /* else it is a fault that ends us */
		execution_report_stop();
	frontend_let_all_go(); /* brokers end with their channels */
	if (is_all_told()) {
		audit_stop(); /* it is written meanwhile */
		(void)kernel_pidfd_send_signal(supervisor.factory_pidfd, SIGKILL);
		(void)end_sandboxes();
		return;
	}
	layers_job_empty_trash(); /* also of what a crash has left in it */
	deadline = wait_for_sandboxes();
	/* It ends with its channel, unless it was stopped. */
	fd_close(&supervisor.factory.fd);
	(void)loop_add(&factory_end, supervisor.factory_pidfd, on_factory_end, NULL);
	while (start_ask_factory(0, &factory) == 0 && factory.si_pid == 0) {
		if (clock_now_us() >= deadline) {
			was_forced = true;
			(void)kernel_pidfd_send_signal(supervisor.factory_pidfd, SIGKILL);
			deadline = clock_now_us() + END_STEP_US;
		}
		(void)loop_turn(deadline);
	}
	/* The broker dies with it, and may be seen to end first. */
	if (factory.si_status == 0 || was_forced)
		return;
	log_line("the factory ended");
	state_note_fault();
}

/* The linker's symbols for the begin and the end of the tables. */
/* NOLINTNEXTLINE(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): its own names */
extern char __bss_start[], _end[];

/* They are large and hardly used: one page that is needed shall not be two megabytes. */
static void keep_tables_small(void)
{
	const uintptr_t page = 4096;
	const uintptr_t begin = ((uintptr_t)__bss_start + page - 1) / page * page;

	/* EINVAL: a kernel without huge pages */
	(void)madvise((void *)begin, (uintptr_t)_end - begin, MADV_NOHUGEPAGE);
}

int main(void)
{
	struct start start;
	int error;

	log_set_name("msp-supervisor");
	error = relro_protect();
	if (error)
		log_fatal(MSP_EXIT_SOFTWARE, "cannot protect its own tables: %s",
			  errno_text(-error));
	keep_tables_small();
	if (kernel_close_range(START_FD_END, ~0U) != 0)
		log_fatal(MSP_EXIT_SOFTWARE, "cannot close descriptors: %s", errno_text(errno));
	error = loop_open();
	if (error)
		log_fatal(MSP_EXIT_SOFTWARE, "cannot start: %s", errno_text(-error));
	start_supervisor(&start);
	error = watch_signals();
	if (!error)
		error = handlers_watch_factory();
	if (!error)
		error = attach_frontends(&start);
	if (error == -EPIPE) /* a peer has ended: the loop hears of it, and why */
		error = 0;
	handlers_prepare();
	if (!error && start.frontend != FRONTEND_LAUNCHER) { /* its one sandbox is probed anyway */
		error = handlers_start_probe();
		pool_open();
	}
	frontend_regulate();
	if (!error)
		error = confine_supervisor(supervisor.cgroup, supervisor.landlock_abi);
	if (error)
		log_fatal(MSP_EXIT_SOFTWARE, "cannot start: %s", errno_text(-error));
	/* The factory makes itself ready meanwhile, and msp-audit has made itself ready. */
	audit_await_start(deferred_audited);
	STAGE_HOOK(POINT, STAGE_POINT_CONFINED);
	serve_loop();
	STAGE_HOOK(POINT, STAGE_POINT_ENDING);
	end_all();
	audit_stop();
	/* The launcher started them as our children; they end with their channels. */
	if (kernel_close_range(STDERR_FILENO + 1, ~0U) == 0)
		while (waitid(P_ALL, 0, NULL, WEXITED | __WALL) == 0)
			;
	return supervisor.exit_status;
}
