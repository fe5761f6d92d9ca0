/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of persistent sandboxes: who makes them live, what runs in them together, when they are
 * cold again and nobody's.
 */
#include "run/sandbox.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/loop.h"
#include "common/fd.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/ipc_layers.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/layer_role.h"
#include "common/ipc/refusal.h"
#include "front/frontend.h"
#include "persistent_rig.h"
#include "run/execution.h"
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

TestSuite(sandbox, .init = open_rig, .fini = close_rig, .timeout = 60);

/* Until a note begins after an execution, and a little more. */
#define SETTLED_MS 320

static void finish(const struct rig_sandbox *live, const struct rig_sandbox *execution)
{
	const struct ipc_spawn_done done = { .slot = execution->slot };

	rig_send(&live->init, IPC_TYPE_spawn_done, &done, NULL);
	cr_assert_eq(rig_take_done(&rig, execution->request)->verdict, VERDICT_EXITED);
}

static void expect_refused(const char *name, enum refusal reason)
{
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(99, name), NULL);
	rig_take_refused(&rig, 99, reason);
}

static const struct sandbox *the_one(void)
{
	char id[IPC_ID_MAX];
	const struct sandbox *sandbox;

	store_id_text(meta.id, id);
	sandbox = sandbox_find(NULL, id);
	cr_assert_not_null(sandbox);
	return sandbox;
}

Test(sandbox, the_first_execution_has_its_places_made)
{
	struct channel_message *message;
	char upper[IPC_ID_MAX];

	persistent_make("box", &meta);
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(1, "box"), NULL);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	store_id_text(meta.layers[meta.upper].id, upper);
	for (uint32_t i = 0; i < 4; i++) {
		message = rig_take(&rig.factory, IPC_TYPE_sandbox_layer);
		cr_assert_eq(ipc_body(message, sandbox_layer)->number, i);
		cr_assert_eq(ipc_body(message, sandbox_layer)->mount, i / 2);
		cr_assert_eq(ipc_body(message, sandbox_layer)->role,
			     i % 2 == 0 ? LAYER_UPPER : LAYER_WORK);
		cr_assert_str_eq(ipc_body(message, sandbox_layer)->id, upper);
	}
	message = rig_take(&rig.factory, IPC_TYPE_sandbox_create);
	cr_assert_eq(ipc_body(message, sandbox_create)->slot, EPHEMERAL_MAX);
	cr_assert_eq(ipc_body(message, sandbox_create)->profile, 0);
	cr_assert_eq(ipc_body(message, sandbox_create)->layers, 4);
	cr_assert_not(persistent_is_free("box"));
}

Test(sandbox, what_lies_below_comes_the_highest_first)
{
	struct store_checkpoint checkpoint;
	struct channel_message *message;
	char id[IPC_ID_MAX];
	int fd = place_create("box", &meta);

	place_write(&meta, "1");
	cr_assert_eq(store_checkpoint(fd, &meta, "one", &checkpoint), 0);
	place_write(&meta, "2");
	cr_assert_eq(store_checkpoint(fd, &meta, "two", &checkpoint), 0);
	fd_close(&fd);
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(1, "box"), NULL);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	for (uint32_t layer = meta.layers[meta.upper].parent; layer != STORE_NO_LAYER;
	     layer = meta.layers[layer].parent) {
		message = rig_take(&rig.factory, IPC_TYPE_sandbox_layer);
		cr_assert_eq(ipc_body(message, sandbox_layer)->role, LAYER_LOWER);
		store_id_text(meta.layers[layer].id, id);
		cr_assert_str_eq(ipc_body(message, sandbox_layer)->id, id);
	}
	message = rig_take(&rig.factory, IPC_TYPE_sandbox_layer);
	cr_assert_eq(ipc_body(message, sandbox_layer)->role, LAYER_UPPER,
		     "no empty one beside them");
}

