/* SPDX-License-Identifier: Apache-2.0 */
#include "persistent_rig.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/generation.h"
#include "common/fd.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/ipc_layers.h"
#include "common/ipc/ipc_start.h"
#include "front/reload.h"

void persistent_open(struct rig *rig, struct channel *launcher)
{
	int ends[2];

	rig_open_welcomed(rig);
	place_make();
	supervisor.null = open("/dev/null", O_RDWR | O_CLOEXEC);
	supervisor.nothing = fd_sealed_from_bytes("nothing", "", 0);
	cr_assert_eq(channel_pair(ends), 0);
	cr_assert_eq(reload_keep_launcher(ends[0]), 0);
	*launcher = (struct channel){ ends[1], IPC_LAUNCHER, IPC_SUPERVISOR, IPC_SETUP };
}

void persistent_close(struct rig *rig, struct channel *launcher)
{
	rig_close(rig);
	fd_close(&launcher->fd);
	place_remove();
}

void persistent_open_workspace(const struct channel *launcher,
			       const struct ipc_workspace_open *answer, int fd)
{
	int fds[] = { fd, fd_sealed_from_bytes("named", "", 0), fd };

	cr_assert_geq(fds[1], 0);
	rig_send(launcher, IPC_TYPE_workspace_open, answer, fds);
	fd_close(&fds[1]);
}

void persistent_make(const char *name, struct store_meta *meta)
{
	int fd = place_create(name, meta);

	fd_close(&fd);
}

bool persistent_is_free(const char *name)
{
	static struct store_meta meta;
	char id[IPC_ID_MAX];
	bool is_free;
	int fd;

	cr_assert(store_find("", name, id), "%s", name);
	fd = store_take(id, &meta);
	cr_assert(fd >= 0 || fd == -EBUSY, "%s", strerror(-fd));
	is_free = fd >= 0;
	fd_close(&fd);
	return is_free;
}

struct ipc_execution_start *persistent_request(uint64_t number, const char *name)
{
	struct ipc_execution_start *request = rig_request(number);

	request->profile[0] = '\0';
	strncpy(request->sandbox, name, sizeof(request->sandbox) - 1);
	return request;
}

void persistent_take_spawn(struct rig_sandbox *sandbox, const struct channel *init)
{
	if (init != &sandbox->standby)
		sandbox->slot = rig_body(init, spawn_stdio)->slot;
	const struct ipc_spawn *spawn = rig_body(init, spawn);

	if (init == &sandbox->standby)
		sandbox->slot = spawn->slot;
	cr_assert_eq(spawn->slot, sandbox->slot);
}

static struct rig_sandbox take_started(const struct rig *rig, uint64_t number)
{
	struct rig_sandbox sandbox = { .request = number, .init.fd = -1 };
	struct channel_message *message = rig_take(&rig->frontend, IPC_TYPE_execution_started);

	cr_assert_eq(ipc_body(message, execution_started)->request, number);
	memcpy(sandbox.stdio, message->fds, sizeof(sandbox.stdio));
	memset(message->fds, -1, sizeof(message->fds));
	return sandbox;
}

struct rig_sandbox persistent_take_begun(const struct rig *rig, uint64_t number, uint32_t lasts)
{
	struct rig_sandbox sandbox = take_started(rig, number);
	struct channel_message *message;

	for (int i = 0; i < 2 * 2; i++) /* of each place the upper and the work directory */
		(void)rig_take(&rig->factory, IPC_TYPE_sandbox_layer);
	message = rig_take(&rig->factory, IPC_TYPE_sandbox_create);
	cr_assert_eq(ipc_body(message, sandbox_create)->lasts, lasts);
	sandbox.slot = ipc_body(message, sandbox_create)->slot;
	sandbox.generation = ipc_body(message, sandbox_create)->generation;
	sandbox.init = (struct channel){ message->fds[0], IPC_INIT, IPC_SUPERVISOR, IPC_SERVE };
	message->fds[0] = -1;
	rig_answer(rig, &sandbox);
	persistent_take_spawn(&sandbox, &sandbox.init);
	return sandbox;
}

struct rig_sandbox persistent_begin(const struct rig *rig, uint64_t number, const char *name)
{
	rig_send(&rig->frontend, IPC_TYPE_execution_start, persistent_request(number, name), NULL);
	return persistent_take_begun(rig, number, 1);
}

struct rig_sandbox persistent_join(const struct rig *rig, uint64_t number, const char *name,
				   const struct rig_sandbox *live)
{
	struct rig_sandbox sandbox;

	rig_send(&rig->frontend, IPC_TYPE_execution_start, persistent_request(number, name), NULL);
	sandbox = take_started(rig, number);
	persistent_take_spawn(&sandbox, &live->init);
	return sandbox;
}

struct rig_helper persistent_take_helper(const struct rig *rig, uint32_t operation)
{
	struct rig_helper helper = { .slot = 0 };
	struct channel_message *message = rig_take(&rig->factory, IPC_TYPE_helper_start);

	cr_assert_eq(ipc_body(message, helper_start)->kind, HELPER_LAYERS);
	helper.slot = ipc_body(message, helper_start)->slot;
	cr_assert_geq(helper.slot, LAYERS_SLOT);
	helper.output = message->fds[1];
	helper.channel = (struct channel){ message->fds[3], IPC_LAYERS, IPC_SUPERVISOR, IPC_SERVE };
	message->fds[1] = message->fds[3] = -1;
	for (;;) {
		enum ipc_error wrong = IPC_OK;
		static struct channel_message told;

		cr_assert_eq(channel_receive(&helper.channel, &told, MSG_DONTWAIT, &wrong), 1);
		if (told.type == IPC_TYPE_layers_do) {
			helper.ask = *ipc_body(&told, layers_do);
			channel_message_done(&told);
			break;
		}
		if (told.type == IPC_TYPE_layers_directory)
			helper.roles[ipc_body(&told, layers_directory)->role]++;
		else if (told.type == IPC_TYPE_layers_host)
			helper.hosts++;
		else
			cr_assert_fail("%s", ipc_message(told.type)->name);
		channel_message_done(&told);
	}
	cr_assert_eq(helper.ask.operation, operation, "%u", helper.ask.operation);
	return helper;
}

void persistent_start_helper(const struct rig *rig, struct rig_helper *helper)
{
	const struct ipc_helper_started started = { .slot = helper->slot };
	int pidfd;

	helper->pid = rig_process();
	pidfd = (int)syscall(SYS_pidfd_open, helper->pid, 0);
	cr_assert_geq(pidfd, 0);
	rig_send(&rig->factory, IPC_TYPE_helper_started, &started, &pidfd);
	fd_close(&pidfd);
}

void persistent_end_helper(struct rig_helper *helper)
{
	fd_close(&helper->output);
	fd_close(&helper->channel.fd);
	if (helper->pid > 0) {
		(void)kill(helper->pid, SIGKILL); /* or it was killed already */
		cr_assert_eq(waitpid(helper->pid, NULL, 0), helper->pid);
	}
	helper->pid = 0;
	rig_turn();
}

void persistent_finish(struct rig_helper *helper, const struct ipc_layers_done *done)
{
	rig_send(&helper->channel, IPC_TYPE_layers_done, done, NULL);
	persistent_end_helper(helper);
}

void scan(const struct rig *rig)
{
	struct rig_helper helper = persistent_take_helper(rig, LAYERS_SCAN);

	persistent_start_helper(rig, &helper);
	persistent_finish(&helper, &(struct ipc_layers_done){ .bytes = 4096, .inodes = 1 });
}
