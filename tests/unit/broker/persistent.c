/* SPDX-License-Identifier: Apache-2.0 */
#include "persistent.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/refusal.h"
#include "common/ipc/workspace_mode.h"

void persistent_say(struct rig *rig, const char *tool, const char *arguments)
{
	static char line[100000];
	static int id;

	(void)snprintf(
		line, sizeof(line),
		"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"%s\",\"arguments\":{%s}}}",
		++id, tool, arguments);
	rig_say(rig, line);
}

struct ipc_sandbox_info persistent_info(const char *id, const char *name)
{
	struct ipc_sandbox_info info = { .workspace_mode = WORKSPACE_COPY,
					 .profile = "default",
					 .workspace = "/home/user/project",
					 .checkpoints = 2,
					 .created_s = 1790000000,
					 .used_s = 1790000100,
					 .expires_s = 1790604900,
					 .disk_bytes = 8192 };

	(void)strncpy(info.id, id, sizeof(info.id) - 1);
	(void)strncpy(info.name, name, sizeof(info.name) - 1);
	return info;
}

void persistent_answer(struct rig *rig, uint64_t request, const struct ipc_sandbox_info *info)
{
	struct ipc_sandbox_info answer = *info;

	answer.request = request;
	rig_send(rig, IPC_TYPE_sandbox_info, &answer, NULL);
}

void persistent_done(struct rig *rig, uint64_t request)
{
	const struct ipc_request_done done = { .request = request };

	rig_send(rig, IPC_TYPE_request_done, &done, NULL);
}

struct ipc_sandbox_list persistent_answer_list(struct rig *rig, const struct ipc_sandbox_info *info)
{
	const struct ipc_sandbox_list list = *rig_body(rig, sandbox_list);

	cr_assert_eq(list.is_everybody, 0);
	if (info)
		persistent_answer(rig, list.request, info);
	persistent_done(rig, list.request);
	return list;
}

void persistent_refuse(struct rig *rig, uint64_t request, enum refusal reason, const char *detail)
{
	static struct ipc_execution_refused refused;

	memset(&refused, 0, sizeof(refused));
	refused.request = request;
	refused.reason = reason;
	(void)strncpy(refused.detail, detail, sizeof(refused.detail) - 1);
	rig_send(rig, IPC_TYPE_execution_refused, &refused, NULL);
}

void persistent_checkpoint(struct rig *rig, uint64_t request, uint32_t number, const char *name)
{
	struct ipc_checkpoint_info info = { .request = request,
					    .number = number,
					    .parent = number - 1,
					    .is_current = number == 2,
					    .created_s = 1790000000 + number };

	(void)strncpy(info.name, name, sizeof(info.name) - 1);
	rig_send(rig, IPC_TYPE_checkpoint_info, &info, NULL);
}

int persistent_changes(struct rig *rig, uint64_t request)
{
	const struct ipc_changes_started started = { .request = request };
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	rig_send(rig, IPC_TYPE_changes_started, &started, &fds[0]);
	fd_close(&fds[0]);
	return fds[1];
}

void persistent_tell(struct rig *rig, int records, uint32_t kind, uint32_t flags, const char *path,
		     const char *patch)
{
	const struct change_record record = {
		.kind = kind,
		.flags = flags,
		.old_mode = kind == CHANGE_ADDED ? 0 : 0100644,
		.new_mode = kind == CHANGE_DELETED ? 0 : 0100755,
		.old_size = kind == CHANGE_ADDED ? 0 : 10,
		.new_size = kind == CHANGE_DELETED ? 0 : 20,
		.path_size = (uint32_t)strlen(path),
		.old_path_size = kind == CHANGE_RENAMED ? 4 : 0,
		.patch_size = patch ? (uint32_t)strlen(patch) : 0,
	};

	cr_assert_eq(fd_write_all(records, &record, sizeof(record)), 0);
	cr_assert_eq(fd_write_all(records, path, record.path_size), 0);
	cr_assert_eq(fd_write_all(records, "old1", record.old_path_size), 0);
	cr_assert_eq(fd_write_all(records, patch, record.patch_size), 0);
	rig_turn(rig);
}

void persistent_changes_done(struct rig *rig, int records, const struct ipc_changes_done *done)
{
	fd_close(&records);
	rig_send(rig, IPC_TYPE_changes_done, done, NULL);
	rig_turn(rig);
}

void persistent_prepared(struct rig *rig)
{
	const struct ipc_changes_start *start = rig_body(rig, changes_start);
	const struct ipc_changes_done done = { .request = start->request };

	cr_assert_eq(start->operation, CHANGES_PREPARE);
	persistent_changes_done(rig, persistent_changes(rig, done.request), &done);
}

const char *persistent_chosen(const struct channel_message *message)
{
	static char text[4096];
	const ssize_t size = pread(message->fds[0], text, sizeof(text) - 1, 0);

	cr_assert_geq(size, 0);
	text[size] = '\0';
	for (ssize_t i = 0; i < size; i++)
		text[i] = text[i] ? text[i] : '|';
	return text;
}
