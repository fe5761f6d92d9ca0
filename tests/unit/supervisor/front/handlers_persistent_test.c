/* SPDX-License-Identifier: Apache-2.0
 *
 * What a frontend may ask about persistent sandboxes, and what it is told.
 */
#include "front/handlers.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/loop.h"
#include "common/fd.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/ipc_refused.h"
#include "common/ipc/ipc_start.h"
#include "common/ipc/workspace_mode.h"
#include "front/handlers.h"
#include "front/handlers_list.h"
#include "persistent_rig.h"
#include "stewards/store/inner.h"
#include "support.h"

static struct rig rig;
static struct channel launcher;
static struct store_meta meta;

static void open_rig(void)
{
	persistent_open(&rig, &launcher);
}

static void close_rig(void)
{
	persistent_close(&rig, &launcher);
}

TestSuite(handlers_persistent, .init = open_rig, .fini = close_rig, .timeout = 60);

static struct ipc_sandbox_new *ask_new(uint64_t number, const char *name)
{
	static struct ipc_sandbox_new ask;

	ask = (struct ipc_sandbox_new){ .request = number };
	strncpy(ask.name, name, sizeof(ask.name) - 1);
	return &ask;
}

static const struct ipc_sandbox_info *take_info(uint64_t number)
{
	const struct ipc_sandbox_info *info = rig_body(&rig.frontend, sandbox_info);

	cr_assert_eq(info->request, number);
	return info;
}

static void take_done(uint64_t number)
{
	cr_assert_eq(rig_body(&rig.frontend, request_done)->request, number);
}

/* The refusal's detail. */
static const char *take_refused(uint64_t number, enum refusal reason)
{
	static char detail[IPC_LIST_MAX];
	const struct ipc_execution_refused *refused = rig_body(&rig.frontend, execution_refused);

	cr_assert_eq(refused->request, number);
	cr_assert_eq(refused->reason, reason, "%u: %s", refused->reason, refused->detail);
	memcpy(detail, refused->detail, sizeof(detail));
	return detail;
}

static const char *refuse_new(const struct ipc_sandbox_new *ask, enum refusal reason)
{
	rig_send(&rig.frontend, IPC_TYPE_sandbox_new, ask, NULL);
	return take_refused(ask->request, reason);
}

static void send_end(uint64_t number, const char *name, uint32_t how)
{
	struct ipc_sandbox_end ask = { .request = number, .how = how };

	strncpy(ask.sandbox, name, sizeof(ask.sandbox) - 1);
	rig_send(&rig.frontend, IPC_TYPE_sandbox_end, &ask, NULL);
}

static struct ipc_checkpoint_do *ask_checkpoint(uint32_t operation, uint32_t number,
						const char *name)
{
	static struct ipc_checkpoint_do ask;

	memset(&ask, 0, sizeof(ask));
	ask.request = 7;
	ask.operation = operation;
	ask.number = number;
	strncpy(ask.name, name, sizeof(ask.name) - 1);
	memcpy(ask.sandbox, "one", sizeof("one"));
	return &ask;
}

static void send_checkpoint(uint32_t operation, uint32_t number, const char *name)
{
	rig_send(&rig.frontend, IPC_TYPE_checkpoint_do, ask_checkpoint(operation, number, name),
		 NULL);
}

/* --- making one ------------------------------------------------------------------------------- */

Test(handlers_persistent, one_is_made_and_nobodys)
{
	struct ipc_sandbox_new *ask = ask_new(1, "one");
	const struct ipc_sandbox_info *info;
	int fd;

	small_plan.profiles[0].ttl_default_s = 1800;
	rig_send(&rig.frontend, IPC_TYPE_sandbox_new, ask, NULL);
	info = take_info(1);
	cr_expect(store_is_id(info->id));
	cr_expect_str_eq(info->name, "one");
	cr_expect_str_eq(info->profile, "default");
	cr_expect_eq(info->workspace_mode, WORKSPACE_NONE);
	cr_expect_eq(info->is_live + info->is_elsewhere + info->is_damaged, 0);
	cr_expect_eq(info->expires_s, info->used_s + 1800);
	cr_expect(persistent_is_free("one"));
	fd = place_take("one", &meta);
	cr_expect_eq(meta.ttl_s, 1800);
	fd_close(&fd);
	rig_take_nothing(&rig.frontend);
}

