/* SPDX-License-Identifier: Apache-2.0
 *
 * Each of the store's system calls fails once, and is once the last one of its process. What is on
 * disk afterwards is the old or the new, nothing is damaged, and what is left over goes.
 */
#include "store_faults.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_store.h"
#include "common/records/history.h"
#include "stewards/store/inner.h"
#include "store_place.h"
#include "support.h"

TestSuite(store_faults, .timeout = 300);

/* More calls than any of the acts makes. */
#define CALLS_MOST 2000

static struct store_meta meta, made;
static struct store_census census = PLACE_NO_LIMITS;
static struct store_merge merge;
static int fault_calls; /* which one it is */
static int fault_error;

/* Each takes "a" itself where it needs it, and leaves no descriptor behind. 0 or -errno. */
struct act {
	const char *name;
	int (*run)(int a);
	void (*prepare)(int a);
};

static int finish(int fd)
{
	const int result = fd < 0 ? fd : 0;

	fd_close(&fd);
	return result;
}

static int create(int a)
{
	memset(&made, 0, sizeof(made));
	memcpy(made.name, "z", sizeof("z"));
	memcpy(made.profile, "default", sizeof("default"));
	made.ttl_s = 3600;
	return finish(store_create(&made, &census));
}

static int save(int a)
{
	struct store_checkpoint checkpoint;

	return store_checkpoint(a, &meta, "", &checkpoint);
}

static int roll_back(int a)
{
	return store_rollback(a, &meta, 1);
}

static int forget(int a)
{
	return store_forget(a, &meta, 2);
}

static int fork_present(int a)
{
	return finish(store_fork(a, &meta, 0, "z", &census, &made));
}

static int fork_first(int a)
{
	return finish(store_fork(a, &meta, 1, "z", &census, &made));
}

static int destroy(int a)
{
	return place_destroy(&meta);
}

static int merge_done(int a)
{
	return store_merge_done(a, &meta, &merge, 1, 1);
}

static void prepare_merge(int a)
{
	struct store_checkpoint checkpoint;
	int target;

	for (int i = 0; i < STORE_CHAIN_MAX; i++) {
		place_write(&meta, (char[]){ (char)('0' + i % 10), '\0' });
		cr_assert_eq(store_checkpoint(a, &meta, "", &checkpoint), 0);
		cr_assert_eq(store_forget(a, &meta, checkpoint.number), 0);
	}
	cr_assert(store_merge_plan(&meta, &merge));
	target = store_merge_target(a);
	place_merge(&meta, &merge, target);
	fd_close(&target);
}

static const struct act acts[] = {
	{ "create", create, NULL },
	{ "checkpoint", save, NULL },
	{ "rollback", roll_back, NULL },
	{ "forget", forget, NULL },
	{ "fork of the present", fork_present, NULL },
	{ "fork of a checkpoint", fork_first, NULL },
	{ "destroy", destroy, NULL },
	{ "merge", merge_done, prepare_merge },
};

/* "a" with two checkpoints and something unsaved; "b", a fork of it with something of its own. */
static void prepare(const struct act *act)
{
	struct store_checkpoint checkpoint;
	int a, b;

	place_make();
	a = place_create("a", &meta);
	place_write(&meta, "1");
	cr_assert_eq(store_checkpoint(a, &meta, "", &checkpoint), 0);
	place_write(&meta, "2");
	cr_assert_eq(store_checkpoint(a, &meta, "", &checkpoint), 0);
	b = store_fork(a, &meta, 1, "b", &census, &made);
	cr_assert_geq(b, 0);
	place_write(&made, "4");
	fd_close(&b);
	place_write(&meta, "3");
	if (act->prepare)
		act->prepare(a);
	fd_close(&a);
}

static int die_in(void *argument)
{
	const struct act *act = argument;
	char id[IPC_ID_MAX];
	int a = store_find("", "a", id) ? store_take(id, &meta) : -1;

	fault_die(fault_calls);
	return a >= 0 && act->run(a) == 0 ? 0 : 1;
}

static void expect_either(const struct act *act, int call, const char *before, const char *after)
{
	static char view[VIEW_MAX];

	place_view(view);
	cr_assert(strcmp(view, before) == 0 || strcmp(view, after) == 0, "%s, call %d: %s",
		  act->name, call, view);
	place_sweep();
	cr_assert_eq(place_count_unnamed(), 0, "%s, call %d", act->name, call);
	place_view(view);
	cr_assert(strcmp(view, before) == 0 || strcmp(view, after) == 0, "%s, call %d: %s swept",
		  act->name, call, view);
	place_remove();
	memset(place_path + strlen(place_path) - 6, 'X', 6);
}

/* What is there without a fault, before and after. */
static void see_both(const struct act *act, char before[VIEW_MAX], char after[VIEW_MAX])
{
	int a;

	prepare(act);
	place_view(before);
	a = place_take("a", &meta);
	cr_assert_eq(act->run(a), 0);
	fd_close(&a);
	place_view(after);
	expect_either(act, 0, after, after);
}

Test(store_faults, killed_after_each_call)
{
	static char before[VIEW_MAX], after[VIEW_MAX];

	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		struct act act = acts[i];
		int status = -1;

		see_both(&act, before, after);
		for (fault_calls = 1; status != 0; fault_calls++) {
			cr_assert_lt(fault_calls, CALLS_MOST);
			prepare(&act);
			status = run_forked(die_in, &act);
			cr_assert(status == 0 || status == FAULT_DIED << 8, "%d", status);
			expect_either(&act, fault_calls, before, after);
		}
		cr_expect_gt(fault_calls, 8, "%s makes calls", act.name);
	}
}

