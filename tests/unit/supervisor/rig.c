/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/store_client.h"
#include "common/fd.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/ipc_posture.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/limits_mode.h"
#include "common/ipc/refusal.h"
#include "common/kernel.h"
#include "front/frontend.h"
#include "front/handlers.h"
#include "run/deferred.h"
#include "run/execution.h"
#include "run/pool.h"
#include "run/sandbox.h"

/* More than any test has messages waiting in one channel. */
#define TURNS 8

static struct channel_message taken;
static struct ipc_posture_full postures[PLAN_PROFILES_MAX];

/* The store is in the test's own process: store_place.h opens it. */
int store_connect(int socket)
{
	(void)socket;
	return -ENOENT;
}

int store_list(int (*destroyed)(void *context, const char id[IPC_ID_MAX]),
	       int (*each)(void *context, const char id[IPC_ID_MAX]), void *context)
{
	const int count = destroyed ? store_sweep(destroyed, context) : 0;
	const int error = store_each(each, context);

	return error ? error : count > 0 ? count : 0;
}

void rig_open(struct rig *rig)
{
	int frontend[2];
	int factory[2];

	supervisor = (struct supervisor){ .sandbox_handlers = &execution_handlers,
					  .cgroup = -1,
					  .launcher.fd = -1,
					  .gateway.fd = -1,
					  .limits = LIMITS_FALLBACK,
					  .landlock_abi = 6,
					  .executions_max = EXECUTIONS_DEFAULT,
					  .uid = geteuid(),
					  .file_image = -1,
					  .null = -1,
					  .nothing = -1 };
	small_plan_open(&supervisor.plan);
	supervisor.generations[0].plan = supervisor.plan;
	supervisor.generations[0].postures = postures;
	for (size_t i = 0; i < PLAN_PROFILES_MAX; i++) /* a test of the probe says otherwise */
		supervisor.generations[0].postures[i].is_measured = 1;
	supervisor.plan_fd = fd_sealed_from_bytes("plan", RIG_PLAN, sizeof(RIG_PLAN));
	cr_assert_geq(supervisor.plan_fd, 0);
	cr_assert_eq(channel_pair(frontend), 0);
	cr_assert_eq(channel_pair(factory), 0);
	supervisor.factory = (struct channel){ factory[0], IPC_SUPERVISOR, IPC_FACTORY, IPC_SERVE };
	rig->frontend = (struct channel){ frontend[1], IPC_FRONTEND, IPC_SUPERVISOR, IPC_SETUP };
	rig->factory = (struct channel){ factory[1], IPC_FACTORY, IPC_SUPERVISOR, IPC_SERVE };
	memset(taken.fds, -1, sizeof(taken.fds));
	cr_assert_eq(loop_open(), 0);
	handlers_prepare();
	cr_assert_eq(handlers_watch_factory(), 0);
	cr_assert_not_null(frontend_add(frontend[0], false, handlers_on_frontend));
}

void rig_open_welcomed(struct rig *rig)
{
	struct ipc_hello hello = { .limits = LIMITS_FALLBACK };

	rig_open(rig);
	memcpy(hello.schema, ipc_schema_hash, sizeof(hello.schema));
	rig_send(&rig->frontend, IPC_TYPE_hello, &hello, NULL);
	(void)rig_take(&rig->frontend, IPC_TYPE_welcome);
	rig_release(); /* the plan */
	rig->frontend.phase = IPC_SERVE;
}

void rig_close(struct rig *rig)
{
	rig_release();
	fd_close(&rig->frontend.fd);
	fd_close(&rig->factory.fd);
	for (size_t i = 0; i < FRONTENDS_MAX; i++) {
		struct frontend *frontend = &supervisor.frontends[i];

		if (frontend->state == FRONTEND_OPEN) {
			fd_close(&frontend->channel.fd);
			fd_close(&frontend->client.fd);
		}
		if (frontend->state != FRONTEND_FREE)
			fd_close(&frontend->broker);
	}
	fd_close(&supervisor.plan_fd);
	fd_close(&supervisor.factory.fd);
}

void (*rig_others_settle)(void);

