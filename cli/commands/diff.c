/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp diff`: what a sandbox has changed.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ask/ask.h"
#include "ask/progress.h"
#include "commands/checkpoints.h"
#include "commands/chosen.h"
#include "commands/elsewhere.h"
#include "commands/review.h"
#include "common/ipc/ipc_changes.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/start/config.h"
#include "options/command.h"
#include "options/everywhere.h"
#include "show/change_text.h"
#include "show/json.h"
#include "show/patch_text.h"
#include "show/print.h"
#include "show/stat_text.h"

#define COLUMNS 80

struct diff_options {
	struct attach_options attach;
	const char *since;
	enum patch_color color;
	bool is_stat;
	bool is_names;
	bool is_patch;
	bool is_json;
	struct chosen_options chosen;
};

#define ROW(option, value, setter, member, text)                                                   \
	OPTION(struct diff_options, option, value, setter, member, text)

static const struct option_row rows[] = {
	ROW("stat", NULL, option_set_flag, is_stat, "print how many lines changed in each file"),
	ROW("name-only", NULL, option_set_flag, is_names, "print the paths alone"),
	ROW("patch", NULL, option_set_flag, is_patch,
	    "print what 'git apply' takes, and nothing else; what is no text is named on stderr"),
	ROW("json", NULL, option_set_flag, is_json,
	    "print one JSON object; with --patch, the patches are in it"),
	ROW("since", "CHECKPOINT", option_set_checkpoint, since,
	    "compare with this checkpoint, by number or name, in place of this machine's files"),
	ROW("color", "WHEN", patch_set_color, color,
	    "'auto' (the default): colors in a terminal; 'always'; 'never'"),
	CHOSEN_ROWS(struct diff_options, chosen),
	ATTACH_ROWS(struct diff_options, attach),
};

static const char help[] =
	"Show what SANDBOX has changed in its workspace, compared with the directory of\n"
	"this machine that it shows, as 'git diff' would; with PATHs, there alone. A\n"
	"PATH is relative to this directory if that is in the workspace, else to the\n"
	"workspace, or begins with /workspace; it means all that is in it. Where the\n"
	"workspace is empty at first, all of it is new. Nothing is changed by this.\n"
	"\n"
	"Without an option the changes are printed to be read, with a line for files\n"
	"that are no text or larger than 4 MiB and for each ref with new commits, and\n"
	"without anything that a terminal would obey. In a terminal, and with\n"
	"--color=always, characters that nobody sees or that turn the text around are\n"
	"made visible, such as <U+202E>. Paths with characters beyond ASCII are quoted\n"
	"as git does. As in git, folders alone are not shown but by --name-only and\n"
	"--json.\n"
	"\n"
	"Left out are files that the directory's .gitignore and .mspignore (of the same\n"
	"form) ignore and git does not track, unless --ignored or a PATH in what is\n"
	"ignored asks for them. How many that are is said on stderr.\n"
	"\n"
	"SANDBOX is the name, the id, or the first four or more characters of the id.\n"
	"The exit code is\n"
	"  0   all of it was shown, also when there is nothing to show\n"
	"  1   --patch: some of it is no text and was left out; or nothing has changed in\n"
	"      one of the PATHs\n"
	"  64  the command line is wrong, there is no such sandbox or checkpoint, or its\n"
	"      directory is not the one it was\n"
	"  70  the files cannot be read\n"
	"  75  another msp has the sandbox\n"
	"  78  the configuration is wrong\n"
	"  125 the sandbox is damaged\n";

/* How it is shown. */
enum view {
	VIEW_READ,
	VIEW_PATCH,
	VIEW_STAT,
	VIEW_NAMES,
	VIEW_JSON,
};

#define OMITTED_NAMED 20

/* New files that are named in the line about them, and its bytes. */
#define UNKNOWN_NAMED 3
#define UNKNOWN_BYTES 400

struct showing {
	enum view view;
	bool has_patch; /* JSON: with patches */
	struct patch_style style;
	struct stat_text *stat;
	struct json_writer *json; /* with VIEW_JSON */
	struct chosen *chosen;
	const char *workspace;
	uint64_t omitted;
	uint64_t unknown; /* new, of a kind that tools execute */
	char unknown_names[UNKNOWN_BYTES];
};

static const char *find_conflict(const struct diff_options *options)
{
	if (options->is_stat + options->is_names + options->is_patch > 1)
		return "--stat, --name-only and --patch exclude each other";
	if (options->is_json && (options->is_stat || options->is_names))
		return "--json says all that --stat and --name-only do: leave those out";
	return NULL;
}

static enum view choose_view(const struct diff_options *options)
{
	if (options->is_json)
		return VIEW_JSON;
	if (options->is_stat)
		return VIEW_STAT;
	if (options->is_names)
		return VIEW_NAMES;
	return options->is_patch ? VIEW_PATCH : VIEW_READ;
}

static void leave_out(struct showing *showing, const struct change *change)
{
	if (showing->omitted++ < OMITTED_NAMED)
		log_line("left out, it is no text or too large: %s", change_path(change));
}

static void keep_unknown(struct showing *showing, const struct change *change)
{
	if ((change->is.flags & CHANGE_MAY_RUN) && showing->unknown++ < UNKNOWN_NAMED)
		format_append(showing->unknown_names, UNKNOWN_BYTES, "%s%s",
			      showing->unknown > 1 ? ", " : "", change_path(change));
}

static void note_unknown(const struct showing *showing)
{
	if (showing->unknown > 0 && (showing->view == VIEW_READ || showing->view == VIEW_STAT))
		everywhere_note("%llu of a kind that tools execute: %s%s",
				(unsigned long long)showing->unknown, showing->unknown_names,
				showing->unknown > UNKNOWN_NAMED ? " ..." : "");
}

static void on_change(void *context, const struct change *change)
{
	struct showing *showing = context;

	chosen_meet(showing->chosen, change);
	keep_unknown(showing, change);
	progress_yield();
	switch (showing->view) {
	case VIEW_READ:
	case VIEW_PATCH:
		if (!patch_print(&showing->style, change))
			leave_out(showing, change);
		break;
	case VIEW_STAT:
		stat_text_add(showing->stat, change);
		break;
	case VIEW_NAMES:
		(void)puts(change_path(change));
		break;
	case VIEW_JSON:
		change_write(showing->json, change, showing->has_patch);
		break;
	}
}

static unsigned int terminal_columns(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return COLUMNS;
	return size.ws_col;
}

static void begin_showing(const struct diff_options *options, struct showing *showing)
{
	showing->view = choose_view(options);
	showing->has_patch = options->is_patch;
	showing->style = patch_style(options->color, showing->view == VIEW_READ);
	if (showing->view == VIEW_STAT)
		showing->stat = stat_text_new(terminal_columns());
	if (showing->view != VIEW_JSON)
		return;
	showing->json = json_begin_object();
	json_put_text_or_null(showing->json, "workspace", showing->workspace);
	json_open_array(showing->json, "changes");
}

/* The exit code. */
static int finish_showing(struct showing *showing, const struct ipc_changes_done *done)
{
	int code = change_explain_error(done);
	int error = 0;

	if (showing->stat)
		stat_text_finish(showing->stat);
	if (showing->view == VIEW_JSON) {
		json_close_array(showing->json);
		json_put_number(showing->json, "total", done->total);
		json_put_number(showing->json, "ignored", done->ignored);
		json_put_bool(showing->json, "complete", code == 0);
		error = json_finish();
	} else
		error = print_flush();
	if (error == -EPIPE) /* its reader had enough */
		return MSP_EXIT_SIGNAL_BASE + SIGPIPE;
	if (error)
		return command_judge_output(error, 0);
	if (showing->omitted > OMITTED_NAMED)
		log_line("%llu files in all were left out", (unsigned long long)showing->omitted);
	return code ? code : showing->omitted > 0 ? CHOSEN_EXIT_PARTLY : 0;
}

/* `act`: as in struct question. */
static int diff_with(const struct diff_options *options, const char *sandbox, const char *workspace,
		     struct chosen *chosen, const char *act, struct asking *asking)
{
	static const struct ask_handlers handlers = { .on_change = on_change };
	static struct question question = { .kind = ASK_CHANGES };
	static struct showing showing;
	struct ipc_changes_start *wanted = &question.is.changes;
	int code = 0;

	question.words = (struct refusal_words){ .sandbox = sandbox, .checkpoint = options->since };
	question.paths = chosen->bytes;
	question.paths_size = chosen->size;
	wanted->operation = CHANGES_DIFF;
	question.act = act;
	question.is_for_program = options->is_json;
	showing.workspace = workspace;
	begin_showing(options, &showing);
	showing.chosen = chosen;
	if (showing.view == VIEW_READ || showing.view == VIEW_PATCH || showing.view == VIEW_STAT ||
	    showing.has_patch)
		wanted->flags |= CHANGES_TEXT;
	if (options->chosen.is_ignored)
		wanted->flags |= CHANGES_IGNORED_TOO;
	if (options->since) {
		wanted->flags |= CHANGES_FROM_CHECKPOINT;
		code = checkpoints_find(asking, sandbox, options->since, &wanted->number);
	}
	if (!code)
		code = ask(asking, &question, &handlers, &showing);
	if (code)
		return code;
	code = finish_showing(&showing, &asking->done);
	note_unknown(&showing);
	chosen_note_ignored(&asking->done, "shown");
	if (!code && chosen_explain_unmet(chosen, sandbox))
		code = CHOSEN_EXIT_PARTLY;
	return code;
}

int review_diff(struct asking *asking, const char *sandbox)
{
	static const struct diff_options options = { .color = PATCH_COLOR_ALWAYS };
	static struct chosen chosen;

	return diff_with(&options, sandbox, "", &chosen, NULL, asking);
}

static int run_diff(const struct command *command, int argc, char *argv[])
{
	static struct diff_options options = { .attach.limits = LIMITS_UNSAID };
	static struct command_words words = { .most = COMMAND_WORDS_MAX };
	static struct chosen chosen;
	static struct asking asking;
	static char workspace[IPC_PATH_MAX];
	const char *conflict;
	int code;

	if (!command_parse_words(command, argc, argv, &options, &words, &code))
		return code;
	conflict = find_conflict(&options);
	if (!conflict && words.count == 0)
		conflict = "a sandbox is missing: msp diff SANDBOX [PATH]...";
	if (conflict)
		return command_usage_error(command, "%s", conflict);
	if (!command_check_sandbox(command, words.list[0], &code))
		return code;
	command_name_lines(command);
	code = ask_begin(&asking, &options.attach);
	if (!code)
		code = elsewhere_find(&asking, words.list[0], options.is_json, workspace);
	if (!code && chosen_add_words(&chosen, command, &words, &options.chosen, workspace, &code))
		code = diff_with(&options, words.list[0], workspace, &chosen,
				 options.is_json ? NULL : "comparing files", &asking);
	return ask_end(&asking, code);
}

const struct command command_diff = {
	.name = "diff",
	.operands = "SANDBOX [PATH]...",
	.summary = "show what a sandbox has changed",
	.help = help,
	.options = { OPTION_ROWS(rows), .has_operands = true, .has_recent = true },
	.run = run_diff,
};
