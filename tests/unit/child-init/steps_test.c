/* SPDX-License-Identifier: Apache-2.0
 *
 * The orders of steps.def: every process passes each of its steps once, and no order undoes what a
 * step must come before or after.
 */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "layers.h"

enum who { EACH, WORKLOAD, PROBE };
enum when { ALWAYS, IF_OBSERVED, IF_UNOBSERVED, IF_FILTERED_STANDBY, IF_FILTERED_LAST };

struct row {
	const char *run, *stage;
	enum who who;
	enum when when;
};

static const struct row init[] = {
#define INIT(stage, run) { #run, #stage, EACH, ALWAYS },
#include "steps.def"
	{ 0 }
};
static const struct row helper[] = {
#define HELPER(stage, run) { #run, #stage, EACH, ALWAYS },
#include "steps.def"
	{ 0 }
};
static const struct row standby[] = {
#define STANDBY(stage, run, who, when) { #run, #stage, who, when },
#include "steps.def"
	{ 0 }
};
static const struct row resume[] = {
#define RESUME(stage, run, who, when) { #run, #stage, who, when },
#include "steps.def"
	{ 0 }
};

/* The steps that a process passes, in its order. */
#define PASSED_MAX 32
struct passed {
	const struct row *rows[PASSED_MAX];
	size_t count;
};

/* A kind of process: does its filter have a listener, and does it have that while it waits for its
 * request? Only a standby process waits. */
struct kind {
	bool is_observed, is_filtered_standby;
};

