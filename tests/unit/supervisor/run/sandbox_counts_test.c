/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts of what a persistent sandbox takes: how often they are made, and what one that fails means
 * for what runs and for what is to begin.
 */
#include "run/sandbox.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/fd.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/ipc_layers.h"
#include "common/ipc/refusal.h"
#include "persistent_rig.h"
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

TestSuite(sandbox_counts, .init = open_rig, .fini = close_rig, .timeout = 60);

static struct sandbox *the_one(void)
{
	char id[IPC_ID_MAX];

	store_id_text(meta.id, id);
	return sandbox_find(NULL, id);
}

/* Take the note that is due, and let it fail. */
static void note_fails(uint32_t step)
{
	struct rig_helper helper = persistent_take_helper(&rig, LAYERS_SCAN);

	persistent_start_helper(&rig, &helper);
	persistent_finish(&helper, &(struct ipc_layers_done){ .error = ENOMEM, .step = step });
}

Test(sandbox_counts, files_that_cannot_be_counted_are_too_many)
{
	struct rig_sandbox only;

	persistent_make("box", &meta);
	only = persistent_begin(&rig, 1, "box");
	rig_run_ms(2100);
	note_fails(LAYERS_SCAN_TREE);
	rig_run_ms(150);
	(void)rig_take(&only.init, IPC_TYPE_spawn_kill);
	(void)rig_take(&rig.factory, IPC_TYPE_helper_start);
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(2, "box"), NULL);
	rig_take_refused(&rig, 2, REFUSAL_DISK);
	rig_end(&only);
}

/* What this machine could not count it counts when the next execution comes, which waits for it. */
Test(sandbox_counts, a_count_that_failed_is_made_again_before_anything_begins)
{
	struct rig_sandbox only;
	struct rig_helper helper;

	persistent_make("box", &meta);
	only = persistent_begin(&rig, 1, "box");
	rig_send(&only.init, IPC_TYPE_spawn_done, &(struct ipc_spawn_done){ .slot = only.slot },
		 NULL);
	(void)rig_take_done(&rig, 1);
	rig_run_ms(320);
	note_fails(LAYERS_SCAN_MACHINE);
	rig_run_ms(150);
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(2, "box"), NULL);
	rig_turn();
	helper = persistent_take_helper(&rig, LAYERS_SCAN);
	persistent_start_helper(&rig, &helper);
	persistent_finish(
		&helper, &(struct ipc_layers_done){ .error = EMFILE, .step = LAYERS_SCAN_MACHINE });
	rig_take_refused(&rig, 2, REFUSAL_DISK);
	rig_run_ms(150);
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(3, "box"), NULL);
	rig_turn();
	scan(&rig);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	rig_end(&only);
}

Test(sandbox_counts, what_runs_uncounted_ends_after_a_while)
{
	struct rig_sandbox only;

	persistent_make("box", &meta);
	only = persistent_begin(&rig, 1, "box");
	rig_run_ms(2100);
	note_fails(LAYERS_SCAN_MACHINE);
	rig_run_ms(150);
	note_fails(LAYERS_SCAN_MACHINE);
	rig_take_nothing(&only.init);
	the_one()->persistent.scan.uncounted_us -= 11000000; /* it has been so for a while */
	rig_run_ms(600);                                     /* more than one turn, if it is late */
	(void)rig_take(&only.init, IPC_TYPE_spawn_kill);
	rig_end(&only);
}

Test(sandbox_counts, what_is_counted_though_not_noted_counts)
{
	struct rig_sandbox only;
	struct rig_helper helper;

	small_plan.profiles[0].disk_bytes = 1 << 20;
	persistent_make("box", &meta);
	only = persistent_begin(&rig, 1, "box");
	rig_run_ms(2100);
	helper = persistent_take_helper(&rig, LAYERS_SCAN);
	persistent_start_helper(&rig, &helper);
	persistent_finish(&helper, &(struct ipc_layers_done){ .bytes = 2 << 20,
							      .inodes = 1,
							      .error = EFBIG,
							      .step = LAYERS_SCAN_BASES });
	(void)rig_take(&only.init, IPC_TYPE_spawn_kill);
	cr_assert_gt(the_one()->persistent.scan.since_us, 0, "it is still to be noted");
	rig_end(&only);
}

