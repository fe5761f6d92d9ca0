/* SPDX-License-Identifier: Apache-2.0
 *
 * A loss of power: the syncs of an apply, in their order. And the number of its calls.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "fault.h"
#include "layers/base/base.h"
#include "layers/base/journal.h"

/* The calls that an apply, without its preview, may make for each changed file. */
#define CALLS_EACH 45

static struct rig rig;

/* A crash may lose each change that is not synced, in any order. So both moves that others rely on
 * come after a sync of all changes before them, and nothing of the host changes before the first.
 */
static struct {
	bool is_unsynced_host, is_unsynced_journal;
	unsigned int swaps_before, moves;
	unsigned int unsynced_kept; /* directories, of the two that a move changes */
} power;

static void read_text(pid_t pid, unsigned long long address, char *ret, size_t size)
{
	const struct iovec to = { ret, size - 1 };
	const struct iovec from = { (void *)(uintptr_t)address, size - 1 }; // NOLINT

	memset(ret, 0, size);
	(void)process_vm_readv(pid, &to, 1, &from, 1, 0); /* up to the end of the page */
}

static void watch_rename(pid_t pid, const struct user_regs_struct *registers)
{
	char from[16], to[16];

	read_text(pid, registers->rsi, from, sizeof(from));
	read_text(pid, registers->r10, to, sizeof(to));
	if (strcmp(to, JOURNAL_KEPT_NAME) == 0 || strcmp(from, JOURNAL_KEPT_NAME) == 0) {
		cr_assert(power.moves != 2 || !power.is_unsynced_journal,
			  "the move is on disk before the old files leave the host");
		power.unsynced_kept = power.moves == 2 ? 2 : 0;
	} else if (strcmp(to, JOURNAL_DONE) == 0) {
		cr_assert_eq(power.unsynced_kept, 0);
		power.moves++;
	} else if (strcmp(to, JOURNAL_SWAPPING) == 0 || strcmp(to, JOURNAL_COMMITTED) == 0) {
		cr_assert(!power.is_unsynced_host, "before '%s'", to);
		cr_assert(!power.is_unsynced_journal, "before '%s'", to);
		power.moves++;
		power.is_unsynced_journal = true; /* the move itself */
	} else if ((int)registers->rdi != JOURNAL && (int)registers->rdx != JOURNAL) {
		power.swaps_before += power.moves == 0;
		cr_assert(power.moves != 1 || !power.is_unsynced_journal,
			  "the move is on disk before the first swap");
		power.is_unsynced_host = true;
	}
}

static void watch(pid_t pid, const struct user_regs_struct *registers, bool does_fit)
{
	(void)does_fit;
	switch (registers->orig_rax) {
	case SYS_write:
	case SYS_ftruncate:
	case SYS_symlinkat:
	case SYS_mkdirat:
		power.is_unsynced_host = power.is_unsynced_journal = true;
		break;
	case SYS_renameat2:
		watch_rename(pid, registers);
		break;
	case SYS_syncfs: /* both lie on one file system here; the calls are for each */
		power.is_unsynced_host = power.is_unsynced_journal = false;
		break;
	case SYS_fsync:
		power.is_unsynced_journal = false;
		power.unsynced_kept -= power.unsynced_kept > 0;
		break;
	default:
		break;
	}
}

Test(apply_syncs, what_others_rely_on_is_synced_before)
{
	rig_begin(&rig, 1);
	rig_fill(&rig);
	rig_note(&rig);
	memset(&power, 0, sizeof(power));
	cr_assert_eq(fault_run(&rig, job_apply, &(struct fault){ .look = watch }).code, 0);
	cr_assert_eq(power.moves, 3);
	cr_assert_eq(power.swaps_before, 0);
	rig_end(&rig);
}

static unsigned int counted;

static void count_call(pid_t pid, const struct user_regs_struct *registers, bool does_fit)
{
	(void)pid;
	(void)registers;
	(void)does_fit;
	counted++;
}

/* Return the system calls of an apply of so many changed files in one directory. */
static unsigned int calls_of(unsigned int files)
{
	char name[32];

	rig_begin(&rig, 1);
	for (unsigned int i = 0; i < files; i++) {
		(void)snprintf(name, sizeof(name), "in/%u", i);
		put_file(HOST, name, "old");
		put_file(UPPER, name, "other");
	}
	rig_note(&rig);
	counted = 0;
	cr_assert_eq(fault_run(&rig, job_apply, &(struct fault){ .look = count_call }).code, 0);
	rig_end(&rig);
	return counted;
}

/* Files that are looked at once more for each question make a large apply slow. */
Test(apply_syncs, a_file_takes_few_calls)
{
	const unsigned int few = calls_of(10), many = calls_of(30);

	cr_assert(many > few && many - few <= 20 * CALLS_EACH, "%u calls for 20 files", many - few);
}
