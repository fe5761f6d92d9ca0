/* SPDX-License-Identifier: Apache-2.0
 *
 * What waits in a live persistent sandbox: when it is begun, which request gets it, and what has it
 * killed. The test plays the init that begins it.
 */
#include "run/standby.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/loop.h"
#include "common/fd.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_init.h"
#include "persistent_rig.h"
#include "run/sandbox.h"
#include "support.h"

#define AWAIT_MS 5000
#define LONGEST_MS 1600 /* no pause before one is longer */
#define WORDS "/bin/sh\0/tmp/code\0-x"

static struct rig rig;
static struct channel launcher;
static struct store_meta meta;

static void open_rig(void)
{
	struct plan_language *bash = &small_plan.languages[3];

	persistent_open(&rig, &launcher);
	bash->argv = small_plan_put(WORDS, sizeof(WORDS));
	bash->argv_size = sizeof(WORDS);
	bash->standby = 1;
	persistent_make("box", &meta);
}

static void close_rig(void)
{
	persistent_close(&rig, &launcher);
}

TestSuite(standby, .init = open_rig, .fini = close_rig, .timeout = 60);

/* What the init was told of one, or of an execution. */
struct told {
	char path[IPC_PATH_MAX];
	uint32_t slot;
	uint32_t feed;
	int output; /* the workload's end */
	uint8_t argv[64];
	uint32_t argv_size;
};

static struct told take_words(const struct channel *init)
{
	struct told told = { .output = -1 };
	struct channel_message *message = rig_take(init, IPC_TYPE_spawn_code);
	const uint32_t slot = ipc_body(message, spawn_code)->slot;

	memcpy(told.path, ipc_body(message, spawn_code)->path, sizeof(told.path));
	message = rig_take(init, IPC_TYPE_spawn);
	told.slot = ipc_body(message, spawn)->slot;
	cr_assert(slot == told.slot || slot == STANDBY_SLOT);
	told.feed = ipc_body(message, spawn)->feed;
	told.argv_size = ipc_body(message, spawn)->argv_size;
	cr_assert_leq(told.argv_size, sizeof(told.argv));
	memcpy(told.argv, ipc_body(message, spawn)->argv, told.argv_size);
	return told;
}

static struct told take(const struct channel *init)
{
	struct channel_message *message = rig_take(init, IPC_TYPE_spawn_stdio);
	const uint32_t slot = ipc_body(message, spawn_stdio)->slot;
	const int output = message->fds[1];
	struct told told;

	message->fds[1] = -1;
	told = take_words(init);
	cr_assert_eq(told.slot, slot);
	told.output = output;
	return told;
}

/* With what waits: other tests of the rig are about what nothing waits for. */
static void run_ms(int ms)
{
	for (; ms > 0; ms--) {
		rig_run_ms(1);
		standby_tick();
	}
}

static bool is_asked_within(const struct channel *init, int ms)
{
	struct pollfd poll_init = { .fd = init->fd, .events = POLLIN };
	const uint64_t end = clock_now_us() + (uint64_t)ms * 1000;

	while (poll(&poll_init, 1, 0) == 0 && clock_now_us() < end)
		run_ms(1);
	return poll(&poll_init, 1, 0) == 1;
}

/* The next that is begun, with the path of its file among its words. */
static struct told take_waiting(const struct channel *init)
{
	struct told told;

	cr_assert(is_asked_within(init, AWAIT_MS));
	told = take(init);
	cr_assert_eq(told.slot, STANDBY_SLOT);
	cr_assert_eq(told.feed, FEED_WAIT);
	cr_assert_str_eq((char *)told.argv, "/bin/sh");
	cr_assert_str_eq((char *)told.argv + sizeof("/bin/sh"), told.path);
	fd_close(&told.output);
	return told;
}

static void take_kill(const struct channel *init, uint32_t slot)
{
	cr_assert_eq(rig_body(init, spawn_kill)->slot, slot);
}