Test(sandbox, executions_run_side_by_side)
{
	struct rig_sandbox first, second;

	persistent_make("box", &meta);
	first = persistent_begin(&rig, 1, "box");
	second = persistent_join(&rig, 2, "box", &first);
	cr_assert_neq(first.slot, second.slot);
	rig_take_nothing(&rig.factory);
	cr_assert_eq(execution_count(the_one()), 2);
	finish(&first, &first);
	cr_assert_eq(execution_count(the_one()), 1);
	rig_take_nothing(&rig.factory);
	rig_run_ms(SETTLED_MS);
	scan(&rig);
	finish(&first, &second);
	rig_run_ms(SETTLED_MS);
	scan(&rig);
	rig_take_nothing(&rig.factory);
	cr_assert_eq(the_one()->state, SANDBOX_LIVE, "it waits for the next");
	rig_end(&second);
	rig_end(&first);
}

Test(sandbox, an_end_is_for_one_execution)
{
	const struct ipc_execution_end end = { .request = 2, .reason = END_CANCELLED };
	struct rig_sandbox first, second;

	persistent_make("box", &meta);
	first = persistent_begin(&rig, 1, "box");
	second = persistent_join(&rig, 2, "box", &first);
	rig_send(&rig.frontend, IPC_TYPE_execution_end, &end, NULL);
	cr_assert_eq(rig_body(&first.init, spawn_kill)->slot, second.slot);
	rig_take_nothing(&first.init);
	rig_send(&first.init, IPC_TYPE_spawn_done,
		 &(struct ipc_spawn_done){ .slot = second.slot, .status = SIGKILL }, NULL);
	cr_assert_eq(rig_take_done(&rig, 2)->verdict, VERDICT_CANCELLED);
	rig_take_nothing(&rig.frontend);
	rig_end(&second);
	rig_end(&first);
}

Test(sandbox, there_is_a_most)
{
	static struct rig_sandbox all[SANDBOX_EXECUTIONS_MAX];

	persistent_make("box", &meta);
	all[0] = persistent_begin(&rig, 0, "box");
	for (uint32_t i = 1; i < SANDBOX_EXECUTIONS_MAX; i++) {
		all[i] = persistent_join(&rig, i, "box", &all[0]);
		fd_close_all(all[i].stdio, 3);
	}
	expect_refused("box", REFUSAL_SANDBOX_BUSY);
	finish(&all[0], &all[3]);
	all[3] = persistent_join(&rig, 50, "box", &all[0]);
	rig_end(&all[3]);
	rig_end(&all[0]);
}

Test(sandbox, idle_it_ends_and_is_nobodys)
{
	struct rig_sandbox only, again;

	small_plan.profiles[0].idle_s = 0;
	persistent_make("box", &meta);
	only = persistent_begin(&rig, 1, "box");
	rig_run_ms(10);
	cr_assert_eq(the_one()->state, SANDBOX_LIVE, "an execution is in it");
	finish(&only, &only);
	cr_assert(rig_is_killed(&only));
	scan(&rig);
	cr_assert(persistent_is_free("box"));
	cr_assert_eq(sandbox_deadline_us(), UINT64_MAX);
	rig_end(&only);
	again = persistent_begin(&rig, 2, "box");
	rig_end(&again);
}

Test(sandbox, a_dead_init_ends_all_of_it)
{
	struct rig_sandbox first, second, again;
	const struct ipc_execution_done *done;

	persistent_make("box", &meta);
	first = persistent_begin(&rig, 1, "box");
	second = persistent_join(&rig, 2, "box", &first);
	fd_close(&first.init.fd);
	rig_turn();
	for (uint64_t i = 1; i <= 2; i++) {
		done = rig_take_done(&rig, i);
		cr_assert_eq(done->verdict, VERDICT_INTERNAL);
		cr_assert_eq(done->stage, STAGE_CHANNEL);
	}
	cr_assert(rig_is_killed(&first));
	rig_turn();
	scan(&rig);
	cr_assert(persistent_is_free("box"));
	rig_end(&second);
	rig_end(&first);
	again = persistent_begin(&rig, 3, "box");
	rig_end(&again);
}

Test(sandbox, one_that_cannot_be_made_is_reported)
{
	const struct ipc_execution_done *done;

	persistent_make("box", &meta);
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(1, "box"), NULL);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	rig_fail(&rig, EPHEMERAL_MAX, STAGE_BASE, EINVAL);
	done = rig_take_done(&rig, 1);
	cr_assert_eq(done->verdict, VERDICT_INTERNAL);
	cr_assert_eq(done->stage, STAGE_BASE);
	cr_assert_eq(the_one()->state, SANDBOX_COLD);
}

