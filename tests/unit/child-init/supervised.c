/* SPDX-License-Identifier: Apache-2.0 */
#include "supervised.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_init.h"
#include "common/kernel.h"
#include "common/records/denial.h"
#include "common/text/names.h"
#include "factory.h"
#include "hand_plan.h"
#include "look.h"

#define PATIENCE_MS 30000

static struct channel factory = { .fd = -1 };
static pid_t factory_pid;
static uint32_t layers_sent; /* for the next sandbox */
static char state[256];      /* the state directory; empty: none */

/* Have what the launcher gives: the state directory, and no helper. */
static int open_given(void)
{
	const int given = open(state[0] ? state : "/dev/null", O_RDONLY | O_CLOEXEC);
	const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const int fds[] = { given, null, null }, places[] = { STATE_FD, HELPER_FD, HELPER_FD + 1 };

	return given < 0 || null < 0 ? -errno : fd_place(fds, places, 3, 0);
}

static void become_factory(int channel)
{
	(void)umask(0);
	(void)setpgid(0, 0);
	if (signal(SIGCHLD, SIG_IGN) == SIG_ERR || dup2(channel, CHANNEL_FD) < 0 ||
	    open_given() != 0 || kernel_close_range(HELPER_FD + HELPER_KIND_COUNT, ~0U) != 0)
		_exit(99); /* else the test's own end stays open */
	_exit(factory_run());
}

static void tell(const struct channel *channel, uint32_t type, const void *message, const int *fds)
{
	const int error = channel_send(channel, type, message, fds, 0);

	cr_assert_eq(error, 0, "%s: %s", ipc_message(type)->name, strerror(-error));
}

static void skip(const char *reason)
{
	supervised_end();
	look_folder_remove(); /* nothing is called after a skip */
	cr_skip("%s", reason);
}

void supervised_begin(uint32_t limits)
{
	struct ipc_factory_start begin = { .limits = limits };
	const struct ipc_factory_serve serve = { 0 };
	const struct ipc_factory_ready *ready;
	int ends[2];
	int plan;

	if (geteuid() == 0)
		skip("a factory is never root");
	cr_assert_eq(channel_pair(ends), 0);
	factory_pid = fork();
	if (factory_pid == 0)
		become_factory(ends[1]);
	cr_assert_gt(factory_pid, 0);
	fd_close(&ends[1]);
	factory = (struct channel){ ends[0], IPC_SUPERVISOR, IPC_FACTORY, IPC_SETUP };
	memcpy(begin.schema, ipc_schema_hash, sizeof(begin.schema));
	plan = fd_sealed_from_bytes("plan", &hand_plan, sizeof(hand_plan));
	tell(&factory, IPC_TYPE_factory_start, &begin, &plan);
	fd_close(&plan);
	tell(&factory, IPC_TYPE_factory_serve, &serve, NULL);
	factory.phase = IPC_SERVE;
	ready = ipc_body(supervised_take(&factory, IPC_TYPE_factory_ready), factory_ready);
	if (ready->stage == STAGE_NAMESPACES)
		skip("no user namespaces here");
	cr_assert_eq(ready->stage, STAGE_NONE, "%s: %s", stage_text(ready->stage),
		     strerror((int)ready->error));
}

void supervised_end(void)
{
	fd_close(&factory.fd);
	if (factory_pid > 0) {
		(void)kill(factory_pid, SIGKILL); /* its inits die with it */
		(void)waitpid(factory_pid, NULL, 0);
	}
	factory_pid = 0;
}

const struct channel *supervised_factory(void)
{
	return &factory;
}

void supervised_state(const char *path)
{
	(void)snprintf(state, sizeof(state), "%s", path);
}

void supervised_layer(uint32_t mount, uint32_t role, const char *id)
{
	struct ipc_sandbox_layer layer = { layers_sent++, mount, role, "" };

	(void)snprintf(layer.id, sizeof(layer.id), "%s", id);
	tell(&factory, IPC_TYPE_sandbox_layer, &layer, NULL);
}

void supervised_workspace(uint32_t mount, uint32_t role, const char *path)
{
	const struct ipc_sandbox_workspace workspace = { 0 };
	int fd = open(path, O_PATH | O_CLOEXEC);

	cr_assert_geq(fd, 0, "%s", path);
	tell(&factory, IPC_TYPE_sandbox_workspace, &workspace, &fd);
	fd_close(&fd);
	supervised_layer(mount, role, "");
}

void supervised_break_off(void)
{
	layers_sent = 0;
}

struct channel supervised_ask(uint32_t slot, bool lasts)
{
	const struct ipc_sandbox_create create = { .slot = slot,
						   .layers = layers_sent,
						   .lasts = lasts };
	int ends[2];

