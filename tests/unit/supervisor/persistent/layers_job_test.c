/* SPDX-License-Identifier: Apache-2.0
 *
 * Work of msp-layers: what it is handed, who is told of it, and when there is none.
 */
#include "persistent/layers_job.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_changes.h"
#include "common/ipc/ipc_layers.h"
#include "common/ipc/ipc_start.h"
#include "common/ipc/refusal.h"
#include "common/ipc/workspace_mode.h"
#include "persistent_rig.h"
#include "run/sandbox.h"
#include "stewards/store/inner.h"
#include "support.h"

static struct rig rig;
static struct channel launcher;
static struct store_meta meta;

static void open_rig(void)
{
	struct stat is;
	int fd;

	persistent_open(&rig, &launcher);
	fd = place_create("box", &meta);
	cr_assert_eq(stat("/usr", &is), 0);
	meta.workspace_mode = WORKSPACE_COPY;
	meta.workspace_device = is.st_dev;
	meta.workspace_inode = is.st_ino;
	memcpy(meta.workspace, "/usr", sizeof("/usr"));
	cr_assert_eq(store_save(fd, &meta), 0);
	fd_close(&fd);
}

static void close_rig(void)
{
	persistent_close(&rig, &launcher);
}

TestSuite(layers_job, .init = open_rig, .fini = close_rig, .timeout = 60);

static void answer_workspace(void)
{
	static struct ipc_workspace_open answer = { .path = "/usr" };
	int fd = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);

	answer.number = rig_body(&launcher, workspace_ask)->number;
	persistent_open_workspace(&launcher, &answer, fd);
	fd_close(&fd);
}

/* Each byte of what an apply is to find. */
static uint8_t expected;

/* Ask, with the paths "a" and "b" chosen. */
static void ask(uint64_t request, uint32_t operation, uint32_t flags, uint32_t number)
{
	struct ipc_changes_start start = { .request = request,
					   .operation = operation,
					   .conflict = CONFLICT_HOST,
					   .flags = flags,
					   .number = number,
					   .skip = 3,
					   .most = 4,
					   .sandbox = "box" };
	int chosen = fd_sealed_from_bytes("chosen", "a\0b", 4);

	memset(start.expected, expected, sizeof(start.expected));
	rig_send(&rig.frontend, IPC_TYPE_changes_start, &start, &chosen);
	fd_close(&chosen);
}

static int take_records(uint64_t request)
{
	struct channel_message *message = rig_take(&rig.frontend, IPC_TYPE_changes_started);

	cr_assert_eq(ipc_body(message, changes_started)->request, request);
	return channel_take_fd(message, 0);
}

static const struct ipc_changes_done *take_done(uint64_t request)
{
	const struct ipc_changes_done *done = rig_body(&rig.frontend, changes_done);

	cr_assert_eq(done->request, request);
	return done;
}

Test(layers_job, a_diff_is_handed_the_host_and_the_layers)
{
	const struct ipc_layers_done result = {
		.conflicts = 1, .held = 2, .applied = 3, .total = 5
	};
	const struct ipc_changes_done *done;
	struct rig_helper helper;
	char byte = 0;
	int records;

	ask(7, CHANGES_DIFF, CHANGES_TEXT, 0);
	rig_take_nothing(&rig.frontend);
	answer_workspace();
	records = take_records(7);
	helper = persistent_take_helper(&rig, LAYERS_DIFF);
	cr_assert_eq(helper.hosts, 1);
	cr_assert_eq(helper.roles[LAYERS_LAYER], 1);
	cr_assert_eq(helper.roles[LAYERS_JOURNAL], 0);
	cr_assert_eq(helper.ask.conflict, CONFLICT_HOST);
	cr_assert_eq(helper.ask.flags, CHANGES_TEXT);
	cr_assert_eq(helper.ask.skip, 3);
	cr_assert_eq(helper.ask.most, 4);
	persistent_start_helper(&rig, &helper);
	cr_assert_eq(write(helper.output, "x", 1), 1);
	cr_assert_eq(read(records, &byte, 1), 1);
	persistent_finish(&helper, &result);
	cr_assert_eq(read(records, &byte, 1), 0, "nobody else holds it open");
	done = take_done(7);
	cr_assert_eq(done->error, 0);
	cr_assert_eq(done->conflicts, 1);
	cr_assert_eq(done->held, 2);
	cr_assert_eq(done->applied, 3);
	cr_assert_eq(done->total, 5);
	cr_assert(persistent_is_free("box"));
	fd_close(&records);
}

