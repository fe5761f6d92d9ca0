/* SPDX-License-Identifier: Apache-2.0
 *
 * A supervisor between frontends, a factory and inits that the input plays, in the rig of the unit
 * tests. Each step of the input is a byte that chooses an act, and the act's parameters: requests
 * of every shape, answers to what was and was not asked, reports of inits, ends of channels, time
 * that is over, packets of any bytes.
 *
 * Properties: what init and factory are told is well formed, an execution is reported exactly once,
 * nothing is said about one that is not there, and in the end every slot is free and no descriptor
 * is left open.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/ipc_posture.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/limits_mode.h"
#include "common/ipc/refusal.h"
#include "front/frontend.h"
#include "front/handlers.h"
#include "property.h"
#include "rig.h"
#include "run/execution.h"

/* Request numbers are below it, so that they meet. */
#define NUMBERS 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int fuzz_epoll_create1(int flags);

struct play {
	struct rig rig;
	struct input input;
	bool is_live[NUMBERS]; /* accepted and not reported */
	struct channel inits[EXECUTIONS_MAX];
	struct channel other;  /* a connection to the service, or -1 */
	struct channel broker; /* the broker of its client, or -1 */
};

static struct play play;
static struct channel_message message;
static int epoll = -1;

/* The loop lives as long as its process; here each input has one of its own. */
int fuzz_epoll_create1(int flags)
{
	must(epoll < 0 && flags == EPOLL_CLOEXEC);
	epoll = epoll_create(1);
	return epoll;
}