Test(sandbox, an_execution_that_does_not_die_ends_the_sandbox)
{
	const struct ipc_execution_end end = { .request = 2, .reason = END_CANCELLED };
	struct rig_sandbox first, second;

	persistent_make("box", &meta);
	first = persistent_begin(&rig, 1, "box");
	second = persistent_join(&rig, 2, "box", &first);
	rig_send(&rig.frontend, IPC_TYPE_execution_end, &end, NULL);
	execution_set_deadline(&supervisor.executions[second.slot], clock_now_us());
	rig_turn();
	cr_assert_eq(rig_take_done(&rig, 1)->verdict, VERDICT_INTERNAL);
	cr_assert_eq(rig_take_done(&rig, 2)->verdict, VERDICT_CANCELLED);
	cr_assert(rig_is_killed(&first));
	rig_end(&second);
	rig_end(&first);
}

Test(sandbox, an_init_may_not_speak_of_anothers)
{
	struct ipc_spawn_done report = { .status = 0 };
	struct rig_sandbox first, other;

	persistent_make("box", &meta);
	first = persistent_begin(&rig, 1, "box");
	other = rig_begin(&rig, 2);
	report.slot = execution_find(RIG_FRONTEND, 2)->slot;
	rig_send(&first.init, IPC_TYPE_spawn_done, &report, NULL);
	cr_assert_eq(rig_take_done(&rig, 1)->verdict, VERDICT_INTERNAL);
	rig_take_nothing(&rig.frontend);
	rig_end(&other);
	rig_end(&first);
}

Test(sandbox, it_has_its_own_profile)
{
	struct ipc_execution_start *request;
	struct rig_sandbox only;

	persistent_make("box", &meta);
	request = persistent_request(1, "box");
	memcpy(request->profile, "strict", sizeof("strict"));
	rig_send(&rig.frontend, IPC_TYPE_execution_start, request, NULL);
	rig_take_refused(&rig, 1, REFUSAL_SANDBOX_PROFILE);
	cr_assert(persistent_is_free("box"));
	request = persistent_request(1, "box");
	request->no_hosts = 1; /* it has them */
	rig_send(&rig.frontend, IPC_TYPE_execution_start, request, NULL);
	rig_take_refused(&rig, 1, REFUSAL_SANDBOX_PROFILE);
	request->no_hosts = 0;
	small_plan.profiles[0].mount_count = 0;
	expect_refused("box", REFUSAL_SANDBOX_PROFILE);
	small_plan.profiles[0].mount_count = SMALL_MOUNTS;
	only = persistent_begin(&rig, 2, "box");
	rig_end(&only);
}

Test(sandbox, what_is_not_there_or_not_free_is_refused)
{
	int fd;

	expect_refused("box", REFUSAL_SANDBOX_UNKNOWN);
	fd = place_create("box", &meta);
	expect_refused("box", REFUSAL_SANDBOX_ELSEWHERE);
	fd_close(&fd);
	memcpy(supervisor.stateless, "why", sizeof("why"));
	expect_refused("box", REFUSAL_STATE);
	rig_take_nothing(&rig.factory);
}

Test(sandbox, another_owner_has_none_of_that_name)
{
	struct rig_sandbox only;
	struct ipc_execution_start *request;

	persistent_make("box", &meta);
	only = persistent_begin(&rig, 1, "box");
	request = persistent_request(2, "box");
	memcpy(request->owner, "laptop", sizeof("laptop"));
	rig_send(&rig.frontend, IPC_TYPE_execution_start, request, NULL);
	rig_take_refused(&rig, 2, REFUSAL_SANDBOX_UNKNOWN);
	store_id_text(meta.id, request->sandbox);
	rig_send(&rig.frontend, IPC_TYPE_execution_start, request, NULL);
	rig_take_refused(&rig, 2, REFUSAL_SANDBOX_UNKNOWN);
	rig_end(&only);
}