Test(layers_job, since_a_checkpoint_it_is_handed_both_stacks)
{
	struct store_checkpoint one;
	struct rig_helper helper;
	int records;
	int fd = place_take("box", &meta);

	place_write(&meta, "1");
	cr_assert_eq(store_checkpoint(fd, &meta, "one", &one), 0);
	fd_close(&fd);
	ask(7, CHANGES_DIFF, CHANGES_FROM_CHECKPOINT, one.number + 1);
	answer_workspace();
	rig_take_refused(&rig, 7, REFUSAL_CHECKPOINT_UNKNOWN);
	ask(7, CHANGES_DIFF, CHANGES_FROM_CHECKPOINT, one.number);
	answer_workspace();
	records = take_records(7);
	helper = persistent_take_helper(&rig, LAYERS_DIFF);
	cr_assert_eq(helper.roles[LAYERS_LAYER], 2);
	cr_assert_eq(helper.roles[LAYERS_SINCE], 1);
	persistent_end_helper(&helper);
	fd_close(&records);
}

static void expect_helper_failed(uint64_t request, uint32_t error)
{
	const struct ipc_changes_done *done = take_done(request);

	cr_assert_eq(done->step, CHANGES_STEP_HELPER);
	cr_assert_eq(done->error, error);
}

Test(layers_job, one_that_dies_without_a_word_is_told)
{
	struct rig_helper helper;
	int records;

	ask(7, CHANGES_DIFF, 0, 0);
	answer_workspace();
	records = take_records(7);
	helper = persistent_take_helper(&rig, LAYERS_DIFF);
	persistent_start_helper(&rig, &helper);
	persistent_end_helper(&helper);
	expect_helper_failed(7, EPIPE);
	cr_assert(persistent_is_free("box"));
	fd_close(&records);
}

Test(layers_job, one_that_talks_nonsense_is_killed)
{
	struct rig_helper helper;
	int records;

	ask(7, CHANGES_DIFF, 0, 0);
	answer_workspace();
	records = take_records(7);
	helper = persistent_take_helper(&rig, LAYERS_DIFF);
	persistent_start_helper(&rig, &helper);
	cr_assert_eq(write(helper.channel.fd, "nonsense", 8), 8);
	rig_turn();
	expect_helper_failed(7, EPIPE);
	cr_assert_not(supervisor.is_ending);
	persistent_end_helper(&helper);
	fd_close(&records);
}

Test(layers_job, one_that_cannot_be_started_is_told)
{
	struct rig_helper helper;
	int records;

	ask(7, CHANGES_DIFF, 0, 0);
	answer_workspace();
	records = take_records(7);
	helper = persistent_take_helper(&rig, LAYERS_DIFF);
	rig_fail(&rig, helper.slot, STAGE_CLONE, EAGAIN);
	expect_helper_failed(7, EAGAIN);
	persistent_end_helper(&helper);
	fd_close(&records);
}

Test(layers_job, an_answer_that_nobody_asked_for_is_a_breach)
{
	rig_fail(&rig, LAYERS_SLOT, STAGE_CLONE, EAGAIN);
	cr_assert(supervisor.is_ending);
}

Test(layers_job, an_apply_has_the_journal_and_is_alone)
{
	struct rig_helper helper;
	int records;

	expected = 9;
	ask(7, CHANGES_APPLY, 0, 0);
	answer_workspace();
	records = take_records(7);
	helper = persistent_take_helper(&rig, LAYERS_APPLY);
	cr_assert_eq(helper.roles[LAYERS_JOURNAL], 1);
	cr_assert_eq(helper.hosts, 1);
	cr_assert_eq(helper.roles[LAYERS_LAYER], 1);
	cr_assert_eq(helper.ask.expected[0], 9);
	cr_assert_eq(helper.ask.expected[IPC_DIGEST_BYTES - 1], 9);
	ask(8, CHANGES_UNDO, 0, 0);
	answer_workspace();
	rig_take_refused(&rig, 8, REFUSAL_SANDBOX_BUSY);
	persistent_start_helper(&rig, &helper);
	persistent_finish(&helper, &(struct ipc_layers_done){ .applied = 1 });
	cr_assert_eq(take_done(7)->applied, 1);
	fd_close(&records);
}