/* A count that took long is put off, unless the file system lost more than the sandbox has left. */
Test(sandbox_counts, counts_cost_a_part_of_the_time)
{
	struct rig_sandbox only;
	struct rig_helper helper;

	small_plan.profiles[0].disk_bytes = 1 << 20;
	persistent_make("box", &meta);
	only = persistent_begin(&rig, 1, "box");
	rig_run_ms(2100);
	helper = persistent_take_helper(&rig, LAYERS_SCAN);
	persistent_start_helper(&rig, &helper);
	the_one()->persistent.scan.began_us -= 1000000; /* it took a second */
	the_one()->persistent.scan.room.f_bavail = the_one()->persistent.scan.room.f_favail = 0;
	persistent_finish(&helper, &(struct ipc_layers_done){ .bytes = 4096, .inodes = 1 });
	cr_assert_gt(the_one()->persistent.scan.pause_us, clock_now_us() + 19000000);
	rig_run_ms(2200);
	rig_take_nothing(&rig.factory);
	the_one()->persistent.scan.room.f_bavail =
		the_one()->persistent.scan.room.f_blocks; /* as if it had been empty */
	rig_run_ms(2200);
	scan(&rig);
	rig_end(&only);
}

static void finish(const struct rig_sandbox *live, const struct rig_sandbox *execution,
		   uint32_t verdict)
{
	const struct ipc_spawn_done done = { .slot = execution->slot };

	rig_send(&live->init, IPC_TYPE_spawn_done, &done, NULL);
	cr_assert_eq(rig_take_verdict(&rig, execution->request), verdict);
}

static void ask(uint64_t number)
{
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(number, "box"), NULL);
	rig_turn();
}

static void count(uint64_t bytes)
{
	struct rig_helper helper = persistent_take_helper(&rig, LAYERS_SCAN);

	persistent_start_helper(&rig, &helper);
	persistent_finish(&helper, &(struct ipc_layers_done){ .bytes = bytes, .inodes = 1 });
}

/* Have the execution that was asked for begin when a count has found so much. */
static struct rig_sandbox begin_counted(struct rig_sandbox *before, uint64_t number, uint64_t bytes,
					uint32_t lasts)
{
	count(bytes);
	cr_assert(rig_is_killed(before));
	rig_end(before);
	rig_run_ms(10);
	return persistent_take_begun(&rig, number, lasts);
}

/* Its next init is one in which nothing grows. */
Test(sandbox_counts, what_takes_too_much_is_ended_and_can_only_become_less)
{
	struct rig_sandbox only, full, beside, again;

	small_plan.profiles[0].disk_bytes = 1 << 20;
	persistent_make("box", &meta);
	only = persistent_begin(&rig, 1, "box");
	rig_run_ms(2100);
	count(2 << 20);
	(void)rig_take(&only.init, IPC_TYPE_spawn_kill);
	ask(2); /* waits for the end */
	finish(&only, &only, VERDICT_DISK);
	full = begin_counted(&only, 2, 2 << 20, 2);
	/* Others can do so beside it. */
	beside = persistent_join(&rig, 3, "box", &full);
	rig_run_ms(2100);
	count(4096);
	ask(99);
	rig_take_refused(&rig, 99, REFUSAL_SANDBOX_BUSY);
	finish(&full, &beside, VERDICT_EXITED);
	finish(&full, &full, VERDICT_EXITED);
	ask(4);
	again = begin_counted(&full, 4, 4096, 1);
	rig_end(&again);
}

/* Filled, saved and rolled back again and again it is no less. */
Test(sandbox_counts, what_its_checkpoints_keep_counts_too)
{
	struct store_checkpoint made;
	struct rig_sandbox only, full;
	int fd = place_create("box", &meta);

	small_plan.profiles[0].disk_bytes = 3 << 20;
	cr_assert_eq(store_checkpoint(fd, &meta, "", &made), 0);
	place_write(&meta, "1");
	store_count(fd, &meta, 2 << 20, 1);
	cr_assert_eq(store_checkpoint(fd, &meta, "", &made), 0);
	cr_assert_eq(store_rollback(fd, &meta, 1), 0);
	fd_close(&fd);
	only = persistent_begin(&rig, 1, "box");
	rig_run_ms(2100);
	count(2 << 20);
	(void)rig_take(&only.init, IPC_TYPE_spawn_kill);
	finish(&only, &only, VERDICT_DISK);
	ask(2);
	full = begin_counted(&only, 2, 2 << 20, 2);
	rig_end(&full);
}
