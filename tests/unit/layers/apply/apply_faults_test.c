/* SPDX-License-Identifier: Apache-2.0
 *
 * An apply, an undo and a recovery, each with every one of its system calls as the last one before
 * a kill, or as one that fails: what is left is the old or the new, in one piece, and nothing is
 * lost. The job runs in a process of its own, under ptrace(2).
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_changes.h"
#include "common/records/changes.h"
#include "fault.h"
#include "layers/base/base.h"
#include "layers/base/beneath.h"
#include "layers/base/journal.h"

/* After each fifth fault the way on and back is tried; recoveries are killed from each 19th state
 * of an apply. */
#define WAYS_STEP 5
#define STATES_STEP 19

static struct rig rig;
static void (*fill)(struct rig *rig) = rig_fill;
static char old_host[RIG_TEXT_MAX], new_host[RIG_TEXT_MAX];

static bool needs_space(const struct user_regs_struct *registers)
{
	switch (registers->orig_rax) {
	case SYS_write:
	case SYS_pwrite64:
	case SYS_ftruncate:
	case SYS_mkdirat:
	case SYS_symlinkat:
	case SYS_linkat:
		return true;
	case SYS_openat:
		return (registers->rdx & O_CREAT) != 0;
	default:
		return false;
	}
}

static bool needs_descriptor(const struct user_regs_struct *registers)
{
	return registers->orig_rax == SYS_openat || registers->orig_rax == SYS_openat2;
}

static struct outcome run(job_function *job, const struct fault *fault)
{
	return fault_run(&rig, job, fault);
}

static void begin(void)
{
	rig_begin(&rig, 1);
	fill(&rig);
	cr_assert_eq(base_note(&rig.scene.directories, UINT64_MAX), 0);
}

static bool is_host(const char *text)
{
	return strcmp(rig_show(&rig, HOST), text) == 0;
}

/* What the two are, from runs without a fault. */
static void learn(void)
{
	begin();
	(void)stpcpy(old_host, rig_show(&rig, HOST));
	cr_assert_eq(rig_do(&rig, job_apply, NULL), 0);
	(void)stpcpy(new_host, rig_show(&rig, HOST));
	cr_assert_str_neq(old_host, new_host);
	rig_end(&rig);
}

static bool is_state(const char *name)
{
	return faccessat(JOURNAL, name, F_OK, 0) == 0;
}

/* After a recovery: all old or all new, nothing left beside; and the way on and back is free. */
static bool check_either(unsigned int at)
{
	const bool is_new = is_host(new_host);

	cr_assert(is_new || is_host(old_host), "call %u: %s", at, rig.shown);
	cr_assert(!is_state(JOURNAL_NEW) && !is_state(JOURNAL_STAGING) &&
			  !is_state(JOURNAL_SWAPPING) && !is_state(JOURNAL_COMMITTED),
		  "call %u: %s", at, rig_show(&rig, JOURNAL));
	return is_new;
}

static void check_both_ways(unsigned int at, bool is_new)
{
	if (at % WAYS_STEP != 0)
		return;
	rig.ask.conflict = CONFLICT_SANDBOX; /* the bases may not have been written */
	if (!is_new) {
		cr_assert_eq(rig_do(&rig, job_apply, NULL), 0, "call %u: %s", at,
			     strerror((int)rig.job.done.error));
		cr_assert(is_host(new_host), "call %u: %s", at, rig.shown);
	}
	cr_assert_eq(rig_do(&rig, job_undo, NULL), 0, "call %u: %s", at,
		     strerror((int)rig.job.done.error));
	cr_assert(is_host(old_host), "call %u: %s", at, rig.shown);
}

static void recover(unsigned int at)
{
	cr_assert_eq(rig_do(&rig, job_recover, NULL), 0, "call %u: %s", at,
		     strerror((int)rig.job.done.error));
	cr_assert_eq(rig.job.done.conflicts, 0, "call %u", at);
}