Test(layers_job, an_apply_outlives_its_frontend_and_a_diff_does_not)
{
	struct rig_helper apply, diff;
	int records;

	supervisor.is_service = true;
	ask(7, CHANGES_DIFF, 0, 0);
	answer_workspace();
	records = take_records(7);
	fd_close(&records);
	diff = persistent_take_helper(&rig, LAYERS_DIFF);
	persistent_start_helper(&rig, &diff);
	ask(8, CHANGES_APPLY, 0, 0);
	answer_workspace(); /* what git names may be other by now */
	records = take_records(8);
	fd_close(&records);
	apply = persistent_take_helper(&rig, LAYERS_APPLY);
	persistent_start_helper(&rig, &apply);
	fd_close(&rig.frontend.fd);
	rig_turn();
	rig_take_end(&diff.channel);
	rig_take_nothing(&apply.channel);
	cr_assert_not(persistent_is_free("box"));
	persistent_finish(&apply, &(struct ipc_layers_done){ .applied = 1 });
	cr_assert(persistent_is_free("box"));
	persistent_end_helper(&diff);
}

Test(layers_job, only_a_person_applies_where_the_profile_says_so)
{
	struct rig_helper helper;
	int records;

	small_plan.profiles[0].apply = PLAN_APPLY_PERSON;
	RIG_FRONTEND->is_broker = true;
	ask(7, CHANGES_APPLY, 0, 0);
	answer_workspace();
	rig_take_refused(&rig, 7, REFUSAL_APPLY);
	ask(7, CHANGES_UNDO, 0, 0);
	answer_workspace();
	rig_take_refused(&rig, 7, REFUSAL_APPLY);
	ask(7, CHANGES_PREVIEW, 0, 0);
	answer_workspace();
	records = take_records(7);
	fd_close(&records);
	helper = persistent_take_helper(&rig, LAYERS_PREVIEW);
	persistent_end_helper(&helper);
	RIG_FRONTEND->is_broker = false;
	ask(8, CHANGES_APPLY, 0, 0);
}

static void expect_begun(uint64_t request, uint32_t operation)
{
	struct rig_helper helper;
	int records = take_records(request);

	helper = persistent_take_helper(&rig, operation);
	persistent_start_helper(&rig, &helper);
	persistent_finish(&helper, &(struct ipc_layers_done){ .digest = { 7 } });
	cr_assert_eq(take_done(request)->digest[0], 7);
	fd_close(&records);
}

/* A word is one to what was previewed. */
Test(layers_job, a_broker_says_what_it_expects_where_somebody_has_to_agree)
{
	static const struct {
		uint32_t policy, operation, flags;
		bool says, goes;
	} rows[] = {
		{ PLAN_APPLY_ASK, CHANGES_APPLY, 0, false, false },
		{ PLAN_APPLY_ASK, CHANGES_APPLY, 0, true, true },
		{ PLAN_APPLY_ASK, CHANGES_APPLY, CHANGES_HELD_TOO, false, false },
		{ PLAN_APPLY_AGENT, CHANGES_APPLY, CHANGES_HELD_TOO, false, false },
		{ PLAN_APPLY_AGENT, CHANGES_APPLY, CHANGES_HELD_TOO, true, true },
		{ PLAN_APPLY_AGENT, CHANGES_APPLY, 0, false, true },
		{ PLAN_APPLY_PERSON, CHANGES_APPLY, 0, true, false },
		{ PLAN_APPLY_AGENT, CHANGES_UNDO, 0, true, false },
	};

	RIG_FRONTEND->is_broker = true;
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		small_plan.profiles[0].apply = rows[i].policy;
		expected = rows[i].says;
		ask(i, rows[i].operation, rows[i].flags, 0);
		answer_workspace();
		if (rows[i].goes)
			expect_begun(i, LAYERS_APPLY);
		else
			rig_take_refused(&rig, i, REFUSAL_APPLY);
	}
	rig_take_nothing(&rig.factory);
}