static const struct kind kinds[] = {
	{ false, false }, { false, true }, { true, false }, { true, true }
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static bool is_in(const struct kind *kind, const struct row *row)
{
	switch (row->when) {
	case IF_OBSERVED:
		return kind->is_observed;
	case IF_UNOBSERVED:
		return !kind->is_observed;
	case IF_FILTERED_STANDBY:
		return kind->is_filtered_standby;
	case IF_FILTERED_LAST:
		return !kind->is_filtered_standby;
	case ALWAYS:
		break;
	}
	return true;
}

static void pass(struct passed *passed, const struct row *rows, const struct kind *kind,
		 enum who other)
{
	for (; rows->run; rows++) {
		if (rows->who == other || !is_in(kind, rows))
			continue;
		cr_assert_lt(passed->count, PASSED_MAX);
		passed->rows[passed->count++] = rows;
	}
}

static struct passed spawn(const struct kind *kind, enum who other)
{
	struct passed passed = { .count = 0 };

	pass(&passed, standby, kind, other);
	pass(&passed, resume, kind, other);
	return passed;
}

/* The place of the nth step of that name; PASSED_MAX: there is none. */
static size_t place_of(const struct passed *passed, const char *run, size_t nth)
{
	for (size_t i = 0; i < passed->count; i++) {
		if (strcmp(passed->rows[i]->run, run) == 0 && nth-- == 0)
			return i;
	}
	return PASSED_MAX;
}

static void expect_order(const struct passed *passed, const char *first, const char *second)
{
	cr_expect_lt(place_of(passed, first, 0), passed->count, "%s is missing", first);
	cr_expect_lt(place_of(passed, second, 0), passed->count, "%s is missing", second);
	cr_expect_lt(place_of(passed, first, 0), place_of(passed, second, 0), "%s before %s", first,
		     second);
}

#define DROP "LAYER_CAPABILITIES(drop_capabilities)"

/* Each kind of workload passes the same steps; the filter and the limit on descriptors move. */
Test(steps, every_process_passes_each_step_once)
{
	const struct passed first = spawn(&kinds[0], PROBE);

	cr_expect_gt(first.count, 10);
	for (size_t k = 0; k < KINDS; k++) {
		const struct passed passed = spawn(&kinds[k], PROBE);

		cr_expect_eq(passed.count, first.count);
		for (size_t i = 0; i < first.count; i++) {
			const char *run = first.rows[i]->run;
			const size_t at = place_of(&passed, run, 0);

			cr_assert_lt(at, passed.count, "%s is missing", run);
			cr_expect_str_eq(passed.rows[at]->stage, first.rows[i]->stage);
			cr_expect_eq(place_of(&passed, run, 1), PASSED_MAX, "%s twice", run);
		}
	}
}

/* The contracts of the steps in spawn.c. */
static void expect_contracts(const struct passed *passed, const struct kind *kind)
{
	expect_order(passed, "attach_stdio", "close_descriptors");
	expect_order(passed, "write_code", "close_descriptors");
	expect_order(passed, "close_descriptors", "change_directory");
	expect_order(passed, DROP, "write_code");
	expect_order(passed, DROP, "change_directory");
	expect_order(passed, "enter_landlock", "write_code");
	expect_order(passed, "enter_landlock", "change_directory");
	expect_order(passed, DROP, "install_filter");
	expect_order(passed, "enter_landlock", "install_filter");
	if (kind->is_observed)
		expect_order(passed, "install_filter", "set_descriptor_limit");
	cr_expect_str_eq(passed->rows[passed->count - 1]->run, "execute_program");
}

Test(steps, every_order_keeps_the_contracts)
{
	for (size_t k = 0; k < KINDS; k++) {
		const struct passed passed = spawn(&kinds[k], PROBE);

		expect_contracts(&passed, &kinds[k]);
	}
}

/* With a filter that does not allow what comes after it, only the limit and the exec do. */
Test(steps, a_filter_comes_last)
{
	for (size_t k = 0; k < KINDS; k++) {
		const struct passed passed = spawn(&kinds[k], PROBE);
		const size_t after = kinds[k].is_observed ? 3 : 2;

		if (!kinds[k].is_filtered_standby)
			cr_expect_eq(place_of(&passed, "install_filter", 0), passed.count - after);
	}
}

/* Before a request comes a standby process is confined, but for a filter that would be in its way.
 */
Test(steps, who_waits_is_confined)
{
	static const char *const barriers[] = { "set_rlimits", DROP, "enter_landlock",
						"reset_own" };

	for (size_t k = 0; k < KINDS; k++) {
		struct passed passed = { .count = 0 };

		pass(&passed, standby, &kinds[k], PROBE);
		for (size_t i = 1; i < sizeof(barriers) / sizeof(barriers[0]); i++)
			expect_order(&passed, barriers[i - 1], barriers[i]);
		cr_expect_eq(place_of(&passed, "install_filter", 0) < passed.count,
			     kinds[k].is_filtered_standby);
	}
}

/* A probe is confined as a workload: it lacks only what is for a program. */
Test(steps, a_probe_passes_every_barrier)
{
	static const char *const barriers[] = { "set_rlimits",       DROP,
						"enter_landlock",    "reset_own",
						"close_descriptors", "take_signals",
						"install_filter",    "end_probe" };

	for (size_t k = 0; k < KINDS; k++) {
		const struct passed probe = spawn(&kinds[k], WORKLOAD);

		if (kinds[k].is_filtered_standby)
			continue; /* no probe waits for a request */

		for (size_t i = 1; i < sizeof(barriers) / sizeof(barriers[0]); i++)
			expect_order(&probe, barriers[i - 1], barriers[i]);
		cr_expect_eq(place_of(&probe, "execute_program", 0), PASSED_MAX);
	}
}

static void expect_init_order(const struct passed *passed)
{
	expect_order(passed, "map_identity", "protect_process");
	expect_order(passed, "map_identity", "leave_namespaces");
	expect_order(passed, "await_next", "leave_mounts");
	expect_order(passed, "leave_mounts", "enter_tree");
	cr_expect_str_eq(passed->rows[passed->count - 1]->run, "protect_process");
	cr_expect_eq(place_of(passed, "protect_process", 1), passed->count - 1);
}

Test(steps, an_init_and_a_helper_are_confined_alike)
{
	struct passed of_init = { .count = 0 };
	struct passed of_helper = { .count = 0 };

	pass(&of_init, init, &kinds[0], PROBE);
	pass(&of_helper, helper, &kinds[0], PROBE);
	expect_init_order(&of_init);
	expect_init_order(&of_helper);
	expect_order(&of_init, "note_namespaces", "enter_tree");
	expect_order(&of_init, "enter_tree", "settle_descriptors");
	expect_order(&of_init, "enter_tree", "build_ruleset");
	expect_order(&of_init, "raise_network", DROP);
	expect_order(&of_init, "build_ruleset", DROP);
	expect_order(&of_helper, "enter_tree", "drop_every_capability");
}