Test(handlers_persistent, a_time_to_live_is_narrowed)
{
	static const uint32_t asked[] = { 60, 3600, 3601, UINT32_MAX };
	static const uint32_t got[] = { 60, 3600, 3600, 3600 };

	for (size_t i = 0; i < 4; i++) {
		struct ipc_sandbox_new *ask = ask_new(1, "");
		const struct ipc_sandbox_info *info;

		ask->ttl_s = asked[i];
		rig_send(&rig.frontend, IPC_TYPE_sandbox_new, ask, NULL);
		info = take_info(1);
		cr_expect_eq(info->expires_s - info->used_s, got[i]);
	}
}

Test(handlers_persistent, what_cannot_be_made_is_refused)
{
	struct ipc_sandbox_new *ask = ask_new(1, "a b");

	(void)refuse_new(ask, REFUSAL_SANDBOX_NAME);
	ask = ask_new(1, "00000000000000000000000000");
	(void)refuse_new(ask, REFUSAL_SANDBOX_NAME);
	ask = ask_new(1, "");
	memcpy(ask->profile, "none", sizeof("none"));
	(void)refuse_new(ask, REFUSAL_PROFILE_UNKNOWN);
	memcpy(ask->profile, "strict", sizeof("strict"));
	cr_expect_str_eq(refuse_new(ask, REFUSAL_SANDBOX_PROFILE), "strict", "it keeps nothing");
	memcpy(ask->profile, "_helper", sizeof("_helper"));
	(void)refuse_new(ask, REFUSAL_PROFILE_UNKNOWN);
	ask = ask_new(1, "");
	ask->workspace_mode = WORKSPACE_WRITE;
	memcpy(ask->workspace, "/project", sizeof("/project"));
	cr_expect(strstr(refuse_new(ask, REFUSAL_WORKSPACE), "default"));
	ask->workspace_mode = WORKSPACE_COPY;
	memcpy(ask->workspace, "work", sizeof("work"));
	cr_expect_str_eq(refuse_new(ask, REFUSAL_WORKSPACE), "work is no absolute path");
	ask->workspace_mode = WORKSPACE_NONE;
	(void)refuse_new(ask, REFUSAL_WORKSPACE);
	small_plan.mounts[0].place = small_plan.mounts[1].place;
	memcpy(ask->workspace, "/project", sizeof("/project"));
	ask->workspace_mode = WORKSPACE_COPY;
	(void)refuse_new(ask, REFUSAL_SANDBOX_PROFILE);
	cr_expect_eq(place_count("sandboxes"), 0);
	rig_take_nothing(&launcher);
}

Test(handlers_persistent, a_mode_that_there_is_not_ends_the_frontend)
{
	struct ipc_sandbox_new *ask = ask_new(1, "");

	ask->workspace_mode = WORKSPACE_MODE_COUNT;
	rig_send(&rig.frontend, IPC_TYPE_sandbox_new, ask, NULL);
	rig_take_end(&rig.frontend);
}

Test(handlers_persistent, a_taken_name_says_whose)
{
	char id[IPC_ID_MAX];

	persistent_make("one", &meta);
	store_id_text(meta.id, id);
	cr_expect_str_eq(refuse_new(ask_new(1, "one"), REFUSAL_SANDBOX_NAME), id);
}

Test(handlers_persistent, not_more_than_the_operator_allows)
{
	char path[64];
	char id[IPC_ID_MAX];

	small_plan.header.sandboxes_max = 1;
	persistent_make("one", &meta);
	cr_expect_str_eq(refuse_new(ask_new(1, ""), REFUSAL_SANDBOXES), "1 of 1 sandboxes");
	store_id_text(meta.id, id);
	(void)snprintf(path, sizeof(path), "sandboxes/%s", id);
	place_age(path, 4000);
	rig_send(&rig.frontend, IPC_TYPE_sandbox_new, ask_new(2, ""), NULL);
	(void)take_info(2);
	cr_expect_eq(place_count("sandboxes"), 1, "what is over makes room");
}