void rig_turn(void)
{
	for (int i = 0; i < TURNS; i++) {
		if (i >= TURNS / 2 && rig_others_settle)
			rig_others_settle();
		cr_assert_eq(loop_turn(0), 0);
		execution_expire();
		handlers_tick();
		sandbox_tick();
		frontend_regulate();
		pool_tick();
	}
}

void rig_run_ms(uint64_t ms)
{
	const uint64_t end = clock_now_us() + ms * 1000;

	while (clock_now_us() < end) {
		const uint64_t execution = execution_deadline_us();
		const uint64_t sandbox = sandbox_deadline_us();
		const uint64_t pool = pool_deadline_us();
		const uint64_t first = execution < sandbox ? execution : sandbox;
		const uint64_t next = first < pool ? first : pool;

		cr_assert_eq(loop_turn(deferred_deadline_us() == 0 ? 0
				       : next < end                ? next
								   : end),
			     0);
		execution_expire();
		handlers_tick();
		sandbox_tick();
		pool_tick();
	}
}

void rig_send(const struct channel *channel, uint32_t type, const void *message, const int *fds)
{
	cr_assert_eq(channel_send(channel, type, message, fds, MSG_DONTWAIT), 0);
	rig_turn();
}

static int receive(const struct channel *channel)
{
	enum ipc_error wrong = IPC_OK;
	int result;

	rig_release();
	result = channel_receive(channel, &taken, MSG_DONTWAIT, &wrong);
	cr_assert_neq(result, -EPROTO, "%s", ipc_error_text(wrong));
	return result;
}

struct channel_message *rig_take(const struct channel *channel, uint32_t type)
{
	const int result = receive(channel);

	cr_assert_eq(result, 1, "no %s: %d", ipc_message(type)->name, result);
	cr_assert_eq(taken.type, type, "%s (%s), not %s", ipc_message(taken.type)->name,
		     taken.type == IPC_TYPE_execution_refused
			     ? ipc_body(&taken, execution_refused)->detail
			     : "-",
		     ipc_message(type)->name);
	return &taken;
}

void rig_take_nothing(const struct channel *channel)
{
	const int result = receive(channel);

	cr_assert_eq(result, -EAGAIN, "%d, a %s", result,
		     result == 1 ? ipc_message(taken.type)->name : "-");
}

void rig_take_end(const struct channel *channel)
{
	cr_assert_eq(receive(channel), 0);
}

const struct ipc_execution_done *rig_take_done(const struct rig *rig, uint64_t request)
{
	const struct ipc_execution_done *done = rig_body(&rig->frontend, execution_done);

	cr_assert_eq(done->request, request);
	return done;
}

uint32_t rig_take_verdict(const struct rig *rig, uint64_t request)
{
	return rig_take_done(rig, request)->verdict;
}

bool rig_take_refusals(const struct rig *rig, uint64_t request)
{
	return rig_take_done(rig, request)->has_refusals != 0;
}

void rig_take_internal(const struct rig *rig, uint64_t request, uint32_t stage, uint32_t error)
{
	const struct ipc_execution_done *done = rig_take_done(rig, request);

	cr_assert_eq(done->verdict, VERDICT_INTERNAL);
	cr_assert_eq(done->stage, stage);
	cr_assert_eq(done->error, error);
}

void rig_take_refused(const struct rig *rig, uint64_t request, enum refusal reason)
{
	const struct ipc_execution_refused *refused = rig_body(&rig->frontend, execution_refused);

	cr_assert_eq(refused->request, request);
	cr_assert_eq(refused->reason, reason, "%u", refused->reason);
}

void rig_release(void)
{
	channel_message_done(&taken);
}

struct ipc_execution_start *rig_request(uint64_t number)
{
	static struct ipc_execution_start request;

	memset(&request, 0, sizeof(request));
	request.request = number;
	memcpy(request.profile, "default", sizeof("default"));
	memcpy(request.argv, "true", sizeof("true"));
	request.argv_size = sizeof("true");
	return &request;
}

struct rig_sandbox rig_begin(const struct rig *rig, uint64_t number)
{
	struct rig_sandbox sandbox = { .request = number };
	struct channel_message *message;