static struct ipc_code_start *code_request(uint64_t number)
{
	static struct ipc_code_start request;

	memset(&request, 0, sizeof(request));
	request.request = number;
	strncpy(request.sandbox, "box", sizeof(request.sandbox) - 1);
	strncpy(request.language, "bash", sizeof(request.language) - 1);
	return &request;
}

/* Of an execution: *ret_output is the frontend's end of its output. */
static void send_code(const struct ipc_code_start *request, int *ret_output)
{
	int code = fd_sealed_from_bytes("code", "echo hi", 7);
	struct channel_message *message;

	rig_send(&rig.frontend, IPC_TYPE_code_start, request, &code);
	fd_close(&code);
	message = rig_take(&rig.frontend, IPC_TYPE_execution_started);
	*ret_output = message->fds[1];
	message->fds[1] = -1;
}

static struct told ask(const struct channel *init, const struct ipc_code_start *request,
		       int *ret_output)
{
	send_code(request, ret_output);
	return take(init);
}

static void finish(const struct channel *init, uint32_t slot, uint64_t request)
{
	const struct ipc_spawn_done done = { .slot = slot };

	rig_send(init, IPC_TYPE_spawn_done, &done, NULL);
	(void)rig_take_done(&rig, request);
}

static void say_gone_for(const struct channel *init, uint32_t error)
{
	const struct ipc_spawn_done gone = { .slot = STANDBY_SLOT, .error = error, .cpu_us = 1234 };

	rig_send(init, IPC_TYPE_spawn_done, &gone, NULL);
}

static void say_gone(const struct channel *init)
{
	say_gone_for(init, ECHILD);
}

/* A live sandbox in which code ran last. */
static struct rig_sandbox live(void)
{
	const struct rig_sandbox first = persistent_begin(&rig, 1, "box");
	struct told told;
	int output;

	told = ask(&first.init, code_request(2), &output);
	cr_assert_eq(told.feed, FEED_NONE);
	fd_close(&told.output);
	fd_close(&output);
	finish(&first.init, first.slot, 1);
	finish(&first.init, told.slot, 2);
	return first;
}

static struct sandbox *the_one(void)
{
	char id[IPC_ID_MAX];

	store_id_text(meta.id, id);
	return sandbox_find(NULL, id);
}

Test(standby, the_next_code_gets_it)
{
	struct rig_sandbox box = live();
	const struct told waiting = take_waiting(&box.init);
	struct told told;
	char text[8] = "";
	int output;

	told = ask(&box.init, code_request(3), &output);
	cr_assert_eq(told.feed, FEED_TAKE);
	cr_assert_neq(told.slot, STANDBY_SLOT);
	cr_assert_str_eq(told.path, waiting.path);
	cr_assert_eq(told.argv_size, waiting.argv_size);
	cr_assert_arr_eq(told.argv, waiting.argv, waiting.argv_size);
	cr_assert_eq(write(told.output, "hi", 2), 2);
	cr_assert_eq(read(output, text, sizeof(text)), 2);
	cr_assert_str_eq(text, "hi", "its streams are those that it was begun with");
	finish(&box.init, told.slot, 3);
	cr_assert_str_neq(take_waiting(&box.init).path, waiting.path, "each has its own file");
	fd_close(&told.output);
	fd_close(&output);
	rig_end(&box);
}

Test(standby, nothing_is_begun_while_something_runs)
{
	struct rig_sandbox box = live(), beside;

	beside = persistent_join(&rig, 3, "box", &box);
	cr_assert_not(is_asked_within(&box.init, 20));
	finish(&box.init, beside.slot, 3);
	cr_assert(is_asked_within(&box.init, AWAIT_MS));
	rig_end(&beside);
	rig_end(&box);
}