/* The pidfd of a process that has ended and stays: killing it does nothing. */
static int ended_pidfd(void)
{
	static int pidfd = -1;
	siginfo_t info;
	pid_t pid;

	if (pidfd >= 0)
		return pidfd;
	pid = fork();
	must(pid >= 0);
	if (pid == 0)
		_exit(0);
	must(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	must(pidfd >= 0);
	return pidfd;
}

static int sealed_code(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = fd_sealed_from_bytes("code", "1", 1);
	must(fd >= 0);
	return fd;
}

static int terminal(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	return fd;
}

/* --- what the supervisor says ----------------------------------------------------------------- */

static void check_list(const uint8_t *list, uint32_t size)
{
	must(size == 0 || list[size - 1] == '\0');
}

static int receive(const struct channel *channel)
{
	enum ipc_error error = IPC_OK;
	const int result = channel->fd >= 0
				   ? channel_receive(channel, &message, MSG_DONTWAIT, &error)
				   : -EAGAIN;

	must(result != -EPROTO);
	return result;
}

static void hear_frontend(void)
{
	while (receive(&play.rig.frontend) == 1) {
		const uint64_t number = ipc_request(&message);

		if (message.type == IPC_TYPE_execution_started) {
			must(number < NUMBERS && play.is_live[number]);
		} else if (message.type == IPC_TYPE_execution_done) {
			must(number < NUMBERS && play.is_live[number]);
			must(ipc_body(&message, execution_done)->verdict < VERDICT_COUNT);
			play.is_live[number] = false;
		} else if (message.type == IPC_TYPE_execution_refused) {
			const uint32_t reason = ipc_body(&message, execution_refused)->reason;

			must(reason > REFUSAL_NONE && reason < REFUSAL_COUNT);
		} else if (message.type == IPC_TYPE_profile_posture) {
			must(ipc_body(&message, profile_posture)->posture.is_measured == 1);
		} else {
			must(message.type == IPC_TYPE_execution_tty && play.is_live[number]);
		}
		channel_message_done(&message);
	}
}

static void take_broker(uint32_t slot)
{
	must(slot >= BROKER_SLOT && slot < BROKER_SLOT + FRONTENDS_MAX);
	fd_close(&play.broker.fd);
	play.broker.fd = channel_take_fd(&message, 4);
	channel_message_done(&message);
}

/* It never asks for an execution itself. */
static void hear_other(void)
{
	while (receive(&play.other) == 1) {
		if (message.type == IPC_TYPE_welcome)
			play.other.phase = IPC_SERVE;
		else if (message.type == IPC_TYPE_client_end)
			must(ipc_body(&message, client_end)->reason >= CLIENT_END_DONE &&
			     ipc_body(&message, client_end)->reason <= CLIENT_END_STOPPING);
		else
			must(message.type == IPC_TYPE_status ||
			     message.type == IPC_TYPE_client_started);
		channel_message_done(&message);
	}
}

static void hear_factory(void)
{
	while (receive(&play.rig.factory) == 1) {
		const uint32_t slot = ipc_slot(&message);

		if (message.type == IPC_TYPE_helper_start) {
			take_broker(slot);
			continue;
		}
		must(message.type == IPC_TYPE_sandbox_create && slot < EXECUTIONS_MAX);
		must(ipc_body(&message, sandbox_create)->profile < SMALL_PROFILES);
		fd_close(&play.inits[slot].fd);
		play.inits[slot] = (struct channel){ channel_take_fd(&message, 0), IPC_INIT,
						     IPC_SUPERVISOR, IPC_SERVE };
		channel_message_done(&message);
	}
}

static void hear_inits(void)
{
	for (uint32_t slot = 0; slot < EXECUTIONS_MAX; slot++) {
		while (receive(&play.inits[slot]) == 1) {
			if (message.type == IPC_TYPE_spawn) {
				const struct ipc_spawn *spawn = ipc_body(&message, spawn);

				must(spawn->slot == slot && spawn->cwd[0] == '/');
				must(spawn->argv_size > 0);
				check_list(spawn->argv, spawn->argv_size);
				check_list(spawn->environment, spawn->environment_size);
			} else if (message.type == IPC_TYPE_spawn_signal) {
				const struct ipc_spawn_signal *sent =
					ipc_body(&message, spawn_signal);

				must(sent->slot == slot && sent->signal != SIGKILL &&
				     sent->signal > 0 && sent->signal <= SIGTSTP);
			}
			channel_message_done(&message);
		}
	}
}

/* An accepted request is one that the table holds. */
static void note_accepted(uint64_t number)
{
	if (execution_find(RIG_FRONTEND, number))
		play.is_live[number] = true;
}

static void settle(void)
{
	rig_turn();
	hear_factory();
	hear_inits();
	hear_frontend();
	hear_other();
}

/* --- what the others say ---------------------------------------------------------------------- */

static void tell(const struct channel *channel, uint32_t type, const void *body, const int *fds)
{
	if (channel->fd >= 0)
		(void)channel_send(channel, type, body, fds, MSG_DONTWAIT); /* EPIPE: it is over */
}

static uint64_t number(void)
{
	return input_byte(&play.input) % NUMBERS;
}

static void put_text(char *field, size_t room)
{
	size_t size;
	const uint8_t *part = input_part(&play.input, &size);

	size = size < room ? size : room - 1;
	memcpy(field, part, size);
	field[strnlen(field, size)] = '\0';
}

static uint32_t put_list(uint8_t *field)
{
	size_t size;
	const uint8_t *part = input_part(&play.input, &size);

	memcpy(field, part, size);
	return (uint32_t)size;
}

/* Mostly names that exist. */
static void put_profile(char *field)
{
	static const char *const names[] = { "default", "strict", "_helper" };
	const uint8_t byte = input_byte(&play.input);

	if (byte % 4 < 3)
		memcpy(field, names[byte % 4], strlen(names[byte % 4]) + 1);
	else
		put_text(field, IPC_NAME_MAX);
}

static void act_command(void)
{
	static struct ipc_execution_start start;
	const uint8_t flags = input_byte(&play.input);

	memset(&start, 0, sizeof(start));
	start.request = number();
	start.use_shell = flags & 1;
	start.use_tty = flags >> 1 & 1;
	start.timeout_ms = (flags >> 2) * 10000U; /* none is over while this runs */
	put_profile(start.profile);
	put_text(start.cwd, sizeof(start.cwd));
	start.argv_size = put_list(start.argv);
	start.environment_size = put_list(start.environment);
	tell(&play.rig.frontend, IPC_TYPE_execution_start, &start, NULL);
	rig_turn();
	note_accepted(start.request);
}

static void act_code(void)
{
	static struct ipc_code_start start;
	const int code = sealed_code();

	memset(&start, 0, sizeof(start));
	start.request = number();
	put_profile(start.profile);
	put_text(start.language, sizeof(start.language));
	put_text(start.cwd, sizeof(start.cwd));
	start.argv_size = put_list(start.argv);
	start.environment_size = put_list(start.environment);
	tell(&play.rig.frontend, IPC_TYPE_code_start, &start, &code);
	rig_turn();
	note_accepted(start.request);
}

/* An end, or in the upper half a signal. */
static void act_end(void)
{
	const uint64_t request = number();
	const uint8_t what = input_byte(&play.input);
	const struct ipc_execution_end end = { request, what };
	const struct ipc_execution_signal signal = { request, what & 0x7fU };

	if (what < 0x80)
		tell(&play.rig.frontend, IPC_TYPE_execution_end, &end, NULL);
	else
		tell(&play.rig.frontend, IPC_TYPE_execution_signal, &signal, NULL);
}

static void act_created(void)
{
	const struct ipc_sandbox_created created = { input_byte(&play.input) };
	const int pidfd = ended_pidfd();

	tell(&play.rig.factory, IPC_TYPE_sandbox_created, &created, &pidfd);
}

static void act_failed(void)
{
	struct ipc_sandbox_failed failed = { input_byte(&play.input), input_byte(&play.input),
					     input_byte(&play.input) };

	if (failed.slot > UINT8_MAX - 2) /* a broker's */
		failed.slot += BROKER_SLOT - (UINT8_MAX - 1);
	tell(&play.rig.factory, IPC_TYPE_sandbox_failed, &failed, NULL);
}

static void act_ready(void)
{
	const struct ipc_factory_ready ready = { input_byte(&play.input), input_byte(&play.input) };
	const struct ipc_helper_started started = { BROKER_SLOT + ready.error % 3 };
	const int pidfd = ended_pidfd();

	if (ready.stage == UINT8_MAX)
		tell(&play.rig.factory, IPC_TYPE_helper_started, &started, &pidfd);
	else
		tell(&play.rig.factory, IPC_TYPE_factory_ready, &ready, NULL);
}

static void act_init(void)
{
	const uint32_t slot = input_byte(&play.input) % EXECUTIONS_MAX;
	const struct channel *init = &play.inits[slot];
	const uint8_t what = input_byte(&play.input);
	const struct ipc_init_failed failed = { input_byte(&play.input), input_byte(&play.input) };
	const struct ipc_spawn_done done = { .slot = slot,
					     .stage = what >> 2 & 1 ? failed.stage : 0,
					     .error = failed.error,
					     .status = failed.stage * 256U + failed.error,
					     .over_memory = what >> 3 & 1,
					     .cpu_us = what >> 4 & 1 ? UINT64_MAX : 0 };
	const int tty = terminal();

	if (what % 3 == 0)
		tell(init, IPC_TYPE_spawn_done, &done, NULL);
	else if (what % 3 == 1)
		tell(init, IPC_TYPE_init_failed, &failed, NULL);
	else if (tty >= 0)
		tell(init, IPC_TYPE_spawned_tty, &(struct ipc_spawned_tty){ slot }, &tty);
}

static void act_init_end(void)
{
	fd_close(&play.inits[input_byte(&play.input) % EXECUTIONS_MAX].fd);
}

static void act_time(void)
{
	supervisor.executions[input_byte(&play.input) % EXECUTIONS_MAX].deadline_us = 0;
}

static void act_packet(void)
{
	const uint8_t who = input_byte(&play.input);
	const struct channel *channel = who % 3 == 0   ? &play.rig.frontend
					: who % 3 == 1 ? &play.rig.factory
						       : &play.inits[who / 3 % EXECUTIONS_MAX];
	size_t size;
	const uint8_t *bytes = input_part(&play.input, &size);

	if (channel->fd >= 0)
		(void)send(channel->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void act_hello(void)
{
	struct ipc_hello hello = { .limits = LIMITS_FALLBACK };
	const struct channel channel = { play.rig.frontend.fd, IPC_FRONTEND, IPC_SUPERVISOR,
					 IPC_SETUP };

	memcpy(hello.schema, ipc_schema_hash, sizeof(hello.schema));
	tell(&channel, IPC_TYPE_hello, &hello, NULL);
}

static void connect_other(void)
{
	int ends[2];

	must(channel_pair(ends) == 0);
	play.other = (struct channel){ ends[1], IPC_FRONTEND, IPC_SUPERVISOR, IPC_SETUP };
	must(frontend_add(ends[0], true, handlers_on_frontend) != NULL);
}

/* A client of the service comes, hands over, asks, greets. */
static void act_other(void)
{
	struct ipc_client_start start;
	struct ipc_status_ask ask;
	struct ipc_hello hello = { .limits = LIMITS_FALLBACK };
	const int fds[] = { sealed_code(), sealed_code(), sealed_code() };
	const uint8_t what = input_byte(&play.input);

	if (play.other.fd < 0)
		connect_other();
	memcpy(start.schema, ipc_schema_hash, sizeof(start.schema));
	memcpy(ask.schema, ipc_schema_hash, sizeof(ask.schema));
	memcpy(hello.schema, ipc_schema_hash, sizeof(hello.schema));
	start.limits = what >> 2 & 1;
	if (what % 4 == 0)
		tell(&play.other, IPC_TYPE_client_start, &start, fds);
	else if (what % 4 == 1)
		tell(&play.other, IPC_TYPE_status_ask, &ask, NULL);
	else if (what % 4 == 2)
		tell(&play.other, IPC_TYPE_hello, &hello, NULL);
	else
		tell(&play.broker, IPC_TYPE_hello, &hello, NULL);
}

static void act_leave(void)
{
	struct channel *const channels[] = { &play.rig.frontend, &play.rig.factory, &play.other,
					     &play.broker };

	fd_close(&channels[input_byte(&play.input) % 4]->fd);
}

typedef void act(void);

/* What is worth doing often stands there more than once. */
static act *const acts[] = { act_command, act_command, act_command, act_code,     act_created,
			     act_created, act_init,    act_init,    act_end,      act_failed,
			     act_time,    act_ready,   act_packet,  act_init_end, act_hello,
			     act_leave,   act_other,   act_other };

/* A report may wait for the frontend, a slot for the end of its init. */
static void end_all(void)
{
	bool is_over = false;

	fd_close(&play.rig.factory.fd);
	fd_close(&play.other.fd);
	fd_close(&play.broker.fd);
	for (uint32_t slot = 0; slot < EXECUTIONS_MAX; slot++)
		fd_close(&play.inits[slot].fd);
	for (int i = 0; i < 4 && !is_over; i++) {
		rig_turn();
		is_over = execution_end_all();
	}
	must(is_over);
	rig_close(&play.rig);
	fd_close(&epoll);
}

/* Its place in the table may be another's, when it has gone. */
static bool is_frontend_served(void)
{
	return !supervisor.is_ending && RIG_FRONTEND->state == FRONTEND_OPEN &&
	       !RIG_FRONTEND->is_connection && RIG_FRONTEND->client.fd < 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int free_fd;

	must(ended_pidfd() >= 0 && sealed_code() >= 0 && terminal() >= -1); /* these stay */
	free_fd = property_free_fd();
	(void)signal(SIGPIPE, SIG_IGN);
	play = (struct play){ .input = { data, size } };
	for (uint32_t slot = 0; slot < EXECUTIONS_MAX; slot++)
		play.inits[slot].fd = -1;
	play.other.fd = -1;
	play.broker = (struct channel){ -1, IPC_FRONTEND, IPC_SUPERVISOR, IPC_SETUP };
	rig_open_welcomed(&play.rig);
	supervisor.is_service = input_byte(&play.input) % 2;
	while (play.input.size > 0 && !supervisor.is_ending) {
		acts[input_byte(&play.input) % (sizeof(acts) / sizeof(acts[0]))]();
		settle();
	}
	for (uint64_t i = 0; i < NUMBERS && is_frontend_served(); i++)
		must(play.is_live[i] == (execution_find(RIG_FRONTEND, i) != NULL));
	end_all();
	must(property_free_fd() == free_fd);
	return 0;
}