	layers_sent = 0;
	cr_assert_eq(channel_pair(ends), 0);
	tell(&factory, IPC_TYPE_sandbox_create, &create, &ends[1]);
	fd_close(&ends[1]);
	return (struct channel){ ends[0], IPC_SUPERVISOR, IPC_INIT, IPC_SERVE };
}

struct channel supervised_create(uint32_t slot, bool lasts)
{
	const struct channel init = supervised_ask(slot, lasts);
	const struct channel_message *message = supervised_take(&factory, IPC_TYPE_sandbox_created);

	cr_assert_eq(ipc_body(message, sandbox_created)->slot, slot);
	return init;
}

struct streams supervised_attach(const struct channel *init, uint32_t slot)
{
	const struct ipc_spawn_stdio stdio = { .slot = slot };
	int in[2];
	int out[2];

	cr_assert_eq(pipe2(in, O_CLOEXEC), 0);
	cr_assert_eq(pipe2(out, O_CLOEXEC), 0);
	tell(init, IPC_TYPE_spawn_stdio, &stdio, (const int[]){ in[0], out[1], out[1] });
	fd_close(&in[0]);
	fd_close(&out[1]);
	return (struct streams){ in[1], out[0] };
}

void supervised_run(const struct channel *init, uint32_t slot, const char *argv, size_t size)
{
	static const char path[] = "PATH=/usr/bin:/bin";
	static struct ipc_spawn spawn;

	spawn = (struct ipc_spawn){ .slot = slot, .cwd = "/", .argv_size = (uint32_t)size };
	memcpy(spawn.argv, argv, size);
	memcpy(spawn.environment, path, sizeof(path));
	spawn.environment_size = sizeof(path);
	tell(init, IPC_TYPE_spawn, &spawn, NULL);
}

struct streams supervised_spawn(const struct channel *init, uint32_t slot, const char *command)
{
	const struct streams streams = supervised_attach(init, slot);
	char argv[1024];
	const int size = snprintf(argv, sizeof(argv), "sh%c-c%c%s", 0, 0, command) + 1;

	supervised_run(init, slot, argv, (size_t)size);
	return streams;
}

/* The next message but for a persistent sandbox's network; NULL at the end. */
static const struct channel_message *receive(const struct channel *channel)
{
	static struct channel_message message;
	struct pollfd entry = { .fd = channel->fd, .events = POLLIN };
	enum ipc_error wrong = IPC_OK;
	int status;

	channel_message_done(&message);
	cr_assert_eq(poll(&entry, 1, PATIENCE_MS), 1, "nothing was said");
	status = channel_receive(channel, &message, MSG_DONTWAIT, &wrong);
	cr_assert_geq(status, 0, "%s", ipc_error_text(wrong));
	if (status == 1 && message.type == IPC_TYPE_network_socket)
		return receive(channel);
	return status == 1 ? &message : NULL;
}

const struct channel_message *supervised_take(const struct channel *channel, uint32_t type)
{
	const struct channel_message *message = receive(channel);

	cr_assert_not_null(message, "%s was to come", ipc_message(type)->name);
	if (message->type == IPC_TYPE_init_failed)
		cr_assert_fail("%s: %s", stage_text(ipc_body(message, init_failed)->stage),
			       strerror((int)ipc_body(message, init_failed)->error));
	cr_assert_eq(message->type, type, "%s came", ipc_message(message->type)->name);
	return message;
}

const struct ipc_spawn_done *supervised_await(const struct channel *init, uint32_t slot)
{
	const struct channel_message *message = receive(init);

	cr_assert_not_null(message, "the init ended");
	cr_assert_eq(message->type, IPC_TYPE_spawn_done, "%s came",
		     ipc_message(message->type)->name);
	cr_assert_eq(ipc_body(message, spawn_done)->slot, slot);
	cr_assert_eq(ipc_body(message, spawn_done)->stage, STAGE_NONE, "%s: %s",
		     stage_text(ipc_body(message, spawn_done)->stage),
		     strerror((int)ipc_body(message, spawn_done)->error));
	return ipc_body(message, spawn_done);
}

bool supervised_ends(const struct channel *channel)
{
	return !receive(channel);
}

uint32_t supervised_denials(const struct ipc_spawn_done *done)
{
	struct denials denials;

	cr_assert(denials_take(&denials, done->denials, done->denials_size));
	return denials.size == 0 ? 0 : denials.records[0].count;
}

const char *supervised_read(int *fd)
{
	static char text[4096];
	size_t used = 0;
	ssize_t size;

	while (used < sizeof(text) - 1 &&
	       (size = read(*fd, text + used, sizeof(text) - 1 - used)) > 0)
		used += (size_t)size;
	text[used] = '\0';
	fd_close(fd);
	return text;
}

void supervised_write(int *fd, const char *line)
{
	cr_assert_eq(write(*fd, line, strlen(line)), (ssize_t)strlen(line));
	fd_close(fd);
}