/* This request has it killed, and is asked for as if none had waited. */
/* Return the size of the words of the process that runs the code instead. */
static uint32_t kill_by(struct rig_sandbox *box, const struct ipc_code_start *request)
{
	int code = fd_sealed_from_bytes("code", "echo hi", 7);
	struct told told;

	rig_send(&rig.frontend, IPC_TYPE_code_start, request, &code);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	take_kill(&box->init, STANDBY_SLOT);
	told = take(&box->init);
	cr_assert_eq(told.feed, FEED_NONE);
	say_gone(&box->init);
	finish(&box->init, told.slot, request->request);
	fd_close(&told.output);
	fd_close(&code);
	return told.argv_size;
}

static void expect_killed_by(struct rig_sandbox *box, const struct ipc_code_start *request)
{
	const uint32_t size = kill_by(box, request);

	cr_assert_eq(take_waiting(&box->init).argv_size, size, "the next is as this one");
	rig_end(box);
}

Test(standby, other_words)
{
	struct rig_sandbox box = live();
	struct ipc_code_start *request = code_request(3);

	memcpy(request->argv, "more", sizeof("more"));
	request->argv_size = sizeof("more");
	(void)take_waiting(&box.init);
	expect_killed_by(&box, request);
}

Test(standby, another_variable)
{
	struct rig_sandbox box = live();
	struct ipc_code_start *request = code_request(3);

	memcpy(request->environment, "A=2", sizeof("A=2"));
	request->environment_size = sizeof("A=2");
	(void)take_waiting(&box.init);
	expect_killed_by(&box, request);
}

Test(standby, another_directory)
{
	struct rig_sandbox box = live();
	struct ipc_code_start *request = code_request(3);

	strncpy(request->cwd, "/tmp", sizeof(request->cwd) - 1);
	(void)take_waiting(&box.init);
	expect_killed_by(&box, request);
}

Test(standby, a_language_that_does_not_say_so)
{
	struct rig_sandbox box;

	small_plan.languages[3].standby = 0;
	box = live();
	cr_assert(is_asked_within(&box.init, AWAIT_MS));
	rig_take_standby(&box); /* a process that has executed nothing */
	rig_end(&box);
}

/* A command, for which the interpreter that waits goes. */
static void run_command(const struct rig_sandbox *box, uint64_t number)
{
	struct rig_sandbox command;

	(void)take_waiting(&box->init);
	rig_send(&rig.frontend, IPC_TYPE_execution_start, persistent_request(number, "box"), NULL);
	(void)rig_take(&rig.frontend, IPC_TYPE_execution_started);
	take_kill(&box->init, STANDBY_SLOT);
	persistent_take_spawn(&command, &box->init);
	say_gone(&box->init);
	finish(&box->init, command.slot, number);
	cr_assert(is_asked_within(&box->init, AWAIT_MS));
}

/* After one command code came, so that its interpreter waited; after this one a command came. */
static struct rig_sandbox live_after_commands(void)
{
	struct rig_sandbox box = live();

	run_command(&box, 3);
	run_command(&box, 5);
	rig_take_standby(&box);
	return box;
}

Test(standby, a_session_that_takes_turns)
{
	struct rig_sandbox box = live();
	struct told told;
	int output;

	run_command(&box, 3); /* code came after the first command: */
	(void)take_waiting(&box.init);
	told = ask(&box.init, code_request(4), &output);
	cr_assert_eq(told.feed, FEED_TAKE);
	finish(&box.init, told.slot, 4);
	cr_assert(is_asked_within(&box.init, AWAIT_MS));
	rig_take_standby(&box); /* a command came after the last code */
	fd_close(&told.output);
	fd_close(&output);
	rig_end(&box);
}

Test(standby, after_commands_a_process_waits)
{
	struct rig_sandbox box = live_after_commands();
	const struct ipc_spawn_waits waits = { 0 };
	struct told told;
	int output;

	rig_send(&box.init, IPC_TYPE_spawn_waits, &waits, NULL);
	send_code(code_request(4), &output);
	told = take_words(&box.standby);
	cr_assert_eq(told.feed, FEED_NONE);
	finish(&box.init, told.slot, 4);
	cr_assert(is_asked_within(&box.init, AWAIT_MS));
	rig_take_standby(&box); /* a command came after the last code */
	fd_close(&output);
	rig_end(&box);
}