static void kill_apply_at_each(void)
{
	unsigned int news = 0, olds = 0;

	learn();
	for (unsigned int at = 1;; at++) {
		struct outcome outcome;
		bool is_committed;

		begin();
		outcome = run(job_apply, &(struct fault){ .at = at, .changes_only = true });
		if (!outcome.was_reached)
			break;
		cr_assert_eq(outcome.code, KILLED);
		is_committed = is_state(JOURNAL_COMMITTED) || is_state(JOURNAL_DONE);
		recover(at);
		cr_assert_eq(check_either(at), is_committed, "call %u", at);
		news += is_committed;
		olds += !is_committed;
		check_both_ways(at, is_committed);
		rig_end(&rig);
	}
	rig_end(&rig);
	cr_assert(news > 10 && olds > 100, "%u %u", news, olds);
}

Test(apply_faults, an_apply_is_killed_before_each_call)
{
	kill_apply_at_each();
}

Test(apply_faults, an_apply_that_copies_is_killed_before_each_call)
{
	rig_is_apart = true;
	kill_apply_at_each();
}

static bool has_keep(void)
{
	return strstr(rig_show(&rig, HOST), ".msp-") != NULL;
}

static void begin_before(bool is_undo)
{
	begin();
	if (is_undo)
		cr_assert_eq(rig_do(&rig, job_apply, NULL), 0);
}

/* False: that call was not reached. */
static bool fail_one(job_function *job, const struct fault *fault, bool is_undo)
{
	const struct outcome outcome = run(job, fault);
	bool is_new;

	if (!outcome.was_reached)
		return false;
	recover(fault->at);
	if (outcome.code == HELD) {
		cr_assert(!has_keep(), "call %u", fault->at);
		return true;
	}
	is_new = check_either(fault->at);
	/* Success is what it says. */
	cr_assert((outcome.code != 0 && outcome.code != UNTOLD) || is_new != is_undo, "call %u",
		  fault->at);
	check_both_ways(fault->at, is_new);
	return true;
}

static void fail_each(job_function *job, struct fault fault, bool is_undo)
{
	unsigned int count, reached = 0, tried = 0;
	bool is_reached = false;

	begin_before(is_undo);
	count = fault_choose(&rig, job, fault.fits);
	rig_end(&rig);
	for (fault.at = 1; fault.at <= count || is_reached; fault.at++) {
		if (fault.at <= count && !fault_is_chosen(fault.at))
			continue;
		begin_before(is_undo);
		is_reached = fail_one(job, &fault, is_undo);
		tried++;
		reached += is_reached;
		rig_end(&rig);
	}
	/* What a clock's tick decides makes some calls more or less. */
	cr_assert(reached > 20 && reached * 4 > tried * 3, "%u of %u", reached, tried);
}

Test(apply_faults, each_call_of_an_apply_fails_once)
{
	learn();
	fail_each(job_apply, (struct fault){ .error = EIO, .is_once = true }, false);
}

Test(apply_faults, each_call_of_an_apply_that_needs_room_fails_once)
{
	const struct fault fault = { .error = ENOSPC, .is_once = true, .fits = needs_space };

	learn();
	fail_each(job_apply, fault, false);
	fail_each(job_undo, fault, true);
}

Test(apply_faults, each_call_of_an_apply_that_needs_a_descriptor_fails_once)
{
	const struct fault fault = { .error = EMFILE, .is_once = true, .fits = needs_descriptor };

	learn();
	fail_each(job_apply, fault, false);
	fail_each(job_undo, fault, true);
}

Test(apply_faults, all_calls_of_an_apply_fail_from_one_on)
{
	learn();
	fail_each(job_apply, (struct fault){ .error = EIO }, false);
}

Test(apply_faults, each_call_of_an_undo_fails_once)
{
	learn();
	fail_each(job_undo, (struct fault){ .error = EIO, .is_once = true }, true);
}

/* The way back needs no room: the host's files are what they were before anybody recovers. */
Test(apply_faults, a_full_disk_leaves_the_old_at_once)
{
	unsigned int fulls = 0;

	learn();
	for (unsigned int at = 1;; at++) {
		struct outcome outcome;

		begin();
		outcome = run(job_apply, &(struct fault){ .at = at,
							  .error = ENOSPC,
							  .changes_only = true,
							  .fits = needs_space });
		if (!outcome.was_reached)
			break;
		if (outcome.code != 0 && outcome.code != UNTOLD) {
			cr_assert_eq(outcome.code, ENOSPC, "call %u: %d", at, outcome.code);
			cr_assert(is_host(old_host), "call %u: %s", at, rig.shown);
			cr_assert(!is_state(JOURNAL_SWAPPING));
			fulls++;
		} else {
			cr_assert(is_host(new_host), "call %u: %s", at, rig.shown);
		}
		rig_end(&rig);
	}
	rig_end(&rig);
	cr_assert_gt(fulls, 30);
}

