/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp checkpoint`, `checkpoints`, `rollback`, `fork` and `forget`: states of a sandbox's files.
 */
#include "commands/checkpoints.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ask/ask.h"
#include "common/ipc/ipc_persistent.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/start/config.h"
#include "options/command.h"
#include "options/everywhere.h"

#include "show/json.h"
#include "show/print.h"
#include "show/rows.h"
#include "show/sandbox_text.h"

/* --- a checkpoint by its name --------------------------------------------------------------- */

struct named {
	const char *name;
	uint32_t number;
};

static void on_named(void *context, const struct ipc_checkpoint_info *info)
{
	struct named *named = context;

	if (strcmp(info->name, named->name) == 0)
		named->number = info->number;
}

bool checkpoints_is_number(const char *word, uint32_t *ret)
{
	uint64_t number = 0;

	for (const char *c = word; *c != '\0'; c++) {
		if (*c < '0' || *c > '9' || number > UINT32_MAX)
			return false;
		number = number * 10 + (uint64_t)(*c - '0');
	}
	*ret = (uint32_t)number;
	return number > 0 && number <= UINT32_MAX;
}

int checkpoints_find(struct asking *asking, const char *sandbox, const char *checkpoint,
		     uint32_t *ret)
{
	static const struct ask_handlers list_handlers = { .on_checkpoint = on_named };
	static struct question question = { .kind = ASK_CHECKPOINT };
	struct named named = { .name = checkpoint, .number = 0 };
	int code;

	if (checkpoints_is_number(checkpoint, ret))
		return 0;
	question.is.checkpoint.operation = CHECKPOINT_LIST;
	question.words = (struct refusal_words){ .sandbox = sandbox };
	code = ask(asking, &question, &list_handlers, &named);
	if (code)
		return code;
	if (named.number == 0)
		return log_fail(MSP_EXIT_USAGE,
				"sandbox '%s' has no checkpoint '%s': 'msp checkpoints %s' shows "
				"those that there are",
				sandbox, checkpoint, sandbox);
	*ret = named.number;
	return 0;
}

/* --- the commands ----------------------------------------------------------------------------- */

struct checkpoint_options {
	struct attach_options attach;
	const char *name; /* fork: of the new sandbox */
	bool is_json;
};

static const struct option_row plain_rows[] = {
	ATTACH_ROWS(struct checkpoint_options, attach),
};

#define JSON_ROW                                                                                   \
	OPTION(struct checkpoint_options, "json", NULL, option_set_flag, is_json,                  \
	       "print one JSON object")

static const struct option_row json_rows[] = {
	JSON_ROW,
	ATTACH_ROWS(struct checkpoint_options, attach),
};

static const struct option_row fork_rows[] = {
	OPTION(struct checkpoint_options, "name", "NAME", option_set_sandbox_name, name,
	       "what to call the new sandbox"),
	JSON_ROW,
	ATTACH_ROWS(struct checkpoint_options, attach),
};

/* The common part of the five commands. */
struct work {
	struct checkpoint_options options;
	struct command_words words;
	struct question question;
	struct rows rows;
	int written; /* -errno of standard output */
	struct ipc_sandbox_info sandbox;
};

/* A command's operation and its number of words. */
struct shape {
	uint32_t operation; /* enum checkpoint_operation */
	int least, most;
	const char *act; /* as in struct question */
};

/* Up to a question that can be asked. True: go on; false: *ret_exit. */
static bool prepare_work(const struct command *command, int argc, char *argv[],
			 const struct shape *shape, struct work *work, int *ret_exit)
{
	work->options.attach.limits = LIMITS_UNSAID;
	work->words.most = shape->most;
	if (!command_parse_words(command, argc, argv, &work->options, &work->words, ret_exit))
		return false;
	if (work->words.count < shape->least) {
		*ret_exit = command_usage_error(
			command, "%s: msp %s %s",
			shape->least == 1 ? "a sandbox is missing"
					  : "a sandbox and a checkpoint must be named",
			command->name, command->operands);
		return false;
	}
	if (!command_check_sandbox(command, work->words.list[0], ret_exit))
		return false;
	work->question.kind = ASK_CHECKPOINT;
	work->question.words.sandbox = work->words.list[0];
	work->question.act = work->options.is_json ? NULL : shape->act;
	work->question.is.checkpoint.operation = shape->operation;
	work->question.is_for_program = work->options.is_json;
	return true;
}

/* The second word is a checkpoint that there is. */
static bool choose_checkpoint(const struct command *command, struct work *work, int *ret_exit)
{
	struct ipc_checkpoint_do *wanted = &work->question.is.checkpoint;
	const char *word = work->words.list[1];
	const char *taken;
	const char *rule = word ? option_set_checkpoint(&taken, word) : NULL;

	if (rule) {
		*ret_exit = command_usage_error(command, "'%.100s' is no checkpoint: it must be %s",
						word, rule);
		return false;
	}
	work->question.words.checkpoint = word;
	if (word && !checkpoints_is_number(word, &wanted->number))
		format_text(wanted->of, sizeof(wanted->of), "%s", word);
	return true;
}

static int ask_work(const struct command *command, struct work *work,
		    const struct ask_handlers *handlers)
{
	command_name_lines(command);
	return ask_once(&work->options.attach, &work->question, handlers, work);
}

/* Give the cells or members of a checkpoint. */
static void put_checkpoint(struct rows *rows, const struct ipc_checkpoint_info *info)
{
	char number[16];

	format_text(number, sizeof(number), "%c %u", info->is_current ? '*' : ' ', info->number);
	rows_cell(rows, "  NUMBER", number);
	rows_moment(rows, "CREATED     ", "created_s", info->created_s);
	format_text(number, sizeof(number), "%.0u", info->parent);
	rows_text(rows, "ON    ", NULL, number);
	rows_text(rows, "NAME", "name", info->name);
	if (!rows->json)
		return;
	json_put_number(rows->json, "number", info->number);
	if (info->parent)
		json_put_number(rows->json, "parent", info->parent);
	else
		json_put_null(rows->json, "parent");
	json_put_bool(rows->json, "current", info->is_current != 0);
}

/* --- checkpoint ----------------------------------------------------------------------------- */

static const char save_help[] =
	"Keep the files of SANDBOX as they are now, and print the number of the\n"
	"checkpoint; with NAME, it can be called that too. It costs next to nothing, and\n"
	"holds files, not what runs: while something runs in the sandbox it is refused.\n"
	"'msp rollback' goes back to it, 'msp fork' begins another sandbox from it.\n"
	"\n"
	"SANDBOX is the name, the id, or the first four or more characters of the id. A\n"
	"NAME is made of letters, digits, '-', '_' and '.', and is no number. The exit\n"
	"code is 0; 64 where there is no such sandbox or the command line is wrong; 75\n"
	"while something runs in it or another msp has it.\n";

static void on_saved(void *context, const struct ipc_checkpoint_info *info)
{
	struct work *work = context;
	struct rows row = { .is_json = true };

	if (work->options.is_json) {
		row.json = json_begin_object();
		put_checkpoint(&row, info);
		work->written = json_finish();
		return;
	}
	(void)printf("%u\n", info->number);
	work->written = print_flush();
}

static int run_checkpoint(const struct command *command, int argc, char *argv[])
{
	static const struct ask_handlers handlers = { .on_checkpoint = on_saved };
	static const struct shape shape = { CHECKPOINT_SAVE, 1, 2, "saving the checkpoint" };
	static struct work work;
	struct ipc_checkpoint_do *wanted = &work.question.is.checkpoint;
	const char *name;
	const char *rule = NULL;
	int code;

	if (!prepare_work(command, argc, argv, &shape, &work, &code))
		return code;
	name = work.words.list[1];
	if (name)
		rule = option_set_label(&name, name);
	if (rule)
		return command_usage_error(command, "the name '%.100s' is refused: it must be %s",
					   name, rule);
	if (name)
		format_text(wanted->name, sizeof(wanted->name), "%s", name);
	work.question.words.name = name;
	code = ask_work(command, &work, &handlers);
	return code ? code : command_judge_output(work.written, 0);
}

const struct command command_checkpoint = {
	.name = "checkpoint",
	.operands = "SANDBOX [NAME]",
	.summary = "keep a sandbox's files as they are now",
	.help = save_help,
	.options = { OPTION_ROWS(json_rows), .has_operands = true, .has_recent = true },
	.run = run_checkpoint,
};

/* --- checkpoints ---------------------------------------------------------------------------- */

static const char list_help[] =
	"Show the checkpoints of SANDBOX: their numbers, which are never given again,\n"
	"when they were made, the checkpoint that each was made on, and their names. A\n"
	"'*' marks the one that the present files are built on.\n"
	"\n"
	"The exit code is 0; 64 where there is no such sandbox; 75 where another msp has\n"
	"it.\n";

static void on_listed(void *context, const struct ipc_checkpoint_info *info)
{
	struct work *work = context;

	rows_next(&work->rows);
	put_checkpoint(&work->rows, info);
}

static int run_checkpoints(const struct command *command, int argc, char *argv[])
{
	static const struct ask_handlers handlers = { .on_checkpoint = on_listed };
	static const struct shape shape = { CHECKPOINT_LIST, 1, 1, NULL };
	static struct work work;
	int code;

	if (!prepare_work(command, argc, argv, &shape, &work, &code))
		return code;
	work.rows.is_json = work.options.is_json;
	rows_begin(&work.rows, "checkpoints");
	code = ask_work(command, &work, &handlers);
	if (code)
		return code;
	if (!work.rows.json && work.rows.count == 0)
		everywhere_note("the sandbox has no checkpoint: 'msp checkpoint %s' makes one",
				work.words.list[0]);
	rows_end(&work.rows);
	return command_judge_output(rows_finish(&work.rows), 0);
}

const struct command command_checkpoints = {
	.name = "checkpoints",
	.operands = "SANDBOX",
	.summary = "show a sandbox's checkpoints",
	.help = list_help,
	.options = { OPTION_ROWS(json_rows), .has_operands = true, .has_recent = true },
	.run = run_checkpoints,
};

/* --- rollback, forget ----------------------------------------------------------------------- */

static const char rollback_help[] =
	"Make the files of SANDBOX what they were at CHECKPOINT, a number or a name.\n"
	"What was done since and is in no checkpoint is gone; nothing asks again.\n"
	"Checkpoints that were made later stay, and can be gone back to as well. The\n"
	"directory that the sandbox shows is not touched: where the host has changed it,\n"
	"that is seen.\n"
	"\n"
	"The exit code is 0; 64 where there is no such sandbox or checkpoint; 75 while\n"
	"something runs in the sandbox or another msp has it.\n";

static const char forget_help[] =
	"Forget CHECKPOINT, a number or a name, of SANDBOX. Files that nothing else\n"
	"needs are removed; the sandbox's present files, other checkpoints and forks are\n"
	"as they were.\n"
	"\n"
	"The exit code is 0; 64 where there is no such sandbox or checkpoint; 75 while\n"
	"something runs in the sandbox or another msp has it.\n";

static int change_one(const struct command *command, int argc, char *argv[], uint32_t operation,
		      const char *act)
{
	static struct work work;
	const struct shape shape = { operation, 2, 2, act };
	int code;

	if (!prepare_work(command, argc, argv, &shape, &work, &code) ||
	    !choose_checkpoint(command, &work, &code))
		return code;
	return ask_work(command, &work, NULL);
}

static int run_rollback(const struct command *command, int argc, char *argv[])
{
	return change_one(command, argc, argv, CHECKPOINT_ROLLBACK, "rolling back");
}

static int run_forget(const struct command *command, int argc, char *argv[])
{
	return change_one(command, argc, argv, CHECKPOINT_DELETE, "forgetting the checkpoint");
}

const struct command command_rollback = {
	.name = "rollback",
	.operands = "SANDBOX CHECKPOINT",
	.summary = "make a sandbox's files what they were",
	.help = rollback_help,
	.options = { OPTION_ROWS(plain_rows), .has_operands = true, .has_recent = true },
	.run = run_rollback,
};

const struct command command_forget = {
	.name = "forget",
	.operands = "SANDBOX CHECKPOINT",
	.summary = "forget a checkpoint",
	.help = forget_help,
	.options = { OPTION_ROWS(plain_rows), .has_operands = true, .has_recent = true },
	.run = run_forget,
};

/* --- fork ----------------------------------------------------------------------------------- */

static const char fork_help[] =
	"Make another sandbox with the files of SANDBOX as they are now, or as they were\n"
	"at CHECKPOINT, a number or a name, and print its id. The two share what is the\n"
	"same and are independent from then on. Nothing is copied.\n"
	"\n"
	"The exit code is 0; 64 where there is no such sandbox or checkpoint, or the\n"
	"name is taken; 75 while something runs in the sandbox, another msp has it, or\n"
	"there are as many sandboxes as the operator allows.\n";

static void on_forked(void *context, const struct ipc_sandbox_info *info)
{
	struct work *work = context;

	work->sandbox = *info;
}

static int show_forked(struct work *work)
{
	if (!work->options.is_json) {
		(void)puts(work->sandbox.id);
		return print_flush();
	}
	sandbox_write(json_begin_object(), &work->sandbox);
	return json_finish();
}

static int fork_sandbox(const struct command *command, int argc, char *argv[])
{
	static const struct ask_handlers handlers = { .on_sandbox = on_forked };
	static const struct shape shape = { CHECKPOINT_FORK, 1, 2, "making the sandbox" };
	static struct work work;
	struct ipc_checkpoint_do *wanted = &work.question.is.checkpoint;
	int code;

	if (!prepare_work(command, argc, argv, &shape, &work, &code) ||
	    !choose_checkpoint(command, &work, &code))
		return code;
	work.question.words.name = work.options.name;
	if (work.options.name)
		format_text(wanted->name, sizeof(wanted->name), "%s", work.options.name);
	code = ask_work(command, &work, &handlers);
	if (code)
		return code;
	code = command_judge_output(show_forked(&work), 0);
	if (code)
		log_line("sandbox %s was made", work.sandbox.id);
	return code;
}

const struct command command_fork = {
	.name = "fork",
	.operands = "SANDBOX [CHECKPOINT]",
	.summary = "make another sandbox with the files of one",
	.help = fork_help,
	.options = { OPTION_ROWS(fork_rows), .has_operands = true, .has_recent = true },
	.run = fork_sandbox,
};
