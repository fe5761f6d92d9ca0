/* SPDX-License-Identifier: Apache-2.0
 *
 * The process that waits in a live persistent sandbox: when it is asked for, which request goes to
 * it, and what becomes of one that is lost with it. The test plays the init, and the process.
 */
#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>

#include "base/loop.h"
#include "common/fd.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_init.h"
#include "persistent_rig.h"
#include "run/execution.h"
#include "run/sandbox.h"
#include "run/standby.h"

#define AWAIT_MS 5000
#define MOMENT_MS 20

static struct rig rig;
static struct channel launcher;
static struct store_meta meta;

static void open_rig(void)
{
	persistent_open(&rig, &launcher);
	persistent_make("box", &meta);
}

static void close_rig(void)
{
	persistent_close(&rig, &launcher);
}

TestSuite(standby_process, .init = open_rig, .fini = close_rig, .timeout = 60);

static void finish(const struct rig_sandbox *box, uint32_t slot, uint64_t request)
{
	rig_send(&box->init, IPC_TYPE_spawn_done, &(struct ipc_spawn_done){ .slot = slot }, NULL);
	(void)rig_take_done(&rig, request);
}

static bool is_asked_within(const struct channel *init, int ms)
{
	struct pollfd asked = { .fd = init->fd, .events = POLLIN };

	for (; poll(&asked, 1, 0) == 0 && ms > 0; ms--) {
		rig_run_ms(1);
		standby_tick();
	}
	return poll(&asked, 1, 0) == 1;
}

/* A live sandbox in which a command ran last, whose init has been asked for a process. */
static struct rig_sandbox live(void)
{
	struct rig_sandbox box = persistent_begin(&rig, 1, "box");

	cr_assert_not(is_asked_within(&box.init, MOMENT_MS), "beside an execution");
	finish(&box, box.slot, 1);
	cr_assert(is_asked_within(&box.init, AWAIT_MS));
	rig_take_standby(&box);
	return box;
}

static void say_ready(const struct rig_sandbox *box)
{
	rig_send(&box->init, IPC_TYPE_spawn_waits, &(struct ipc_spawn_waits){ 0 }, NULL);
}

static void say_gone(const struct rig_sandbox *box)
{
	rig_send(&box->init, IPC_TYPE_spawn_done, &(struct ipc_spawn_done){ .slot = STANDBY_SLOT },
		 NULL);
}

static void ask(uint64_t number)
{
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(number, "box"), NULL);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
}

static void take_kill(const struct rig_sandbox *box)
{
	cr_assert_eq(rig_body(&box->init, spawn_kill)->slot, STANDBY_SLOT);
	rig_take_end(&box->standby);
}

Test(standby_process, the_next_execution_is_asked_of_it)
{
	struct rig_sandbox box = live();

	say_ready(&box);
	for (uint64_t request = 2; request < 4; request++) {
		ask(request);
		persistent_take_spawn(&box, &box.standby);
		rig_take_end(&box.standby); /* it is for one */
		rig_take_nothing(&box.init);
		finish(&box, box.slot, request);
		cr_assert(is_asked_within(&box.init, AWAIT_MS));
		fd_close(&box.standby.fd);
		rig_take_standby(&box);
		say_ready(&box);
	}
	rig_end(&box);
}

Test(standby_process, one_that_is_not_known_to_wait_is_not_asked)
{
	struct rig_sandbox box = live();

	ask(2);
	take_kill(&box);
	persistent_take_spawn(&box, &box.init);
	say_ready(&box); /* it had been said before that was heard */
	say_gone(&box);
	finish(&box, box.slot, 2);
	rig_end(&box);
}

Test(standby_process, a_terminal_is_asked_of_the_init)
{
	struct rig_sandbox box = live();
	struct ipc_execution_start *request = persistent_request(2, "box");

	say_ready(&box);
	request->use_tty = 1;
	rig_send(&rig.frontend, IPC_TYPE_execution_start, request, NULL);
	take_kill(&box);
	cr_assert_eq(rig_body(&box.init, spawn)->use_tty, 1);
	rig_end(&box);
}

Test(standby_process, one_that_ended_unseen_is_not_noticed)
{
	struct rig_sandbox box = live();

	say_ready(&box);
	fd_close(&box.standby.fd);
	ask(2);
	cr_assert_eq(rig_body(&box.init, spawn_kill)->slot, STANDBY_SLOT);
	persistent_take_spawn(&box, &box.init);
	say_gone(&box);
	finish(&box, box.slot, 2);
	rig_end(&box);
}

Test(standby_process, what_it_was_sent_is_lost_with_it)
{
	struct rig_sandbox box = live();
	const struct ipc_execution_done *done;

	say_ready(&box);
	ask(2);
	say_gone(&box);
	done = rig_take_done(&rig, 2);
	cr_assert_eq(done->verdict, VERDICT_INTERNAL);
	cr_assert_eq(done->stage, STAGE_CHANNEL);
	ask(3);
	persistent_take_spawn(&box, &box.init);
	finish(&box, box.slot, 3);
	rig_end(&box);
}

Test(standby_process, it_is_gone_before_files_are_worked_on)
{
	struct rig_sandbox box = live();
	char id[IPC_ID_MAX];

	say_ready(&box);
	store_id_text(meta.id, id);
	cr_assert_not(standby_is_clear(sandbox_find(NULL, id)));
	take_kill(&box);
	say_gone(&box);
	standby_tick();
	cr_assert(standby_is_clear(sandbox_find(NULL, id)));
	rig_end(&box);
}