enum outcome { DONE, REFUSED, NOT_REACHED, LEAKED, DIFFERENT };

/* Nothing may be asserted in here: it is a process of its own. */
static int fail_in(void *argument)
{
	const struct act *act = argument;
	static struct store_meta found;
	char id[IPC_ID_MAX];
	size_t open;
	int error;
	int a;

	if (!store_find("", "a", id))
		return DIFFERENT;
	a = store_take(id, &meta);
	open = fd_count_open();
	fault_fail(fault_calls, fault_error);
	error = act->run(a);
	if (!fault_is_over())
		return NOT_REACHED;
	if (fd_count_open() != open)
		return LEAKED;
	if ((act->run != destroy || error) &&
	    (store_read(a, id, true, &found) != 0 ||
	     memcmp(found.layers, meta.layers, sizeof(meta.layers)) != 0))
		return DIFFERENT;
	return error ? REFUSED : DONE;
}

Test(store_faults, each_call_fails_once)
{
	static const int errors[] = { EIO, ENOSPC, EMFILE };
	static char before[VIEW_MAX], after[VIEW_MAX];

	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		struct act act = acts[i];
		int outcome = DONE;

		see_both(&act, before, after);
		for (fault_calls = 1; outcome != NOT_REACHED; fault_calls++) {
			cr_assert_lt(fault_calls, CALLS_MOST);
			fault_error = errors[fault_calls % 3];
			prepare(&act);
			outcome = run_forked(fail_in, &act) >> 8;
			cr_assert(outcome <= NOT_REACHED, "%s, call %d: %d", act.name, fault_calls,
				  outcome);
			expect_either(&act, fault_calls, before,
				      outcome == REFUSED ? before : after);
		}
		cr_expect_gt(fault_calls, 8, "%s makes calls", act.name);
	}
}

/* --- the index -------------------------------------------------------------------------------- */

static int create_unnamed(void)
{
	memset(&made, 0, sizeof(made));
	memcpy(made.profile, "default", sizeof("default"));
	return finish(store_create(&made, &census));
}

/* Whether a create makes so many calls. */
static int calls_in(void *number)
{
	fault_fail(*(const int *)number, EINTR);
	(void)create_unnamed();
	return fault_is_over();
}

Test(store_faults, a_new_one_reads_no_other)
{
	int few = 60, many = 300;

	place_make();
	for (int i = 0; i < 100; i++)
		cr_assert_eq(create_unnamed(), 0);
	cr_expect_eq(run_forked(calls_in, &few), 0);
	cr_assert_eq(ftruncate(store_places.stamp, 0), 0);
	cr_expect_neq(run_forked(calls_in, &many), 0, "the control");
	place_remove();
}

/* --- the history ------------------------------------------------------------------------------ */

/* Sizes of both files of a history that the next note makes the older one. */
#define NOTE_BYTES ((off_t)sizeof(struct history_note))
#define TORN_BYTES 3

static off_t size_of(int a, const char *name)
{
	struct stat status = { .st_size = 0 };

	return fstatat(a, name, &status, 0) == 0 ? status.st_size : 0;
}

static int prepare_full_history(void)
{
	int a, file;

	place_make();
	a = place_create("a", &meta);
	file = openat(a, HISTORY_FILE, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	cr_assert_eq(ftruncate(file, HISTORY_BYTES + TORN_BYTES), 0);
	fd_close(&file);
	return a;
}

static int note_in(void *argument)
{
	const struct history_note note = { .execution = 1 };

	if (fault_error)
		fault_fail(fault_calls, fault_error);
	else
		fault_die(fault_calls);
	(void)store_note(*(const int *)argument, &note);
	return fault_is_over() ? 0 : 1;
}

/* Whatever is left, the next note is whole, at the end of the newer file, and no older one is lost.
 */
static void expect_next_note(int a, int call)
{
	const struct history_note next = { .execution = 2 };
	struct history_note found = { .execution = 0 };
	int file;
	off_t size;

	cr_assert_eq(store_note(a, &next), 0, "call %d", call);
	size = size_of(a, HISTORY_FILE);
	file = openat(a, HISTORY_FILE, O_RDONLY | O_CLOEXEC);
	cr_assert(size == NOTE_BYTES || size == 2 * NOTE_BYTES, "call %d: %ld", call, (long)size);
	cr_assert_eq(pread(file, &found, sizeof(found), size - NOTE_BYTES), NOTE_BYTES);
	cr_expect_eq(found.execution, 2, "call %d", call);
	cr_expect_gt(found.time_us, 0);
	cr_expect_geq(size_of(a, HISTORY_FILE_OLD), HISTORY_BYTES, "call %d", call);
	fd_close(&file);
}

static void break_notes(int error)
{
	int status = 0;

	fault_error = error;
	for (fault_calls = 1; status == 0 || status == FAULT_DIED; fault_calls++) {
		int a = prepare_full_history();

		status = run_forked(note_in, &a) >> 8;
		expect_next_note(a, fault_calls);
		fd_close(&a);
		place_remove();
		memset(place_path + strlen(place_path) - 6, 'X', 6);
	}
	cr_expect_gt(fault_calls, 4, "a note makes calls");
}

Test(store_faults, a_note_is_killed_after_each_call)
{
	break_notes(0);
}

Test(store_faults, each_call_of_a_note_fails_once)
{
	break_notes(ENOSPC);
	break_notes(EIO);
}