Test(handlers_persistent, not_more_bytes_than_the_operator_allows)
{
	int fd = place_create("one", &meta);

	small_plan.header.sandboxes_bytes = 10 << 20;
	store_count(fd, &meta, 11 << 20, 1);
	fd_close(&fd);
	cr_expect_str_eq(refuse_new(ask_new(1, ""), REFUSAL_DISK), "11 of 10 MiB");
}

Test(handlers_persistent, none_of_any_kind_is_none)
{
	persistent_make("one", &meta);
	small_plan.header.sandboxes_max = 0;
	cr_expect_str_eq(refuse_new(ask_new(1, ""), REFUSAL_SANDBOXES), "1 of 0 sandboxes");
	send_checkpoint(CHECKPOINT_FORK, 0, "");
	cr_expect_str_eq(take_refused(7, REFUSAL_SANDBOXES), "1 of 0 sandboxes");
	small_plan.header.sandboxes_max = 2;
	small_plan.header.sandboxes_bytes = 0;
	cr_expect_str_eq(refuse_new(ask_new(1, ""), REFUSAL_DISK), "0 of 0 MiB");
	cr_expect_eq(place_count("sandboxes"), 1);
}

Test(handlers_persistent, without_a_place_nothing_lasts)
{
	const struct ipc_sandbox_list list = { .request = 2 };

	memcpy(supervisor.stateless, "no room", sizeof("no room"));
	cr_expect_str_eq(refuse_new(ask_new(1, ""), REFUSAL_STATE), "no room");
	rig_send(&rig.frontend, IPC_TYPE_sandbox_list, &list, NULL);
	cr_expect_str_eq(take_refused(2, REFUSAL_STATE), "no room");
	send_end(3, "one", SANDBOX_END_DESTROY);
	cr_expect_str_eq(take_refused(3, REFUSAL_STATE), "no room");
	for (uint32_t i = CHECKPOINT_SAVE; i < CHECKPOINT_OPERATION_COUNT; i++) {
		send_checkpoint(i, 0, "");
		cr_expect_str_eq(take_refused(7, REFUSAL_STATE), "no room");
	}
}

/* --- workspaces ------------------------------------------------------------------------------- */

static uint32_t ask_workspace(uint64_t number, uint32_t is_person)
{
	struct ipc_sandbox_new *ask = ask_new(number, "one");
	const struct ipc_workspace_ask *question;

	ask->workspace_mode = WORKSPACE_COPY;
	memcpy(ask->workspace, "/project/../project", sizeof("/project/../project"));
	rig_send(&rig.frontend, IPC_TYPE_sandbox_new, ask, NULL);
	rig_take_nothing(&rig.frontend);
	question = rig_body(&launcher, workspace_ask);
	cr_assert_str_eq(question->path, "/project/../project");
	cr_assert_eq(question->is_person, is_person);
	return question->number;
}

Test(handlers_persistent, a_workspace_is_opened_by_the_launcher)
{
	struct ipc_workspace_open answer = { .number = ask_workspace(1, 1), .path = "/project" };
	const struct ipc_sandbox_info *info;
	size_t open = fd_count_open();
	struct stat is;
	int fd = fd_of_kind('o');

	cr_assert_eq(fstat(fd, &is), 0);
	persistent_open_workspace(&launcher, &answer, fd);
	info = take_info(1);
	cr_expect_str_eq(info->workspace, "/project");
	cr_expect_eq(info->workspace_mode, WORKSPACE_COPY);
	fd_close(&fd);
	cr_expect_eq(fd_count_open(), open, "what git names goes with its request");
	fd = place_take("one", &meta);
	cr_expect_eq(meta.workspace_device, is.st_dev);
	cr_expect_eq(meta.workspace_inode, is.st_ino);
	cr_expect_str_eq(meta.workspace, "/project");
	fd_close(&fd);
}

