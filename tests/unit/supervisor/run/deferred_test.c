/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests that wait for the directory of a workspace, or for a sandbox.
 */
#include "run/deferred.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/ipc_start.h"
#include "common/ipc/refusal.h"
#include "common/ipc/workspace_mode.h"
#include "persistent_rig.h"
#include "support.h"

/* That one owner of one frontend may have deferred: 2 n < 3 (DEFERRED_MAX - n) for the one before.
 */
#define SHARE 77

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

TestSuite(deferred, .init = open_rig, .fini = close_rig, .timeout = 60);

static void send_new(uint64_t number, const char *owner, uint32_t mode)
{
	static struct ipc_sandbox_new ask;

	memset(&ask, 0, sizeof(ask));
	ask.request = number;
	ask.workspace_mode = mode;
	(void)snprintf(ask.owner, sizeof(ask.owner), "%s", owner);
	if (mode != WORKSPACE_NONE)
		memcpy(ask.workspace, "/project", sizeof("/project"));
	rig_send(&rig.frontend, IPC_TYPE_sandbox_new, &ask, NULL);
}

/* One that waits until the launcher has answered: the number of the question. */
static uint32_t defer(uint64_t number, const char *owner)
{
	send_new(number, owner, WORKSPACE_COPY);
	rig_take_nothing(&rig.frontend);
	return rig_body(&launcher, workspace_ask)->number;
}

static void answer(uint32_t number)
{
	struct ipc_workspace_open open_ = { .number = number, .path = "/project" };
	int fd = fd_of_kind('o');

	persistent_open_workspace(&launcher, &open_, fd);
	fd_close(&fd);
	rig_release();
}

static void take_info(uint64_t number)
{
	cr_expect_eq(rig_body(&rig.frontend, sandbox_info)->request, number);
}

static void take_done(uint64_t number)
{
	cr_expect_eq(rig_body(&rig.frontend, request_done)->request, number);
}

static void cancel(uint64_t number)
{
	const struct ipc_execution_end end = { .request = number, .reason = END_CANCELLED };

	rig_send(&rig.frontend, IPC_TYPE_execution_end, &end, NULL);
}

static void send_end(uint64_t number)
{
	struct ipc_sandbox_end ask = { .request = number,
				       .sandbox = "one",
				       .how = SANDBOX_END_STOP };

	rig_send(&rig.frontend, IPC_TYPE_sandbox_end, &ask, NULL);
}

Test(deferred, the_frontend_is_heard_further)
{
	const uint32_t first = defer(1, ""), second = defer(2, "");

	send_new(3, "", WORKSPACE_NONE);
	take_info(3);
	answer(second);
	take_info(2);
	rig_take_nothing(&rig.frontend);
	answer(first);
	take_info(1);
}

Test(deferred, an_owner_leaves_a_share_to_others)
{
	for (uint32_t i = 0; i < SHARE; i++)
		(void)defer(i, "one");
	send_new(SHARE, "one", WORKSPACE_COPY);
	rig_take_refused(&rig, SHARE, REFUSAL_WAITING);
	(void)rig_take(&launcher, IPC_TYPE_workspace_ask);
	(void)defer(SHARE + 1, "two");
	cancel(0);
	cancel(1);
	rig_take_refused(&rig, 0, REFUSAL_CANCELLED);
	rig_take_refused(&rig, 1, REFUSAL_CANCELLED);
	(void)defer(0, "one");
}

Test(deferred, not_more_than_there_is_room_for)
{
	char owner[IPC_NAME_MAX];
	uint32_t count = 0;

	for (bool is_asked = true; is_asked; count += is_asked) {
		(void)snprintf(owner, sizeof(owner), "owner%u", count);
		send_new(count, owner, WORKSPACE_COPY);
		is_asked = 3 * (DEFERRED_MAX - count) > count;
		(void)rig_take(&launcher, IPC_TYPE_workspace_ask);
		if (is_asked)
			rig_take_nothing(&rig.frontend);
	}
	rig_take_refused(&rig, count, REFUSAL_WAITING);
	cr_expect_eq(count, 96, "a frontend with many owners leaves a share, too: %u", count);
}