	rig_send(&rig->frontend, IPC_TYPE_execution_start, rig_request(number), NULL);
	message = rig_take(&rig->frontend, IPC_TYPE_execution_started);
	cr_assert_eq(ipc_body(message, execution_started)->request, number);
	memcpy(sandbox.stdio, message->fds, sizeof(sandbox.stdio));
	memset(message->fds, -1, sizeof(message->fds));
	message = rig_take(&rig->factory, IPC_TYPE_sandbox_create);
	sandbox.slot = ipc_body(message, sandbox_create)->slot;
	sandbox.generation = ipc_body(message, sandbox_create)->generation;
	sandbox.init = (struct channel){ message->fds[0], IPC_INIT, IPC_SUPERVISOR, IPC_SERVE };
	message->fds[0] = -1;
	return sandbox;
}

/* Held open by nobody but the test, or the end of a channel could not be seen: the pipe ends when
 * the child has closed all its descriptors. The child ends with the test, also with a failed one.
 */
pid_t rig_process(void)
{
	int closed[2];
	char byte;
	pid_t pid;

	cr_assert_eq(pipe(closed), 0);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)kernel_close_range(0, ~0U); /* the parent sees it when not */
		for (;;)
			(void)pause();
	}
	(void)close(closed[1]); /* its end is the child's */
	cr_assert_eq(read(closed[0], &byte, 1), 0);
	(void)close(closed[0]); /* nothing was written */
	return pid;
}

void rig_answer(const struct rig *rig, struct rig_sandbox *sandbox)
{
	const struct ipc_sandbox_created created = { .slot = sandbox->slot };
	int pidfd;

	sandbox->pid = rig_process();
	pidfd = (int)syscall(SYS_pidfd_open, sandbox->pid, 0);
	cr_assert_geq(pidfd, 0);
	rig_send(&rig->factory, IPC_TYPE_sandbox_created, &created, &pidfd);
	fd_close(&pidfd);
}

void rig_fail(const struct rig *rig, uint32_t slot, uint32_t stage, uint32_t error)
{
	const struct ipc_sandbox_failed failed = { slot, stage, error };

	rig_send(&rig->factory, IPC_TYPE_sandbox_failed, &failed, NULL);
}

void rig_report(const struct rig_sandbox *sandbox, uint32_t status)
{
	const struct ipc_spawn_done done = { .slot = sandbox->slot, .status = status };

	rig_send(&sandbox->init, IPC_TYPE_spawn_done, &done, NULL);
}

bool rig_is_killed(struct rig_sandbox *sandbox)
{
	int status = 0;

	for (int i = 0; i < 100; i++) {
		if (waitpid(sandbox->pid, &status, WNOHANG) == sandbox->pid) {
			sandbox->pid = 0;
			return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
		}
		(void)poll(NULL, 0, 10); /* time passes */
		execution_expire();      /* and its end is due */
	}
	return false;
}

void rig_end(struct rig_sandbox *sandbox)
{
	if (sandbox->pid > 0) {
		cr_assert_eq(kill(sandbox->pid, SIGKILL), 0);
		cr_assert_eq(waitpid(sandbox->pid, NULL, 0), sandbox->pid);
		sandbox->pid = 0;
	}
	fd_close_all(sandbox->stdio, 3);
	fd_close(&sandbox->init.fd);
	if (sandbox->standby.fd > 0)
		fd_close(&sandbox->standby.fd);
	rig_turn();
}

void rig_take_standby(struct rig_sandbox *sandbox)
{
	struct channel_message *message =
		rig_take(&sandbox->init, supervisor.cgroup >= 0 ? IPC_TYPE_spawn_standby_leaf
								: IPC_TYPE_spawn_standby);

	sandbox->standby = (struct channel){ message->fds[0], IPC_INIT, IPC_SUPERVISOR, IPC_SERVE };
	message->fds[0] = -1;
	/* It has its streams before it has a request. */
	message = rig_take(&sandbox->standby, IPC_TYPE_spawn_stdio);
	cr_assert_eq(ipc_body(message, spawn_stdio)->slot, STANDBY_SLOT);
}