Test(handlers_persistent, a_workspace_that_may_not_be_is_refused)
{
	struct ipc_workspace_bad answer = { .number = ask_workspace(1, 1), .text = "it is secret" };

	rig_send(&launcher, IPC_TYPE_workspace_bad, &answer, NULL);
	cr_expect_str_eq(take_refused(1, REFUSAL_WORKSPACE), "it is secret");
	cr_expect_eq(place_count("sandboxes"), 0);
}

Test(handlers_persistent, a_broker_is_no_person)
{
	RIG_FRONTEND->is_broker = true;
	(void)ask_workspace(1, 0);
}

Test(handlers_persistent, a_launcher_that_is_gone_refuses)
{
	(void)ask_workspace(1, 1);
	fd_close(&launcher.fd);
	rig_turn();
	(void)take_refused(1, REFUSAL_WORKSPACE);
}

/* A frontend is heard while a request of it waits. */
Test(handlers_persistent, a_frontend_that_waits_says_goodbye)
{
	(void)ask_workspace(1, 1);
	supervisor.is_service = true;
	RIG_FRONTEND->is_broker = true;
	rig_send(&rig.frontend, IPC_TYPE_goodbye, &(struct ipc_goodbye){ .exit_code = 0 }, NULL);
	cr_expect(RIG_FRONTEND->has_said_goodbye);
	fd_close(&rig.frontend.fd);
	rig_turn();
	cr_expect_eq(RIG_FRONTEND->state, FRONTEND_FREE);
	cr_expect_eq(supervisor.exit_status, 0);
}

Test(handlers_persistent, who_waits_may_go)
{
	struct ipc_workspace_open answer = { .number = ask_workspace(1, 1), .path = "/project" };
	int fd = fd_of_kind('o');

	supervisor.is_service = true;
	fd_close(&rig.frontend.fd);
	rig_turn();
	persistent_open_workspace(&launcher, &answer, fd);
	cr_expect_eq(place_count("sandboxes"), 0);
	fd_close(&fd);
}

/* --- the end of one --------------------------------------------------------------------------- */

Test(handlers_persistent, one_is_destroyed)
{
	persistent_make("one", &meta);
	send_end(3, "one", SANDBOX_END_STOP);
	take_done(3);
	cr_expect(persistent_is_free("one"));
	send_end(3, "one", SANDBOX_END_DESTROY);
	take_done(3);
	cr_expect_eq(place_count("sandboxes"), 0);
	cr_expect_eq(place_count("layers"), 0);
	send_end(4, "one", SANDBOX_END_DESTROY);
	(void)take_refused(4, REFUSAL_SANDBOX_UNKNOWN);
}

Test(handlers_persistent, what_another_has_stays)
{
	int fd = place_create("one", &meta);

	send_end(3, "one", SANDBOX_END_DESTROY);
	(void)take_refused(3, REFUSAL_SANDBOX_ELSEWHERE);
	fd_close(&fd);
}

Test(handlers_persistent, an_end_that_there_is_not_ends_the_frontend)
{
	persistent_make("one", &meta);
	send_end(3, "one", SANDBOX_END_EMPTY + 1);
	rig_take_end(&rig.frontend);
}

Test(handlers_persistent, an_empty_one_goes_and_others_stay)
{
	struct store_checkpoint made;
	int fd = place_create("files", &meta);

	place_write(&meta, "a");
	fd_close(&fd);
	fd = place_create("saved", &meta);
	cr_assert_eq(store_checkpoint(fd, &meta, "", &made), 0);
	fd_close(&fd);
	persistent_make("none", &meta);
	persistent_make("runs", &meta);
	send_end(3, "files", SANDBOX_END_EMPTY);
	cr_expect_str_eq(take_refused(3, REFUSAL_SANDBOX_BUSY), "it has files");
	send_end(3, "saved", SANDBOX_END_EMPTY);
	cr_expect_str_eq(take_refused(3, REFUSAL_SANDBOX_BUSY), "it has files");
	(void)persistent_begin(&rig, 1, "runs");
	send_end(3, "runs", SANDBOX_END_EMPTY);
	cr_expect_str_eq(take_refused(3, REFUSAL_SANDBOX_BUSY), "1 execution(s)");
	cr_expect_eq(place_count("sandboxes"), 4);
	send_end(3, "none", SANDBOX_END_EMPTY);
	take_done(3);
	cr_expect_eq(place_count("sandboxes"), 3);
	send_end(3, "none", SANDBOX_END_EMPTY);
	(void)take_refused(3, REFUSAL_SANDBOX_UNKNOWN);
}