Test(standby, a_process_that_was_not_told_of_is_asked_nothing)
{
	struct rig_sandbox box = live_after_commands();

	(void)kill_by(&box, code_request(4));
	rig_end(&box);
}

Test(standby, one_that_cannot_be_yet_is_begun_so_often)
{
	struct rig_sandbox box = live();
	uint32_t begun = 0;

	for (; is_asked_within(&box.init, LONGEST_MS); begun++) {
		(void)take_waiting(&box.init);
		say_gone_for(&box.init, EBUSY);
		take_kill(&box.init, STANDBY_SLOT); /* with what it may have left */
	}
	cr_assert_eq(begun, STANDBY_AGAIN);
	rig_end(&box);
}

/* Its start is the same each time: it would end again. */
Test(standby, one_that_ends_by_itself_is_begun_after_an_execution)
{
	struct rig_sandbox box = live();
	struct told told;
	int output;

	(void)take_waiting(&box.init);
	say_gone(&box.init);
	take_kill(&box.init, STANDBY_SLOT);
	cr_assert_not(is_asked_within(&box.init, LONGEST_MS));
	told = ask(&box.init, code_request(3), &output);
	cr_assert_eq(told.feed, FEED_NONE);
	fd_close(&told.output);
	fd_close(&output);
	finish(&box.init, told.slot, 3);
	(void)take_waiting(&box.init);
	rig_end(&box);
}

Test(standby, where_nothing_may_wait_its_end_is_awaited)
{
	struct rig_sandbox box = live();

	(void)take_waiting(&box.init);
	cr_assert_not(standby_is_clear(the_one()));
	take_kill(&box.init, STANDBY_SLOT);
	run_ms(10);
	cr_assert_not(standby_is_clear(the_one()));
	rig_take_nothing(&box.init);
	say_gone(&box.init);
	run_ms(10);
	cr_assert(standby_is_clear(the_one()));
	cr_assert_not(is_asked_within(&box.init, 50), "and none is begun by itself");
	rig_end(&box);
}

Test(standby, an_init_that_does_not_say_so_ends)
{
	struct rig_sandbox box = live();

	(void)take_waiting(&box.init);
	cr_assert_not(standby_is_clear(the_one()));
	take_kill(&box.init, STANDBY_SLOT);
	for (int waited = 0; waited < AWAIT_MS && the_one()->state == SANDBOX_LIVE; waited += 10)
		run_ms(10);
	cr_assert(rig_is_killed(&box));
	rig_end(&box);
}

Test(standby, all_go_when_what_they_take_is_needed)
{
	struct rig_sandbox box = live();

	(void)take_waiting(&box.init);
	standby_drop_all();
	take_kill(&box.init, STANDBY_SLOT);
	say_gone(&box.init);
	cr_assert_not(is_asked_within(&box.init, 50));
	rig_end(&box);
}

Test(standby, nothing_of_it_outlasts_its_init)
{
	struct rig_sandbox box = live();
	const size_t before = fd_count_open();

	rig_release();
	(void)take_waiting(&box.init);
	rig_release();
	cr_assert_gt(fd_count_open(), before, "its streams are kept");
	rig_end(&box);
	rig_turn();
	cr_assert_lt(fd_count_open(), before);
	cr_assert(standby_is_clear(the_one()));
	cr_assert_eq(standby_deadline_us(), UINT64_MAX);
}

Test(standby, one_of_an_older_policy_is_not_begun)
{
	struct rig_sandbox box = live();

	supervisor.plan.slot++;
	cr_assert_not(is_asked_within(&box.init, 50));
	rig_end(&box);
}