static void kill_undo_at_each(void)
{
	unsigned int news = 0, olds = 0;

	learn();
	for (unsigned int at = 1;; at++) {
		struct outcome outcome;
		bool is_new;

		begin();
		cr_assert_eq(rig_do(&rig, job_apply, NULL), 0);
		outcome = run(job_undo, &(struct fault){ .at = at, .changes_only = true });
		if (!outcome.was_reached)
			break;
		is_new = is_state(JOURNAL_DONE) && !is_state(JOURNAL_COMMITTED);
		recover(at);
		cr_assert_eq(check_either(at), is_new, "call %u", at);
		news += is_new;
		olds += !is_new;
		if (is_new)
			check_both_ways(at, is_new);
		rig_end(&rig);
	}
	rig_end(&rig);
	cr_assert(news > 60 && olds > 10, "%u %u", news, olds);
}

Test(apply_faults, an_undo_is_killed_before_each_call)
{
	kill_undo_at_each();
}

Test(apply_faults, an_undo_of_copies_is_killed_before_each_call)
{
	rig_is_apart = true;
	kill_undo_at_each();
}

/* Kills an apply at `first`; false: it has no so many calls. */
static bool interrupt(unsigned int first)
{
	begin();
	return run(job_apply, &(struct fault){ .at = first, .changes_only = true }).was_reached;
}

/* Recoveries that are killed themselves, from states all over an apply. */
Test(apply_faults, a_recovery_is_killed_before_each_call)
{
	unsigned int states = 0;

	learn();
	for (unsigned int first = 3; interrupt(first); first += STATES_STEP) {
		states++;
		for (unsigned int at = 1;; at++) {
			struct outcome outcome =
				run(job_recover, &(struct fault){ .at = at, .changes_only = true });

			if (!outcome.was_reached)
				break;
			recover(first);
			check_both_ways(at, check_either(first));
			rig_end(&rig);
			if (!interrupt(first)) /* the last call may not come each time */
				break;
		}
		rig_end(&rig);
	}
	rig_end(&rig);
	cr_assert_gt(states, 5);
}

/* --- the host changes something meanwhile ------------------------------------------------------
 */

/* Each call is tried: what the host does may come between any two that are about the same file. */
static void fill_few(struct rig *few)
{
	const int host = few->scene.directories.host;

	put_file(host, "a/changed", "old");
	put_file(host, "a/gone", "gone");
	put_file(host, "a/kept", "kept");
	put_link(host, "link", "here");
	put_file(few->scene.uppers[0], "a/changed", "new and longer");
	put_whiteout(few->scene.uppers[0], "a/gone");
	put_file(few->scene.uppers[0], "a/new", "new");
	put_link(few->scene.uppers[0], "link", "there");
}