Test(handlers_persistent, what_runs_in_it_ends_first)
{
	struct rig_sandbox live;
	struct ipc_spawn_done done;

	persistent_make("one", &meta);
	live = persistent_begin(&rig, 1, "one");
	send_end(3, "one", SANDBOX_END_DESTROY);
	rig_take_nothing(&rig.frontend);
	cr_expect_eq(place_count("sandboxes"), 1);
	(void)rig_take(&live.init, IPC_TYPE_spawn_kill);
	done = (struct ipc_spawn_done){ .slot = live.slot, .status = 9 };
	rig_send(&live.init, IPC_TYPE_spawn_done, &done, NULL);
	(void)rig_take_done(&rig, 1);
	cr_assert(rig_is_killed(&live));
	rig_turn();
	scan(&rig);
	rig_turn();
	take_done(3);
	cr_expect_eq(place_count("sandboxes"), 0);
	rig_end(&live);
}

/* --- checkpoints ------------------------------------------------------------------------------ */

static const struct ipc_checkpoint_info *take_checkpoint(void)
{
	return rig_body(&rig.frontend, checkpoint_info);
}

static void write_file(const char *name)
{
	int fd = place_take("one", &meta);

	place_write(&meta, name);
	fd_close(&fd);
}

static bool shows(const char *name)
{
	int fd = place_take("one", &meta);
	const bool is_there = place_shows(&meta, meta.upper, name);

	fd_close(&fd);
	return is_there;
}

static void save(const char *name, uint32_t expected)
{
	const struct ipc_checkpoint_info *info;

	send_checkpoint(CHECKPOINT_SAVE, 0, name);
	info = take_checkpoint();
	cr_assert_eq(info->request, 7);
	cr_expect_eq(info->number, expected);
	cr_expect_str_eq(info->name, name);
	cr_expect_eq(info->is_current, 1);
	cr_expect_eq(info->parent, expected - 1);
}

Test(handlers_persistent, checkpoints_are_saved_and_gone_back_to)
{
	const struct ipc_checkpoint_info *info;
	struct ipc_checkpoint_do *ask;

	persistent_make("one", &meta);
	write_file("1");
	save("first", 1);
	write_file("2");
	save("", 2);
	cr_expect(persistent_is_free("one"));
	ask = ask_checkpoint(CHECKPOINT_ROLLBACK, 0, "");
	memcpy(ask->of, "first", sizeof("first"));
	rig_send(&rig.frontend, IPC_TYPE_checkpoint_do, ask, NULL);
	take_done(7);
	cr_expect(shows("1") && !shows("2"));
	send_checkpoint(CHECKPOINT_LIST, 0, "");
	info = take_checkpoint();
	cr_expect_eq(info->number, 1);
	cr_expect_eq(info->is_current, 1);
	info = take_checkpoint();
	cr_expect_eq(info->number, 2);
	cr_expect_eq(info->is_current, 0);
	cr_expect_eq(info->parent, 1);
	take_done(7);
	send_checkpoint(CHECKPOINT_ROLLBACK, 2, "");
	take_done(7);
	cr_expect(shows("2"));
	send_checkpoint(CHECKPOINT_DELETE, 1, "");
	take_done(7);
	send_checkpoint(CHECKPOINT_ROLLBACK, 1, "");
	cr_expect_str_eq(take_refused(7, REFUSAL_CHECKPOINT_UNKNOWN), "2");
}

