/* SPDX-License-Identifier: Apache-2.0
 *
 * The states of a scan: each pair of a state and an event is walked, and what must not happen ends
 * the process.
 */
#include "persistent/scan.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "store_place.h"

/* The next state of each pair; '.': it is impossible. */
static const char states[] = ".CKDRBX"; /* in the order of enum scan_state; X: BLOCKED */
static const char *const expected[SCAN_STATES] = {
	/* FOUND, EXECUTION, BEGUN, DONE, FAILED, RETRY, COLD */
	[SCAN_NONE] = ".......",    [SCAN_CLEAN] = "DD...CC",   [SCAN_KEPT] = ".D...KC",
	[SCAN_DUE] = ".DR.XDD",     [SCAN_RUNNING] = ".B.KXRR", [SCAN_BEHIND] = ".B.DXBB",
	[SCAN_BLOCKED] = ".D...DX",
};

static struct store_meta meta;
static struct persistent own;

static void open_place(void)
{
	place_make();
	own = (struct persistent){ .meta = &meta, .hosts = { -1, -1 } };
	own.directory = place_create("box", &meta);
}

static void close_place(void)
{
	fd_close(&own.directory);
	place_remove();
}

TestSuite(scan, .init = open_place, .fini = close_place, .timeout = 60);

static bool has_mark(void)
{
	return faccessat(own.directory, STORE_MARK, F_OK, 0) == 0;
}

/* Make the step in a process of its own: the state after it, or '.' where it ended with the exit
 * code of broken books. */
static char step_in_child(enum scan_state state, enum scan_event event)
{
	int status = 0;
	const pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (pid == 0) {
		own.scan.state = state;
		scan_step(&own, event);
		_exit((int)own.scan.state);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status), "%d", status);
	if (WEXITSTATUS(status) == MSP_EXIT_SOFTWARE)
		return '.';
	cr_assert_lt(WEXITSTATUS(status), (int)SCAN_STATES);
	return states[WEXITSTATUS(status)];
}

Test(scan, each_pair_leads_where_it_should_or_ends_the_process)
{
	cr_assert_eq(strlen(states), SCAN_STATES);
	for (uint32_t state = 0; state < SCAN_STATES; state++) {
		cr_assert_eq(strlen(expected[state]), SCAN_EVENTS);
		for (uint32_t event = 0; event < SCAN_EVENTS; event++)
			cr_expect_eq(step_in_child(state, event), expected[state][event],
				     "event %u in state %u", event, state);
	}
}

/* Every state but that of an ephemeral sandbox is reached from the first one. */
Test(scan, all_states_are_reached)
{
	bool is_reached[SCAN_STATES] = { [SCAN_CLEAN] = true };

	for (uint32_t round = 0; round < SCAN_STATES; round++) {
		for (uint32_t state = 0; state < SCAN_STATES; state++) {
			for (uint32_t event = 0; event < SCAN_EVENTS; event++) {
				if (is_reached[state] && expected[state][event] != '.')
					is_reached[strchr(states, expected[state][event]) -
						   states] = true;
			}
		}
	}
	for (uint32_t state = SCAN_CLEAN; state < SCAN_STATES; state++)
		cr_expect(is_reached[state], "%u", state);
	cr_expect_not(is_reached[SCAN_NONE]);
}

/* The mark is there from the first execution on, also while a live sandbox has nothing to scan. */
Test(scan, the_mark_goes_with_the_state)
{
	scan_recall(&own);
	cr_assert_eq(own.scan.state, SCAN_CLEAN);
	cr_assert_not(has_mark());
	scan_execution_begin(&own);
	cr_assert(has_mark());
	cr_assert_gt(own.scan.since_us, 0);
	scan_step(&own, SCAN_ON_BEGUN);
	scan_step(&own, SCAN_ON_DONE);
	cr_assert_eq(own.scan.state, SCAN_KEPT);
	cr_assert(has_mark());
	cr_assert_eq(own.scan.since_us, 0);
	scan_step(&own, SCAN_ON_COLD);
	cr_assert_not(has_mark());
}

Test(scan, a_failure_wakes_the_requests_that_wait)
{
	scan_recall(&own);
	scan_execution_begin(&own);
	cr_assert_not(own.is_changed);
	scan_step(&own, SCAN_ON_FAILED);
	cr_assert(own.is_changed);
	cr_assert_not(scan_is_needed(&own), "it is not waited for");
	scan_step(&own, SCAN_ON_RETRY);
	cr_assert(scan_is_needed(&own));
	cr_assert(has_mark());
}

Test(scan, an_earlier_supervisors_mark_is_found)
{
	const struct timespec then[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };

	store_mark(own.directory);
	cr_assert_eq(utimensat(own.directory, STORE_MARK, then, 0), 0);
	scan_recall(&own);
	cr_assert_eq(own.scan.state, SCAN_DUE);
	cr_assert_eq(own.scan.since_us, 1000 * 1000000ULL);
	cr_assert_gt(own.scan.uncounted_us, 0, "nothing begins before a count");
}