static void write_mine(void)
{
	int fd = openat(HOST, "a/changed", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	cr_assert(fd >= 0);
	cr_assert_eq(write(fd, "mine", 4), 4);
	fd_close(&fd);
}

/* As editors do. */
static void replace_with_mine(void)
{
	put_file(HOST, "a/.mine", "mine");
	cr_assert_eq(renameat(HOST, "a/.mine", HOST, "a/changed"), 0);
}

static bool is_mine(void)
{
	char content[16] = "";
	int fd = openat(HOST, "a/changed", O_RDONLY | O_CLOEXEC);
	const ssize_t size = fd < 0 ? -1 : read(fd, content, sizeof(content) - 1);

	fd_close(&fd);
	return size == 4 && strcmp(content, "mine") == 0;
}

static void change_at_each(void (*act)(void))
{
	unsigned int conflicts = 0, applied = 0;

	for (unsigned int at = 1;; at++) {
		struct outcome outcome;

		begin();
		outcome = run(job_apply, &(struct fault){ .at = at, .act = act });
		if (outcome.was_reached) {
			cr_assert(is_mine(), "call %u: %s", at, rig_show(&rig, HOST));
			cr_assert(!has_keep(), "call %u: %s", at, rig.shown);
			cr_assert(outcome.code == 0 || outcome.code == CONFLICTS ||
					  outcome.code == ESTALE,
				  "call %u: %d", at, outcome.code);
			conflicts += outcome.code != 0;
			applied += outcome.code == 0;
			/* The rest is in one piece. */
			put_file(HOST, "a/changed", outcome.code ? "old" : "new and longer");
			cr_assert_eq(check_either(at), outcome.code == 0, "call %u", at);
		}
		rig_end(&rig);
		if (!outcome.was_reached)
			break;
	}
	cr_assert(conflicts > 50 && applied > 50, "%u %u", conflicts, applied);
}

Test(apply_faults, what_the_host_writes_meanwhile_is_not_lost)
{
	fill = fill_few;
	learn();
	change_at_each(write_mine);
}

Test(apply_faults, what_the_host_replaces_meanwhile_is_not_lost)
{
	fill = fill_few;
	learn();
	change_at_each(replace_with_mine);
}

/* The directory of changed files becomes a link that leads out. */
static void lead_out(void)
{
	char target[128];

	(void)snprintf(target, sizeof(target), "%s/target", rig.scene.root);
	cr_assert_eq(renameat(HOST, "a", HOST, "a.moved"), 0);
	put_link(HOST, "a", target);
}

Test(apply_faults, a_link_in_place_of_a_directory_leads_nowhere)
{
	unsigned int stopped = 0;

	fill = fill_few;
	learn();
	for (unsigned int at = 1;; at++) {
		struct outcome outcome;
		char was[1024];
		int outside;

		begin();
		outside = rig.scene.directories.target;
		put_file(outside, "changed", "outside");
		put_file(outside, "gone", "outside");
		(void)stpcpy(was, rig_show(&rig, outside));
		outcome = run(job_apply, &(struct fault){ .at = at, .act = lead_out });
		if (outcome.was_reached) {
			cr_assert_str_eq(rig_show(&rig, outside), was, "call %u", at);
			stopped += outcome.code != 0;
			cr_assert_eq(rig_do(&rig, job_recover, NULL), 0, "call %u", at);
			cr_assert_str_eq(rig_show(&rig, outside), was, "call %u", at);
		}
		rig_end(&rig);
		if (!outcome.was_reached)
			break;
	}
	cr_assert_gt(stopped, 30);
}

/* The same in the layer, whose workload may still run: what is outside does not come in. */
static void lead_in(void)
{
	char target[128];

	(void)snprintf(target, sizeof(target), "%s/target", rig.scene.root);
	cr_assert_eq(renameat(UPPER, "a", UPPER, "a.moved"), 0);
	put_link(UPPER, "a", target);
}

Test(apply_faults, a_link_in_place_of_a_layers_directory_brings_nothing_in)
{
	unsigned int stopped = 0;

	fill = fill_few;
	learn();
	for (unsigned int at = 1;; at++) {
		struct outcome outcome;

		begin();
		put_file(rig.scene.directories.target, "changed", "secret");
		put_file(rig.scene.directories.target, "new", "secret");
		outcome = run(job_apply, &(struct fault){ .at = at, .act = lead_in });
		if (outcome.was_reached) {
			stopped += outcome.code != 0;
			cr_assert_null(strstr(rig_show(&rig, HOST), "secret"), "call %u", at);
		}
		rig_end(&rig);
		if (!outcome.was_reached)
			break;
	}
	cr_assert_gt(stopped, 10);
}

/* Between the kill and the recovery the host changed a file that the apply had made new: it stays,
 * the rest is old, and what was there before can still be had. */
Test(apply_faults, a_recovery_leaves_the_hosts_later_change)
{
	unsigned int conflicts = 0;

	learn();
	for (unsigned int at = 1; conflicts < 3; at++) {
		begin();
		cr_assert(run(job_apply, &(struct fault){ .at = at, .changes_only = true })
				  .was_reached);
		if (is_state(JOURNAL_SWAPPING)) {
			write_mine();
			cr_assert_eq(rig_do(&rig, job_recover, NULL), 0);
			cr_assert(is_mine());
			conflicts += rig.job.done.conflicts;
			if (rig.job.done.conflicts) {
				rig.ask.conflict = CONFLICT_SANDBOX;
				cr_assert_eq(rig_do(&rig, job_undo, NULL), 0);
				cr_assert(is_host(old_host), "call %u: %s", at, rig.shown);
			}
			cr_assert(!has_keep());
		}
		rig_end(&rig);
	}
}