Test(layers_job, nothing_is_applied_while_something_runs)
{
	static const uint32_t operations[] = { CHANGES_APPLY, CHANGES_UNDO };
	struct ipc_changes_start start = { .sandbox = "plain" };
	struct rig_sandbox only;

	persistent_make("plain", &meta);
	only = persistent_begin(&rig, 1, "plain");
	for (uint64_t i = 0; i < 2; i++) {
		start.request = 7 + i;
		start.operation = operations[i];
		rig_send(&rig.frontend, IPC_TYPE_changes_start, &start, &supervisor.nothing);
		rig_take_refused(&rig, 7 + i, REFUSAL_SANDBOX_BUSY);
	}
	rig_take_nothing(&rig.factory);
	rig_end(&only);
}

Test(layers_job, what_is_started_during_an_apply_waits_for_its_end)
{
	struct rig_helper helper;
	int records;

	expected = 0;
	ask(7, CHANGES_APPLY, 0, 0);
	answer_workspace();
	records = take_records(7);
	helper = persistent_take_helper(&rig, LAYERS_APPLY);
	persistent_start_helper(&rig, &helper);
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(8, "box"), NULL);
	rig_take_nothing(&rig.frontend);
	rig_take_nothing(&rig.factory);
	persistent_finish(&helper, &(struct ipc_layers_done){ .applied = 1 });
	(void)take_done(7);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	(void)rig_take(&rig.factory, IPC_TYPE_sandbox_workspace);
	fd_close(&records);
}

Test(layers_job, where_there_is_no_copy_nothing_is_applied)
{
	int fd = place_take("box", &meta);

	meta.workspace_mode = WORKSPACE_READ;
	cr_assert_eq(store_save(fd, &meta), 0);
	fd_close(&fd);
	ask(7, CHANGES_APPLY, 0, 0);
	answer_workspace();
	rig_take_refused(&rig, 7, REFUSAL_WORKSPACE);
	rig_take_nothing(&rig.factory);
}

Test(layers_job, without_an_apply_there_is_nothing_to_undo)
{
	ask(7, CHANGES_UNDO, 0, 0);
	answer_workspace();
	rig_take_refused(&rig, 7, REFUSAL_UNDO);
	rig_take_nothing(&rig.factory);
}

Test(layers_job, nonsense_ends_the_frontend)
{
	ask(7, CHANGES_OPERATION_COUNT, 0, 0);
	cr_assert(supervisor.is_ending);
}

Test(layers_job, an_interrupted_apply_is_taken_care_of_first)
{
	struct rig_helper helper;
	int records;
	int fd = place_take("box", &meta);
	int journal = store_journal(fd);

	cr_assert_eq(mkdirat(journal, "swapping", 0700), 0);
	fd_close(&journal);
	fd_close(&fd);
	ask(7, CHANGES_DIFF, 0, 0);
	answer_workspace();
	rig_take_nothing(&rig.frontend);
	helper = persistent_take_helper(&rig, LAYERS_RECOVER);
	cr_assert_eq(helper.roles[LAYERS_JOURNAL], 1);
	persistent_start_helper(&rig, &helper);
	persistent_finish(&helper, &(struct ipc_layers_done){ .error = 0 });
	answer_workspace();
	records = take_records(7);
	helper = persistent_take_helper(&rig, LAYERS_DIFF);
	persistent_end_helper(&helper);
	fd_close(&records);
}

/* Also where the sandbox was ours all the time, and only msp-layers was killed. */
Test(layers_job, an_apply_that_was_killed_is_taken_care_of)
{
	struct rig_helper apply, recovery;
	char id[IPC_ID_MAX];
	int records, journal;

	store_id_text(meta.id, id);
	expected = 9;
	ask(7, CHANGES_APPLY, 0, 0);
	answer_workspace();
	records = take_records(7);
	apply = persistent_take_helper(&rig, LAYERS_APPLY);
	persistent_start_helper(&rig, &apply);
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(8, "box"), NULL);
	journal = store_journal(sandbox_find(NULL, id)->persistent.directory);
	cr_assert_eq(mkdirat(journal, "swapping", 0700), 0);
	fd_close(&journal);
	persistent_end_helper(&apply);
	cr_assert_eq(take_done(7)->error, EPIPE);
	rig_take_nothing(&rig.frontend);
	recovery = persistent_take_helper(&rig, LAYERS_RECOVER);
	persistent_start_helper(&rig, &recovery);
	persistent_finish(&recovery, &(struct ipc_layers_done){ .error = EBADMSG });
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	fd_close(&records);
}