Test(sandbox, its_frontend_ends_its_executions_and_not_it)
{
	struct rig_sandbox only;

	supervisor.is_service = true;
	persistent_make("box", &meta);
	only = persistent_begin(&rig, 1, "box");
	fd_close(&rig.frontend.fd);
	rig_turn();
	(void)rig_take(&only.init, IPC_TYPE_spawn_kill);
	rig_send(&only.init, IPC_TYPE_spawn_done,
		 &(struct ipc_spawn_done){ .slot = only.slot, .status = SIGKILL }, NULL);
	cr_assert_eq(the_one()->state, SANDBOX_LIVE);
	cr_assert_eq(execution_count(the_one()), 0);
	rig_end(&only);
}

/* What is noted is known; until then a mark says that it is not. */
Test(sandbox, a_mark_is_there_until_all_is_noted)
{
	struct rig_sandbox only;
	struct rig_helper helper;
	char path[512];
	char id[IPC_ID_MAX];

	persistent_make("box", &meta);
	store_id_text(meta.id, id);
	(void)snprintf(path, sizeof(path), "%s/sandboxes/%s/unnoted", place_path, id);
	only = persistent_begin(&rig, 1, "box");
	cr_assert_eq(access(path, F_OK), 0);
	finish(&only, &only);
	rig_run_ms(SETTLED_MS);
	helper = persistent_take_helper(&rig, LAYERS_SCAN);
	cr_assert_gt(helper.ask.since_us, 0);
	cr_assert_leq(helper.ask.since_us, clock_real_us());
	cr_assert_eq(helper.roles[LAYERS_LAYER], 1);
	cr_assert_eq(helper.hosts, 0);
	cr_assert_eq(access(path, F_OK), 0);
	persistent_start_helper(&rig, &helper);
	persistent_finish(&helper, &(struct ipc_layers_done){ .bytes = 1, .inodes = 1 });
	cr_assert_eq(the_one()->persistent.scan.since_us, 0);
	cr_assert_eq(access(path, F_OK), 0, "it is kept for the next execution");
	cr_assert_not(sandbox_stop(sandbox_find(NULL, id)));
	sandbox_tick();
	cr_assert(rig_is_killed(&only));
	rig_turn();
	cr_assert_neq(access(path, F_OK), 0, "cold, there is nothing to be noted");
	rig_end(&only);
}

Test(sandbox, what_was_killed_is_noted_later)
{
	struct rig_helper helper;
	struct timespec then[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	int mark;
	int fd = place_create("box", &meta);

	mark = openat(fd, "unnoted", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	cr_assert_eq(futimens(mark, then), 0);
	fd_close(&mark);
	fd_close(&fd);
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(1, "box"), NULL);
	rig_turn();
	helper = persistent_take_helper(&rig, LAYERS_SCAN);
	cr_assert_eq(helper.ask.since_us, 1000 * 1000000ULL);
	persistent_start_helper(&rig, &helper);
	persistent_finish(&helper, &(struct ipc_layers_done){ .bytes = 1, .inodes = 1 });
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
}

/* --- stopping --------------------------------------------------------------------------------- */

Test(sandbox, stopping_ends_what_runs_and_is_waited_for)
{
	struct sandbox *sandbox;
	struct rig_sandbox only;

	persistent_make("box", &meta);
	only = persistent_begin(&rig, 1, "box");
	sandbox = sandbox_find(NULL, the_one()->persistent.id);
	cr_assert_not(sandbox_stop(sandbox));
	(void)rig_take(&only.init, IPC_TYPE_spawn_kill);
	rig_send(&only.init, IPC_TYPE_spawn_done, &(struct ipc_spawn_done){ .slot = only.slot },
		 NULL);
	cr_assert_eq(rig_take_done(&rig, 1)->verdict, VERDICT_STOPPED);
	cr_assert(rig_is_killed(&only));
	rig_turn();
	cr_assert_eq(sandbox->state, SANDBOX_COLD);
	cr_assert_not(sandbox_stop(sandbox), "what it did is not noted yet");
	scan(&rig);
	cr_assert(persistent_is_free("box"));
	rig_end(&only);
}

Test(sandbox, who_asks_while_it_stops_waits)
{
	struct rig_sandbox only, next = { .request = 2 };
	struct channel_message *message;

	persistent_make("box", &meta);
	only = persistent_begin(&rig, 1, "box");
	cr_assert_not(sandbox_stop(sandbox_find(NULL, the_one()->persistent.id)));
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(2, "box"), NULL);
	rig_take_nothing(&rig.frontend);
	rig_send(&only.init, IPC_TYPE_spawn_done, &(struct ipc_spawn_done){ .slot = only.slot },
		 NULL);
	(void)rig_take_done(&rig, 1);
	cr_assert(rig_is_killed(&only));
	rig_turn();
	message = rig_take(&rig.frontend, IPC_TYPE_execution_started);
	cr_assert_eq(ipc_body(message, execution_started)->request, next.request);
	cr_assert_eq(the_one()->state, SANDBOX_LIVE);
	rig_end(&only);
}

