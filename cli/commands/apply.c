/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp apply` and `msp undo`: a sandbox's changes taken over, and taken back.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ask/ask.h"
#include "ask/progress.h"
#include "commands/chosen.h"
#include "commands/elsewhere.h"
#include "commands/review.h"
#include "common/ipc/ipc_changes.h"
#include "common/log.h"
#include "frontend/changes.h"
#include "frontend/words/changes.h"
#include "launcher/start/config.h"
#include "lib/heap/buffer.h"
#include "options/command.h"
#include "options/everywhere.h"
#include "show/change_text.h"
#include "show/confirm.h"
#include "show/json.h"
#include "show/patch_text.h"
#include "show/print.h"

/* Paths that are named one by one; the rest is counted. */
#define REST_NAMED 50

struct apply_options {
	struct attach_options attach;
	uint32_t conflict; /* enum changes_conflict */
	bool is_preview;
	bool is_held;
	uint32_t commits; /* CHANGES_BRANCHES: they move branches; CHANGES_FILES; 0 */
	bool is_marked;   /* conflict markers may be written */
	bool is_json;
	struct chosen_options chosen;
};

static const char *set_conflict(void *member, const char *value)
{
	static const char *const names[CONFLICT_COUNT] = { [CONFLICT_REFUSE] = "refuse",
							   [CONFLICT_SANDBOX] = "sandbox",
							   [CONFLICT_HOST] = "host",
							   [CONFLICT_MERGE] = "merge" };

	for (uint32_t i = 0; i < CONFLICT_COUNT; i++) {
		if (strcmp(value, names[i]) != 0)
			continue;
		*(uint32_t *)member = i;
		return NULL;
	}
	return "'refuse' (nothing is applied while there is one), 'sandbox' (the sandbox's wins), "
	       "'host' (this machine's stays, and the rest is applied) or 'merge' (the changes of "
	       "both are merged, or nothing is applied)";
}

static const char *set_commits(void *member, const char *value)
{
	*(uint32_t *)member = strcmp(value, "branch") == 0  ? CHANGES_BRANCHES
			      : strcmp(value, "files") == 0 ? CHANGES_FILES
							    : 0;
	if (*(uint32_t *)member || strcmp(value, "refs") == 0)
		return NULL;
	return "'refs' (they arrive as refs/msp/SANDBOX/BRANCH), 'files' (and so do the files that "
	       "they change) or 'branch' (this machine's branches move to them)";
}

#define ROW(option, value, setter, member, text)                                                   \
	OPTION(struct apply_options, option, value, setter, member, text)

static const struct option_row apply_rows[] = {
	ROW("preview", NULL, option_set_flag, is_preview,
	    "show what would be done, and do nothing"),
	ROW("conflict", "refuse|sandbox|host|merge", set_conflict, conflict,
	    "where this machine's file has changed too: 'refuse' (the default): apply nothing; "
	    "'sandbox': the sandbox's wins; 'host': this machine's stays, and the rest is applied; "
	    "'merge': merge the changes of both, or apply nothing"),
	ROW("markers", NULL, option_set_flag, is_marked,
	    "with --conflict=merge: apply lines that both changed too, between conflict markers"),
	ROW("commits", "refs|files|branch", set_commits, commits,
	    "'refs' (the default): they arrive as refs/msp/SANDBOX/BRANCH; 'files': their files "
	    "are "
	    "written, too; 'branch': branches here move to them, by a fast-forward or not at all"),
	ROW("held", NULL, option_set_flag, is_held, "apply what is held back too, and do not ask"),
	ROW("json", NULL, option_set_flag, is_json, "print one JSON object, and do not ask"),
	CHOSEN_ROWS(struct apply_options, chosen),
	ATTACH_ROWS(struct apply_options, attach),
};

static const struct option_row undo_rows[] = {
	ROW("json", NULL, option_set_flag, is_json, "print one JSON object"),
	ATTACH_ROWS(struct apply_options, attach),
};

static const char apply_help[] =
	"Take over what SANDBOX has changed in its copy-on-write workspace: all of it,\n"
	"or what is in the PATHs, into the directory of this machine that it shows. A\n"
	"PATH is as with 'msp diff'. What is done is shown, a line for each file. It is\n"
	"done as a whole or not at all, and 'msp undo' takes it back.\n"
	"\n"
	"What this machine may execute by itself is held back: files of CI, editors,\n"
	"agents and shells, what links and git's configuration lead to, and what the\n"
	"policy adds; and links that lead out of the project. In a terminal it is\n"
	"shown, and applied if you say so; else it is left out and named. Set-ID bits\n"
	"and capabilities never go along; devices, sockets and FIFOs are never applied.\n"
	"Commits arrive as refs/msp/SANDBOX/BRANCH. Files that are as the sandbox's\n"
	"commit has them come with it, by 'git merge', and not as files, unless\n"
	"--commits=files or a PATH asks for them. With --commits=branch this machine's\n"
	"branches move; one that is checked out takes index and files along.\n"
	"Nothing else of a .git arrives, and no hook is run. Files that the directory's \n"
	".gitignore and .mspignore ignore and git does not track stay in the sandbox,\n"
	"unless --ignored or a PATH in what is ignored asks for them.\n"
	"\n"
	"A file is in conflict when this machine's is no longer what the sandbox's was\n"
	"made from. --conflict=merge merges the changes of both, if a commit of the\n"
	"directory's git has the version that both were made from. Text files of up to\n"
	"4 MiB and 200,000 lines are merged, and none that is held back. Lines that both\n"
	"changed need --markers, and then your edit. SANDBOX is the name, the id, or the\n"
	"first four or more characters of the id. The exit code is\n"
	"  0   all of it was applied, or with --preview would be\n"
	"  1   something was left out: held back, in conflict, or of a kind that is never\n"
	"      applied; with conflicts and --conflict=refuse or merge, everything; or\n"
	"      conflict markers were written; or nothing has changed in one of the PATHs\n"
	"  64  the command line is wrong, there is no such sandbox, or its directory is\n"
	"      not the one it was\n"
	"  70  it failed, and this machine's files are as they were\n"
	"  75  another msp has the sandbox, or something runs in it\n"
	"  78  the configuration is wrong\n"
	"  125 the sandbox is damaged, or what was to be done could not be recorded\n";

static const char undo_help[] =
	"Take back what the last 'msp apply' of SANDBOX did to the directory of this\n"
	"machine. Files that were changed there since then stay as they are, and are\n"
	"named. The sandbox keeps its files.\n"
	"\n"
	"The exit code is\n"
	"  0   all of it was taken back\n"
	"  1   some files were changed since then, and stay\n"
	"  64  there is no such sandbox, its directory is not the one it was, or there is\n"
	"      nothing to take back\n"
	"  70  it failed\n"
	"  75  another msp has the sandbox, or something runs in it\n"
	"  78  the configuration is wrong\n"
	"  125 the sandbox is damaged, or what was to be done could not be recorded\n";

/* --- what is held back ----------------------------------------------------------------------- */

struct held_names {
	struct {
		struct buffer names; /* to be shown, with a NUL behind each */
		uint64_t count;
	} kinds[NAMED_KINDS];
};

/* Names of one kind that are shown; the rest is counted. */
#define SHOWN_MAX 50U

/* Keep the name of a change that is held, or may run; of another do nothing. */
static void held_names_keep(struct held_names *held, const struct change *change)
{
	const uint32_t flags = change->is.flags;
	const char *name = change_name(change);
	const enum held_kind kind = change_held_kind(flags);

	if (!(flags & (CHANGE_IS_HELD | CHANGE_MAY_RUN)))
		return;
	held->kinds[kind].count++;
	buffer_append(&held->kinds[kind].names, name, strlen(name) + 1);
}

static void print_kind(const struct held_names *held, enum held_kind kind)
{
	const struct buffer *names = &held->kinds[kind].names;
	const uint64_t count = held->kinds[kind].count;
	uint64_t shown = 0;

	if (count == 0)
		return;
	(void)printf("\n%s\n", held_words[kind].head);
	for (size_t at = 0; at < names->size && shown < SHOWN_MAX; shown++) {
		(void)printf("  %s\n", names->bytes + at);
		at += strlen(names->bytes + at) + 1;
	}
	if (count > shown)
		(void)printf("  and %" PRIu64 " more\n", count - shown);
}

/* Print a list for each kind that has names, with its head. */
static void held_names_print(const struct held_names *held)
{
	/* New files come with the rest, whatever is said about the others. */
	print_kind(held, HELD_NONE_BUT_NEW);
	for (enum held_kind kind = 0; kind < HELD_KINDS; kind++)
		print_kind(held, kind);
}

static void held_names_done(struct held_names *held)
{
	for (size_t kind = 0; kind < NAMED_KINDS; kind++)
		buffer_done(&held->kinds[kind].names);
}

/* One `msp apply` or `msp undo`. */
struct work {
	struct apply_options options;
	struct command_words words;
	struct chosen chosen;
	struct asking *asking;
	struct question question;
	struct held_names held;
	struct json_writer *json;
	char workspace[IPC_PATH_MAX];
	bool is_bound;  /* the question says what is expected */
	bool is_unmet;  /* one of the paths has no change */
	uint32_t stuck; /* branches that cannot move */
	uint32_t refs;  /* refs that the commits arrive as */
	char ref[IPC_PATH_MAX];
};

/* The use of one answer's records. */
struct telling {
	struct work *work;
	bool is_json;
	bool is_shown;                   /* a line for each */
	bool keeps_held;                 /* names to look at are collected */
	bool says_rest;                  /* changes that were left out are named on stderr */
	const struct patch_style *style; /* contents of what is held back; NULL: none */
	uint64_t count, done, left_out, merged, marked, committed;
	uint64_t never; /* left out since their kind is never applied */
};

static void say_rest(const struct telling *telling, const struct change *change)
{
	const uint32_t flags = change->is.flags;

	if (telling->left_out > REST_NAMED)
		return;
	log_line("left out: %s%s", change_name(change),
		 (flags & CHANGE_IS_HELD)       ? " (held back: --held applies it)"
		 : (flags & CHANGE_IS_CONFLICT) ? " (in conflict)"
		 : (flags & CHANGE_IS_REFUSED)  ? " (a device, socket or FIFO)"
		 : (flags & CHANGE_IS_GITS)     ? " (stays in the sandbox's repository)"
						: "");
}

/* Keep the name of a ref that commits arrive as. */
static void keep_ref(struct work *work, const struct change *change)
{
	const char *name = change_path(change);

	if ((change->is.flags & CHANGE_IS_COMMITS) && (change->is.flags & CHANGE_IS_APPLIED) &&
	    work->refs++ == 0)
		(void)snprintf(work->ref, sizeof(work->ref), "%s",
			       name + (strncmp(name, ".git/", 5) == 0 ? 5 : 0));
}

static void count_merged(struct telling *telling, const struct change *change)
{
	telling->merged += (change->is.flags & CHANGE_IS_MERGED) != 0;
	if (!(change->is.flags & CHANGE_HAS_MARKERS))
		return;
	if (telling->marked++ < REST_NAMED && telling->says_rest)
		log_line("conflict markers: %s (search it for '<<<<<<<')", change_name(change));
}

static void on_change(void *context, const struct change *change)
{
	struct telling *telling = context;
	const uint32_t flags = change->is.flags;

	telling->count++;
	keep_ref(telling->work, change);
	count_merged(telling, change);
	chosen_meet(&telling->work->chosen, change);
	if (telling->keeps_held)
		held_names_keep(&telling->work->held, change);
	if (telling->is_shown || telling->style)
		progress_yield();
	if (telling->is_json)
		change_write(telling->work->json, change, false);
	else if (telling->style && (flags & CHANGE_IS_HELD))
		(void)patch_print(telling->style, change);
	else if (telling->is_shown)
		change_print_line(change);
	telling->done += (flags & (CHANGE_IS_APPLIED | CHANGE_IS_UNDONE)) != 0;
	telling->committed += (flags & CHANGE_IS_COMMITTED) != 0;
	if (flags & (CHANGE_IS_APPLIED | CHANGE_IS_UNDONE | CHANGE_IS_COMMITTED))
		return;
	telling->left_out++;
	telling->work->stuck += (flags & CHANGE_IS_COMMITS) && (flags & CHANGE_IS_CONFLICT);
	telling->never +=
		(flags & (CHANGE_IS_REFUSED | CHANGE_IS_UNREADABLE | CHANGE_IS_GITS)) != 0;
	if (telling->says_rest)
		say_rest(telling, change);
}

/* Ask one question about the changes. 0, or the exit code, and a line was said. */
static int ask_changes(struct work *work, uint32_t operation, uint32_t flags,
		       struct telling *telling)
{
	static const struct ask_handlers handlers = { .on_change = on_change };
	int code;

	work->question.is.changes.operation = operation;
	work->question.is.changes.flags = flags;
	work->question.act = telling->is_json ? NULL : "comparing files";
	telling->work = work;
	code = ask(work->asking, &work->question, &handlers, telling);
	return code ? code : change_explain_error(&work->asking->done);
}

static uint32_t wanted_flags(const struct work *work)
{
	return (work->options.is_held ? CHANGES_HELD_TOO : 0) | work->options.commits |
	       (work->options.is_marked ? CHANGES_MARKERS : 0) |
	       (work->options.chosen.is_ignored ? CHANGES_IGNORED_TOO : 0);
}

/* Does a preview say that nothing is left out? */
static bool is_whole(const struct work *work, const struct telling *preview)
{
	const struct ipc_changes_done *done = &work->asking->done;

	return (done->held == 0 || work->options.is_held) && preview->never == 0 &&
	       preview->marked == 0 &&
	       (done->conflicts == 0 || work->options.conflict == CONFLICT_SANDBOX);
}

/* --- as JSON -------------------------------------------------------------------------------- */

static int run_json(struct work *work, uint32_t operation)
{
	const bool is_preview = operation == CHANGES_PREVIEW;
	struct telling telling = { .is_json = true };
	const struct ipc_changes_done *done = &work->asking->done;
	int error;
	int code;

	work->json = json_begin_object();
	json_put_text_or_null(work->json, "workspace", work->workspace);
	json_open_array(work->json, "changes");
	code = ask_changes(work, operation, wanted_flags(work), &telling);
	if (code && work->asking->talk.outcome.is_refused)
		return code; /* no record came */
	if (!code)
		work->is_unmet = chosen_explain_unmet(&work->chosen, work->question.words.sandbox);
	json_close_array(work->json);
	json_put_number(work->json, "total", done->total);
	json_put_number(work->json, "held", done->held);
	json_put_number(work->json, "conflicts", done->conflicts);
	json_put_number(work->json, "done", telling.done);
	json_put_number(work->json, "ignored", done->ignored);
	json_put_bool(work->json, "complete", code == 0);
	error = json_finish();
	if (error || code)
		return command_judge_output(error, code);
	if (is_preview ? !is_whole(work, &telling) : telling.left_out + telling.marked > 0)
		return CHOSEN_EXIT_PARTLY;
	return work->is_unmet ? CHOSEN_EXIT_PARTLY : 0;
}

/* --- for a person --------------------------------------------------------------------------- */

/* Expect an apply to find what is shown now: all of it, contents too. */
static int expect_shown(struct work *work)
{
	struct ipc_changes_start *wanted = &work->question.is.changes;
	const uint8_t *digest = work->asking->done.digest;

	if (work->is_bound && memcmp(wanted->expected, digest, sizeof(wanted->expected)) != 0)
		return change_explain_others();
	memcpy(wanted->expected, digest, sizeof(wanted->expected));
	work->is_bound = true;
	return 0;
}

/* Show what is held back with its contents and ask. 0, or the exit code; *ret_flags has
 * CHANGES_HELD_TOO after a yes. */
static int ask_about_held(struct work *work, uint32_t *ret_flags)
{
	const struct patch_style style = patch_style(PATCH_COLOR_AUTO, true);
	struct telling contents = { .style = &style };
	bool is_yes = false;
	int code;

	held_names_print(&work->held);
	(void)putchar('\n');
	code = ask_changes(work, CHANGES_PREVIEW, wanted_flags(work) | CHANGES_TEXT_HELD,
			   &contents);
	if (!code)
		code = expect_shown(work);
	if (!code)
		code = ask_person(work->asking, "Apply these too?", &is_yes);
	if (is_yes)
		*ret_flags |= CHANGES_HELD_TOO;
	return code;
}

static int finish_work(const struct work *work, const struct telling *telling, const char *what)
{
	(void)printf("%llu %s", (unsigned long long)telling->done, what);
	if (telling->merged > 0)
		(void)printf(", %llu of them merged", (unsigned long long)telling->merged);
	if (telling->marked > 0)
		(void)printf(", %llu with conflict markers", (unsigned long long)telling->marked);
	if (telling->left_out > 0)
		(void)printf(", %llu left out", (unsigned long long)telling->left_out);
	if (telling->committed > 0)
		(void)printf(", %llu in the commits", (unsigned long long)telling->committed);
	(void)putchar('\n');
	if (telling->committed > 0)
		everywhere_note("the commits come into your branch with 'git merge %s'; "
				"--commits=files writes their files",
				work->refs == 1 ? work->ref : "refs/msp/SANDBOX/BRANCH");
	return command_judge_output(
		print_flush(),
		telling->left_out + telling->marked > 0 || work->is_unmet ? CHOSEN_EXIT_PARTLY : 0);
}

static int explain_stuck(const struct work *work)
{
	const char *sandbox = work->question.words.sandbox;

	return log_fail(
		CHOSEN_EXIT_PARTLY,
		"nothing was applied: a branch cannot move, as its line says. 'msp apply %s .git' "
		"brings its commits alone, and 'git merge refs/msp/%s/BRANCH' takes them over",
		sandbox, sandbox);
}

static int explain_conflicts(const struct work *work, uint32_t conflicts)
{
	const char *more = conflicts == 1 ? "" : "s";

	if (work->options.conflict == CONFLICT_MERGE)
		log_line("nothing was applied: %u change%s cannot be merged (reasons: above). "
			 "Choose "
			 "a side for it: 'msp apply %s --conflict=sandbox PATH', or =host",
			 conflicts, more, work->question.words.sandbox);
	else
		log_line("nothing was applied: this machine's side of %u change%s is not what the "
			 "sandbox began with. Choose PATHs, or --conflict=merge, sandbox or host",
			 conflicts, more);
	return CHOSEN_EXIT_PARTLY;
}

static int apply_shown(struct work *work)
{
	const bool can_ask = confirm_is_possible();
	const uint32_t conflicts = work->asking->done.conflicts;
	const bool is_all_or_nothing = work->options.conflict == CONFLICT_REFUSE ||
				       work->options.conflict == CONFLICT_MERGE;
	struct telling telling = { .says_rest = true };
	uint32_t flags = wanted_flags(work);
	int code = expect_shown(work);

	if (code)
		return code;
	if (work->stuck > 0 && is_all_or_nothing)
		return explain_stuck(work);
	if (conflicts > 0 && is_all_or_nothing)
		return explain_conflicts(work, conflicts);
	if (work->asking->done.held > 0 && can_ask && !work->options.is_held)
		code = ask_about_held(work, &flags);
	if (!code)
		code = ask_changes(work, CHANGES_APPLY, flags, &telling);
	if (!code && work->stuck > 0 && telling.done == 0)
		return explain_stuck(work); /* its files would not all be there */
	return code ? code : finish_work(work, &telling, "applied");
}

static int run_apply(struct work *work)
{
	struct telling preview = { .is_shown = true, .keeps_held = true };
	int code;

	if (work->options.is_json)
		return run_json(work, work->options.is_preview ? CHANGES_PREVIEW : CHANGES_APPLY);
	code = ask_changes(work, CHANGES_PREVIEW, wanted_flags(work), &preview);
	if (code)
		return code;
	(void)fflush(stdout); /* the list comes before what is said of it */
	chosen_note_ignored(&work->asking->done, "applied");
	work->is_unmet = chosen_explain_unmet(&work->chosen, work->question.words.sandbox);
	if (preview.count == 0) {
		everywhere_note("there is nothing to apply");
		return work->is_unmet ? CHOSEN_EXIT_PARTLY : 0;
	}
	if (!work->options.is_preview)
		return apply_shown(work);
	return command_judge_output(print_flush(), is_whole(work, &preview) && !work->is_unmet
							   ? 0
							   : CHOSEN_EXIT_PARTLY);
}

static int run_undo(struct work *work)
{
	struct telling telling = { .is_shown = true };
	int code;

	work->question.is.changes.conflict = CONFLICT_HOST; /* later changes stay */
	if (work->options.is_json)
		return run_json(work, CHANGES_UNDO);
	code = ask_changes(work, CHANGES_UNDO, 0, &telling);
	if (code)
		return code;
	code = finish_work(work, &telling, "taken back");
	if (telling.left_out > 0)
		log_line("files that have changed since the apply were left out, a '.git' as a "
			 "whole. Copy the applied one here with 'msp cp', and 'msp undo' takes it "
			 "back");
	return code;
}

/* --- the commands --------------------------------------------------------------------------- */

/* Fill in what each question about the changes says. */
static void fill_work(struct work *work, const char *sandbox)
{
	work->question.kind = ASK_CHANGES;
	work->question.words.sandbox = sandbox;
	work->question.paths = work->chosen.bytes;
	work->question.paths_size = work->chosen.size;
	work->question.is.changes.conflict = work->options.conflict;
}

static int run_with(const struct command *command, int argc, char *argv[], int most,
		    int (*run)(struct work *work))
{
	static struct work work;
	static struct asking asking;
	int code;

	work.options.attach.limits = LIMITS_UNSAID;
	work.words.most = most;
	if (!command_parse_sandbox(command, argc, argv, &work.options, &work.words, &code))
		return code;
	if (work.options.is_marked && work.options.conflict != CONFLICT_MERGE)
		return command_usage_error(command, "--markers needs --conflict=merge");
	command_name_lines(command);
	work.asking = &asking;
	work.question.is_for_program = work.options.is_json;
	code = ask_begin(&asking, &work.options.attach);
	if (!code)
		code = elsewhere_find(&asking, work.words.list[0], work.options.is_json,
				      work.workspace);
	if (!code && chosen_add_words(&work.chosen, command, &work.words, &work.options.chosen,
				      work.workspace, &code)) {
		fill_work(&work, work.words.list[0]);
		code = run(&work);
	}
	held_names_done(&work.held);
	return ask_end(&asking, code);
}

int review_apply(struct asking *asking, const char *sandbox)
{
	static struct work work;
	int code;

	work.asking = asking;
	fill_work(&work, sandbox);
	code = run_apply(&work);
	held_names_done(&work.held);
	return code;
}

static int run_apply_command(const struct command *command, int argc, char *argv[])
{
	return run_with(command, argc, argv, COMMAND_WORDS_MAX, run_apply);
}

static int run_undo_command(const struct command *command, int argc, char *argv[])
{
	return run_with(command, argc, argv, 1, run_undo);
}

const struct command command_apply = {
	.name = "apply",
	.operands = "SANDBOX [PATH]...",
	.summary = "take over what a sandbox has changed",
	.help = apply_help,
	.options = { OPTION_ROWS(apply_rows), .has_operands = true, .has_recent = true },
	.run = run_apply_command,
};

const struct command command_undo = {
	.name = "undo",
	.operands = "SANDBOX",
	.summary = "take back the last apply",
	.help = undo_help,
	.options = { OPTION_ROWS(undo_rows), .has_operands = true, .has_recent = true },
	.run = run_undo_command,
};