/* --- layers ----------------------------------------------------------------------------------- */

Test(layers_job, a_long_chain_is_made_short)
{
	struct store_checkpoint checkpoint;
	struct rig_helper helper;
	int fd = place_take("box", &meta);
	int records;

	for (int i = 0; i <= STORE_CHAIN_MAX; i++) {
		place_write(&meta, (const char[]){ (char)('0' + i % 10), '\0' });
		cr_assert_eq(store_checkpoint(fd, &meta, "", &checkpoint), 0);
	}
	fd_close(&fd);
	ask(7, CHANGES_DIFF, 0, 0);
	answer_workspace();
	records = take_records(7);
	helper = persistent_take_helper(&rig, LAYERS_DIFF);
	persistent_start_helper(&rig, &helper);
	persistent_finish(&helper, &(struct ipc_layers_done){ .error = 0 });
	(void)take_done(7);
	fd_close(&records);
	helper = persistent_take_helper(&rig, LAYERS_MERGE);
	cr_assert_eq(helper.roles[LAYERS_LAYER], STORE_CHAIN_MAX + 1);
	cr_assert_eq(helper.roles[LAYERS_TARGET], 1);
	persistent_start_helper(&rig, &helper);
	persistent_finish(&helper, &(struct ipc_layers_done){ .bytes = 5, .inodes = 6 });
	cr_assert(persistent_is_free("box"));
	fd = place_take("box", &meta);
	cr_assert_eq(meta.layers[meta.layers[meta.upper].parent].parent, STORE_NO_LAYER);
	fd_close(&fd);
}

static void remove_trash(const struct rig_helper *helper, const char *path)
{
	cr_assert_eq(helper->roles[LAYERS_TARGET], 1);
	cr_assert_eq(unlinkat(store_places.state, path, AT_REMOVEDIR), 0);
}

Test(layers_job, what_is_in_the_trash_is_removed)
{
	struct rig_helper helper;
	int records;

	cr_assert_eq(mkdirat(store_places.state, "trash/one", 0700), 0);
	ask(7, CHANGES_DIFF, 0, 0);
	answer_workspace();
	records = take_records(7);
	helper = persistent_take_helper(&rig, LAYERS_DIFF);
	persistent_end_helper(&helper);
	rig_fail(&rig, helper.slot, STAGE_CLONE, EAGAIN);
	fd_close(&records);
	helper = persistent_take_helper(&rig, LAYERS_REMOVE);
	remove_trash(&helper, "trash/one");
	persistent_start_helper(&rig, &helper);
	cr_assert(layers_job_is_removing());
	rig_send(&helper.channel, IPC_TYPE_layers_done, &(struct ipc_layers_done){ .error = 0 },
		 NULL);
	rig_turn();
	cr_assert_not(layers_job_is_removing(), "it goes on by itself");
	cr_assert_eq(mkdirat(store_places.state, "trash/two", 0700), 0);
	layers_job_empty_trash(); /* while it is being done */
	rig_take_nothing(&rig.factory);
	persistent_end_helper(&helper);
	helper = persistent_take_helper(&rig, LAYERS_REMOVE);
	persistent_start_helper(&rig, &helper);
	cr_assert(layers_job_is_removing());
	persistent_finish(&helper, &(struct ipc_layers_done){ .error = 0 }); /* which it is not */
	cr_assert_not(layers_job_is_removing(), "what does not go is not tried for ever");
	rig_take_nothing(&rig.factory);
}

Test(layers_job, everything_is_closed_in_the_end)
{
	const size_t before = fd_count_open();

	for (uint64_t i = 0; i < 3; i++) {
		struct rig_helper helper;
		int records;

		ask(i, CHANGES_DIFF, 0, 0);
		answer_workspace();
		records = take_records(i);
		helper = persistent_take_helper(&rig, LAYERS_DIFF);
		persistent_start_helper(&rig, &helper);
		persistent_finish(&helper, &(struct ipc_layers_done){ .error = 0 });
		(void)take_done(i);
		fd_close(&records);
	}
	rig_release();
	cr_assert_eq(fd_count_open(), before, "what git names goes with its request");
}
