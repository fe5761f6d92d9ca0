/* SPDX-License-Identifier: Apache-2.0
 *
 * An apply that moves the host's checked-out branch, killed before its system calls, and with git
 * at work beside it. The real git makes the repository and judges what is left.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_changes.h"
#include "fault.h"
#include "layers/base/base.h"
#include "layers/base/journal.h"
#include "layers/branches/commits.h"
#include "layers/merger/ancestor.h"

#define GIT                                                                                        \
	"GIT_CONFIG_NOSYSTEM=1 HOME=/nonexistent GIT_OPTIONAL_LOCKS=0 git -c user.name=x "         \
	"-c user.email=x@x -c gc.auto=0 -c init.defaultBranch=main "
#define LOCK ".git/refs/heads/main.lock"

static struct rig rig;

/* Run a shell command whose words are formatted. Return whether it succeeds. */
__attribute__((format(printf, 1, 2))) static bool shell(const char *format, ...)
{
	char command[2048];
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	cr_assert(size > 0 && (size_t)size < sizeof(command));
	return system(command) == 0;
}

/* Run git on the host's repository. */
#define HOST_GIT(words) shell(GIT "-C %s/host " words " >/dev/null 2>&1", rig.scene.root)

static void begin_reader(void)
{
	rig_start(&rig, NULL);
	fd_close(&rig.job.output);
	rig.ask.flags = CHANGES_BRANCHES;
	(void)stpcpy(rig.ask.name, "box");
	cr_assert_eq(commits_begin(&rig.job, answer_merge), 0);
}

/* The layer is a copy of the project in which somebody has committed. */
static void begin(void)
{
	rig_begin(&rig, 1);
	cr_assert(shell(
		"cd %s && " GIT "init -q made && cd made && echo one >file && mkdir sub && "
		"echo x >sub/gone && " GIT "add -A && " GIT "commit -qm first && "
		"cp -a . ../host && echo two >>file && rm sub/gone && echo new >sub/new && " GIT
		"add -A && " GIT "commit -qm second && cp -a . ../layer0/" WORKSPACE_NAME
		" && cd .. && rm -r made",
		rig.scene.root));
	put_whiteout(UPPER, "sub/gone");
	cr_assert_eq(base_note(&rig.scene.directories, UINT64_MAX), 0);
	begin_reader();
}

static void end(void)
{
	commits_end();
	rig_end(&rig);
}

static struct outcome run(const struct fault *fault)
{
	const struct outcome outcome = fault_run(&rig, job_apply, fault);

	commits_end();
	return outcome;
}

static bool is_state(const char *name)
{
	return faccessat(JOURNAL, name, F_OK, 0) == 0;
}

static void recover(unsigned int at)
{
	rig.ask.flags = 0;
	cr_assert_eq(rig_do(&rig, job_recover, NULL), 0, "call %u: %s", at,
		     strerror((int)rig.job.done.error));
}

/* Branch, index and files are of one commit. */
static void expect_whole(unsigned int at, bool is_new)
{
	cr_assert(HOST_GIT("fsck --strict --no-dangling"), "call %u", at);
	cr_assert(HOST_GIT("diff --quiet HEAD"), "call %u: the files", at);
	cr_assert(HOST_GIT("diff --quiet --cached"), "call %u: the index", at);
	cr_assert_eq(HOST_GIT("rev-parse -q --verify main~"), is_new, "call %u: the branch", at);
	cr_assert_eq(HOST_GIT("rev-parse -q --verify main@{1}"), is_new, "call %u: the log", at);
}

/* Some of the calls, unless all are asked for. */
static unsigned int step(void)
{
	const char *which = getenv("MSP_FAULTS");

	return which && strcmp(which, "all") == 0 ? 1 : 5;
}

Test(branches_faults, a_move_is_killed_before_each_call)
{
	unsigned int news = 0, olds = 0;

	for (unsigned int at = 1;; at += step()) {
		struct outcome outcome;
		bool is_new;

		begin();
		outcome = run(&(struct fault){ .at = at, .changes_only = true });
		if (!outcome.was_reached)
			break;
		cr_assert_eq(outcome.code, KILLED);
		is_new = is_state(JOURNAL_COMMITTED) || is_state(JOURNAL_DONE);
		cr_assert(HOST_GIT("fsck --strict --no-dangling"), "before, call %u", at);
		recover(at);
		expect_whole(at, is_new);
		news += is_new;
		olds += !is_new;
		end();
	}
	end();
	cr_assert(news > 0 && olds > 10, "%u %u", news, olds);
}

static bool is_rename(const struct user_regs_struct *registers)
{
	return registers->orig_rax == SYS_renameat2;
}

/* The user commits after a kill, and before msp takes anything back. */
Test(branches_faults, the_host_goes_on_from_a_branch_that_was_moved)
{
	unsigned int commits = 0;

	for (unsigned int at = 1;; at++) {
		struct outcome outcome;

		begin();
		outcome = run(&(struct fault){ .at = at, .fits = is_rename });
		if (!outcome.was_reached)
			break;
		if (HOST_GIT("rev-parse -q --verify main~")) {
			cr_assert(HOST_GIT("commit -q --allow-empty -m third"));
			commits++;
			recover(at);
			cr_assert(HOST_GIT("fsck --strict --no-dangling"), "call %u", at);
			cr_assert(HOST_GIT("rev-parse -q --verify main~2"), "call %u", at);
		}
		end();
	}
	end();
	cr_assert(commits > 1, "%u", commits);
}

static void take_lock(void)
{
	int fd = openat(HOST, LOCK, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	cr_assert(fd >= 0);
	fd_close(&fd);
}

/* git has the lock from some moment on: it moves nothing that msp has moved, nor the reverse. */
Test(branches_faults, git_takes_the_lock_meanwhile)
{
	unsigned int refused = 0, moved = 0;

	for (unsigned int at = 1;; at += 3) {
		struct outcome outcome;

		begin();
		outcome = run(&(struct fault){ .at = at, .fits = is_rename, .act = take_lock });
		if (!outcome.was_reached)
			break;
		cr_assert_eq(unlinkat(HOST, LOCK, 0), 0);
		refused += outcome.code == ESTALE;
		moved += outcome.code == 0;
		cr_assert(outcome.code == ESTALE || outcome.code == 0, "call %u: %d", at,
			  outcome.code);
		recover(at);
		expect_whole(at, outcome.code == 0);
		end();
	}
	end();
	cr_assert(refused > 5 && moved > 0, "%u %u", refused, moved);
}