Test(sandbox, our_end_ends_all_and_notes_it)
{
	struct rig_sandbox only;

	persistent_make("box", &meta);
	only = persistent_begin(&rig, 1, "box");
	supervisor.is_ending = true;
	(void)execution_end_all();
	cr_assert_not(sandbox_end_all());
	cr_assert(rig_is_killed(&only));
	rig_turn();
	cr_assert_not(sandbox_end_all());
	cr_assert(sandbox_is_working());
	scan(&rig);
	cr_assert(sandbox_end_all());
	cr_assert(persistent_is_free("box"));
	rig_end(&only);
}

/* --- policies --------------------------------------------------------------------------------- */

/* Another policy is in force, the same one. */
static void change_policy(void)
{
	supervisor.generations[1] = supervisor.generations[0];
	supervisor.generations[1].users = 0;
	supervisor.generations[1].plan.slot = 1;
	supervisor.plan = supervisor.generations[1].plan;
}

Test(sandbox, another_policy_holds_for_the_next_execution)
{
	struct rig_sandbox only;

	persistent_make("box", &meta);
	only = persistent_begin(&rig, 1, "box");
	cr_assert_eq(only.generation, 0);
	change_policy();
	expect_refused("box", REFUSAL_SANDBOX_BUSY);
	finish(&only, &only);
	rig_run_ms(SETTLED_MS);
	scan(&rig);
	supervisor.generations[0].users++; /* its plan is the test's */
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(2, "box"), NULL);
	cr_assert(rig_is_killed(&only));
	rig_turn();
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	for (int i = 0; i < 4; i++)
		(void)rig_take(&rig.factory, IPC_TYPE_sandbox_layer);
	cr_assert_eq(rig_body(&rig.factory, sandbox_create)->generation, 1);
	rig_end(&only);
}

Test(sandbox, files_are_worked_on_by_the_image)
{
	static struct ipc_file_start request = { .request = 1, .sandbox = "box" };
	struct channel_message *message;
	struct channel init;

	persistent_make("box", &meta);
	memcpy(request.argv, "read\0/workspace/x", sizeof("read\0/workspace/x"));
	request.argv_size = sizeof("read\0/workspace/x");
	rig_send(&rig.frontend, IPC_TYPE_file_start, &request, NULL);
	rig_take_refused(&rig, 1, REFUSAL_STATE);
	supervisor.file_image = fd_sealed_from_bytes("msp-file", "x", 1);
	rig_send(&rig.frontend, IPC_TYPE_file_start, &request, NULL);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	for (int i = 0; i < 4; i++)
		(void)rig_take(&rig.factory, IPC_TYPE_sandbox_layer);
	message = rig_take(&rig.factory, IPC_TYPE_sandbox_create);
	init = (struct channel){ message->fds[0], IPC_INIT, IPC_SUPERVISOR, IPC_SERVE };
	message->fds[0] = -1;
	(void)rig_take(&init, IPC_TYPE_spawn_stdio);
	(void)rig_take(&init, IPC_TYPE_spawn_image);
	message = rig_take(&init, IPC_TYPE_spawn);
	cr_assert_str_eq((const char *)ipc_body(message, spawn)->argv, "msp-file");
	cr_assert_str_eq((const char *)ipc_body(message, spawn)->argv + sizeof("msp-file"), "read");
	fd_close(&init.fd);
	fd_close(&supervisor.file_image);
}