/* Its question was asked already. */
Test(deferred, what_was_asked_for_a_refused_one_is_nobodys)
{
	uint32_t question;

	for (uint32_t i = 0; i < SHARE; i++)
		(void)defer(i, "one");
	send_new(SHARE, "one", WORKSPACE_COPY);
	rig_take_refused(&rig, SHARE, REFUSAL_WAITING);
	question = rig_body(&launcher, workspace_ask)->number;
	cancel(0);
	rig_take_refused(&rig, 0, REFUSAL_CANCELLED);
	answer(question);
	rig_take_nothing(&rig.frontend);
	answer(defer(SHARE, "one"));
	take_info(SHARE);
}

/* Or the next request would get the answer, and with it a directory that it may not name. */
Test(deferred, a_question_ends_with_its_request)
{
	struct rig_sandbox live = rig_begin(&rig, 1);
	uint32_t first;
	struct stat is;
	int fd = place_create("one", &meta);

	cr_assert_eq(stat("/usr", &is), 0);
	meta.workspace_mode = WORKSPACE_COPY;
	meta.workspace_device = is.st_dev;
	meta.workspace_inode = is.st_ino;
	memcpy(meta.workspace, "/usr", sizeof("/usr"));
	cr_assert_eq(store_save(fd, &meta), 0);
	fd_close(&fd);
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(1, "one"), NULL);
	rig_take_refused(&rig, 1, REFUSAL_REQUEST_IN_USE);
	first = rig_body(&launcher, workspace_ask)->number;
	cr_expect_neq(defer(2, ""), first);
	answer(first);
	rig_take_nothing(&rig.frontend);
	rig_end(&live);
}

Test(deferred, one_that_is_cancelled_never_runs)
{
	const size_t open = fd_count_open();
	const uint32_t question = defer(1, "");

	cancel(1);
	rig_take_refused(&rig, 1, REFUSAL_CANCELLED);
	answer(question);
	rig_run_ms(20);
	rig_take_nothing(&rig.frontend);
	cr_expect_eq(place_count("sandboxes"), 0);
	cancel(1);
	rig_take_nothing(&rig.frontend);
	rig_release();
	cr_expect_eq(fd_count_open(), open);
}

Test(deferred, all_go_with_their_frontend)
{
	const size_t open = fd_count_open();

	supervisor.is_service = true;
	(void)defer(1, "");
	(void)defer(2, "");
	fd_close(&rig.frontend.fd);
	rig_turn();
	cr_expect_null(deferred_asked(0));
	rig_release();
	cr_expect_lt(fd_count_open(), open, "nothing is kept but the frontend's own end is gone");
}

/* A stop that waits comes before the execution that was asked for after it. */
Test(deferred, requests_for_a_sandbox_keep_their_order)
{
	struct rig_sandbox live;
	struct ipc_spawn_done done;

	persistent_make("one", &meta);
	live = persistent_begin(&rig, 1, "one");
	send_end(2);
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(3, "one"), NULL);
	send_end(4);
	(void)rig_take(&live.init, IPC_TYPE_spawn_kill);
	done = (struct ipc_spawn_done){ .slot = live.slot, .status = 9 };
	rig_send(&live.init, IPC_TYPE_spawn_done, &done, NULL);
	(void)rig_take_done(&rig, 1);
	cr_assert(rig_is_killed(&live));
	rig_take_nothing(&rig.frontend);
	rig_turn();
	scan(&rig);
	rig_turn();
	take_done(2);
	cr_expect_eq(rig_body(&rig.frontend, execution_started)->request, 3);
	rig_take_nothing(&rig.frontend);
	rig_end(&live);
}