Test(handlers_persistent, a_fork_is_another_sandbox)
{
	const struct ipc_sandbox_info *info;
	struct ipc_checkpoint_do *ask;

	persistent_make("one", &meta);
	write_file("1");
	save("first", 1);
	write_file("2");
	send_checkpoint(CHECKPOINT_FORK, 0, "two");
	info = take_info(7);
	cr_expect_str_eq(info->name, "two");
	cr_expect_eq(info->checkpoints, 0);
	cr_expect(persistent_is_free("two"));
	send_checkpoint(CHECKPOINT_FORK, 1, "");
	(void)take_info(7);
	send_checkpoint(CHECKPOINT_FORK, 0, "two");
	(void)take_refused(7, REFUSAL_SANDBOX_NAME);
	send_checkpoint(CHECKPOINT_FORK, 0, "no name");
	(void)take_refused(7, REFUSAL_SANDBOX_NAME);
	send_checkpoint(CHECKPOINT_FORK, 9, "three");
	cr_expect_str_eq(take_refused(7, REFUSAL_CHECKPOINT_UNKNOWN), "1 (first)");
	ask = ask_checkpoint(CHECKPOINT_FORK, 0, "three");
	memcpy(ask->of, "none", sizeof("none"));
	rig_send(&rig.frontend, IPC_TYPE_checkpoint_do, ask, NULL);
	(void)take_refused(7, REFUSAL_CHECKPOINT_UNKNOWN);
	small_plan.header.sandboxes_max = 3;
	send_checkpoint(CHECKPOINT_FORK, 0, "three");
	cr_expect_str_eq(take_refused(7, REFUSAL_SANDBOXES), "3 of 3 sandboxes");
}

Test(handlers_persistent, there_is_an_end_of_checkpoints)
{
	persistent_make("one", &meta);
	for (uint32_t i = 1; i <= CHECKPOINTS_MAX; i++)
		save("", i);
	send_checkpoint(CHECKPOINT_SAVE, 0, "");
	cr_expect_str_eq(take_refused(7, REFUSAL_CHECKPOINT_LIMIT), "64 of 64 checkpoints");
}

Test(handlers_persistent, while_something_runs_nothing_is_saved)
{
	struct rig_sandbox live;

	persistent_make("one", &meta);
	live = persistent_begin(&rig, 1, "one");
	for (uint32_t i = CHECKPOINT_SAVE; i < CHECKPOINT_OPERATION_COUNT; i++) {
		send_checkpoint(i, 0, "");
		if (i == CHECKPOINT_LIST)
			take_done(7);
		else
			cr_expect_str_eq(take_refused(7, REFUSAL_SANDBOX_BUSY), "1 execution(s)");
	}
	rig_end(&live);
}

/* Its init is ended first, and what ran in it noted. */
Test(handlers_persistent, what_is_idle_ends_for_it)
{
	struct ipc_spawn_done done;
	struct rig_sandbox live;

	persistent_make("one", &meta);
	live = persistent_begin(&rig, 1, "one");
	done = (struct ipc_spawn_done){ .slot = live.slot };
	rig_send(&live.init, IPC_TYPE_spawn_done, &done, NULL);
	(void)rig_take_done(&rig, 1);
	send_checkpoint(CHECKPOINT_SAVE, 0, "idle");
	rig_take_nothing(&rig.frontend);
	cr_assert(rig_is_killed(&live));
	rig_turn();
	scan(&rig);
	rig_turn();
	cr_expect_str_eq(take_checkpoint()->name, "idle");
	cr_expect(persistent_is_free("one"));
	rig_end(&live);
}

Test(handlers_persistent, an_operation_that_there_is_not_ends_the_frontend)
{
	send_checkpoint(CHECKPOINT_OPERATION_COUNT, 0, "");
	rig_take_end(&rig.frontend);
}

Test(handlers_persistent, another_owners_is_unknown)
{
	struct ipc_checkpoint_do *ask;
	char id[IPC_ID_MAX];

	persistent_make("one", &meta);
	store_id_text(meta.id, id);
	for (uint32_t i = CHECKPOINT_SAVE; i < CHECKPOINT_OPERATION_COUNT; i++) {
		ask = ask_checkpoint(i, 0, "");
		memcpy(ask->owner, "token", sizeof("token"));
		memcpy(ask->sandbox, id, sizeof(id));
		rig_send(&rig.frontend, IPC_TYPE_checkpoint_do, ask, NULL);
		(void)take_refused(7, REFUSAL_SANDBOX_UNKNOWN);
	}
	cr_expect(persistent_is_free("one"));
}
