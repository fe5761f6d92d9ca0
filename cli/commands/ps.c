/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp ps`: the commands that run in persistent sandboxes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ask/ask.h"
#include "audit/open_executions.h"
#include "audit/sandbox_history.h"
#include "background/note.h"
#include "common/fd.h"
#include "common/ipc/ipc_persistent.h"
#include "common/log.h"
#include "common/text/format.h"
#include "common/text/names.h"
#include "launcher/host/state_place.h"
#include "launcher/start/config.h"
#include "launcher/start/launch.h"
#include "lib/heap/memory.h"
#include "options/command.h"
#include "options/everywhere.h"
#include "show/rows.h"
#include "show/sandbox_text.h"

struct ps_options {
	struct attach_options attach;
	bool has_ended;
	bool is_json;
};

static const struct option_row rows[] = {
	OPTION(struct ps_options, "ended", NULL, option_set_flag, has_ended,
	       "those too that have ended, and whose output is still there"),
	OPTION(struct ps_options, "json", NULL, option_set_flag, is_json, "print one JSON object"),
	ATTACH_ROWS(struct ps_options, attach),
};

static const char help[] =
	"Show the commands that run in persistent sandboxes, or in SANDBOX only, the\n"
	"newest first: those of 'msp exec -d', which have an ID, and those of people and\n"
	"MCP clients, as far as the audit log and the sandbox's history have them. STATE\n"
	"is\n"
	"  running  it runs\n"
	"  exit N   it has ended with this code\n"
	"  timeout, memory, ...  the limit that ended it; 'stopped' with its sandbox,\n"
	"           'cancelled' by 'msp kill', a signal or the service's end\n"
	"  failed   it could not be started, or its supervisor ended\n"
	"  lost     the process of msp that kept it was killed, and the command with it\n"
	"\n"
	"'msp ps -q' prints the ids only. --json has times in seconds since 1970, and\n"
	"the arguments as far as they are kept: their first 480 bytes.\n";

#define STATE_MAX 32

struct listing {
	const struct ps_options *options;
	const char *sandbox; /* id of the one that is meant; NULL: all */
	struct sandbox_search search;
	struct sandbox_list sandboxes;
	size_t count, room;
	struct background *commands; /* without descriptors */
};

/* --- what there is ---------------------------------------------------------------------------- */

static void on_sandbox(void *context, const struct ipc_sandbox_info *info)
{
	struct listing *listing = context;

	sandbox_list_add(&listing->sandboxes, info);
	if (info->owner[0] == '\0')
		sandbox_search_add_named(&listing->search, info);
	else
		sandbox_search_add(&listing->search, info);
}

/* Replace the word by the id of the sandbox that it means. 0, or the exit code after a line. */
static int resolve_word(struct listing *listing, char word[IPC_NAME_MAX])
{
	if (listing->search.found == 1) {
		format_text(word, IPC_NAME_MAX, "%s", listing->search.id);
		return 0;
	}
	return log_fail(MSP_EXIT_USAGE,
			"there is no sandbox '%s'%s: 'msp list' shows those that there are", word,
			listing->search.found > 1 ? ", several ids begin so" : "");
}

static void add_command(struct listing *listing, const struct background *command)
{
	listing->commands = memory_grow_list(listing->commands, &listing->room, listing->count + 1,
					     sizeof(*command));
	listing->commands[listing->count++] = *command;
}

static void take_command(void *context, const struct background *command)
{
	struct listing *listing = context;

	if ((command->state != BACKGROUND_RUNNING && !listing->options->has_ended) ||
	    (listing->sandbox && strcmp(command->sandbox, listing->sandbox) != 0))
		return;
	add_command(listing, command);
}

static int compare_begin(const void *one, const void *other)
{
	const struct background *a = one;
	const struct background *b = other;

	if (a->note.begun_us != b->note.begun_us)
		return a->note.begun_us < b->note.begun_us ? 1 : -1;
	return strcmp(a->id, b->id);
}

/* --- commands without a keeper --------------------------------------------------------------- */

struct others {
	const struct listing *known; /* the background commands that run */
	struct listing *listing;
	bool has_log;
	struct audit_log log;
	struct open_executions open;
};

/* Return whether a background command is this execution: the same words, begun in the time of its
 * request. */
static bool has_keeper(const struct others *others, const struct open_execution *one)
{
	char hash[2 * SHA256_BYTES + 1];

	for (size_t i = 0; i < others->known->count; i++) {
		const struct background *known = &others->known->commands[i];

		if (known->state != BACKGROUND_RUNNING ||
		    strcmp(known->sandbox, one->sandbox) != 0 ||
		    one->time_us < known->note.asked_us || one->time_us > known->note.begun_us)
			continue;
		format_hex(known->note.argv_sha256, SHA256_BYTES, hash);
		if (strcmp(hash, one->argv_sha256) == 0)
			return true;
	}
	return false;
}

static uint32_t count_known(const struct others *others, const char *sandbox)
{
	uint32_t count = 0;

	for (size_t i = 0; i < others->known->count; i++)
		count += others->known->commands[i].state == BACKGROUND_RUNNING &&
			 strcmp(others->known->commands[i].sandbox, sandbox) == 0;
	return count;
}

static void tell_other(const struct others *others, const char *sandbox,
		       const struct open_execution *one)
{
	static struct background other;
	const struct history_note *command = NULL;

	memset(&other, 0, sizeof(other));
	format_text(other.sandbox, sizeof(other.sandbox), "%s", sandbox);
	other.state = BACKGROUND_RUNNING;
	if (one) {
		other.note.begun_us = one->time_us;
		command = sandbox_history_find(one->pid, one->execution, one->time_us);
	}
	if (command)
		other.note.command = *command;
	if (!others->listing->sandbox || strcmp(sandbox, others->listing->sandbox) == 0)
		add_command(others->listing, &other);
}

/* Tell of the executions of one sandbox, the newest first: as many as its supervisor counts, or
 * those of the log if another supervisor has it. */
static void tell_sandbox(const struct others *others, const struct ipc_sandbox_info *info)
{
	const uint32_t known = count_known(others, info->id);
	uint32_t left = info->executions > known ? info->executions - known : 0;

	if (info->is_elsewhere)
		left = SANDBOX_EXECUTIONS_MAX;
	if (left == 0)
		return;
	if (others->has_log)
		sandbox_history_open(others->log.directory, info->id);
	for (size_t i = others->open.count; i-- > 0 && left > 0;) {
		const struct open_execution *one = &others->open.list[i];

		if (strcmp(one->sandbox, info->id) != 0 || has_keeper(others, one))
			continue;
		tell_other(others, info->id, one);
		left--;
	}
	for (; left > 0 && !info->is_elsewhere; left--)
		tell_other(others, info->id, NULL);
}

static bool is_any_used(const struct others *others, const struct sandbox_list *sandboxes)
{
	for (size_t i = 0; i < sandboxes->count; i++) {
		const struct ipc_sandbox_info *info = &sandboxes->infos[i];

		if (info->is_elsewhere || info->executions > count_known(others, info->id))
			return true;
	}
	return false;
}

/* Find what runs without a keeper, in the audit log and in the sandboxes' histories. It has no id,
 * which is all that -q prints, and an empty command where nothing is known of it. */
static void find_others(struct listing *listing)
{
	const struct listing known = *listing;
	static struct others others;
	const struct audit_taker taker = { .take = open_executions_take,
					   .context = &others.open,
					   .is_quiet = true };
	uint64_t bad;
	char text[STATE_PLACE_TEXT_MAX];

	others.known = &known;
	others.listing = listing;
	if (everywhere.is_quiet || !is_any_used(&others, &known.sandboxes))
		return;
	listing->commands = NULL;
	listing->count = listing->room = 0;
	for (size_t i = 0; i < known.count; i++)
		add_command(listing, &known.commands[i]);
	/* An operator may do without a log; then only their number is known. */
	others.has_log = audit_log_find(&others.log, text);
	if (others.has_log && audit_log_each(&others.log, 0, &taker, &bad) != 0)
		others.open.count = 0;
	for (size_t i = 0; i < known.sandboxes.count; i++)
		tell_sandbox(&others, &known.sandboxes.infos[i]);
	if (others.has_log)
		audit_log_done(&others.log);
	free(known.commands);
}

static void find_commands(struct listing *listing)
{
	char text[STATE_PLACE_TEXT_MAX];
	int sandboxes = background_open_sandboxes(text); /* else nothing was ever kept */

	if (sandboxes >= 0)
		background_each(sandboxes, take_command, listing);
	fd_close(&sandboxes);
	find_others(listing);
	if (listing->count > 0)
		qsort(listing->commands, listing->count, sizeof(listing->commands[0]),
		      compare_begin);
}

/* --- what is shown of it ---------------------------------------------------------------------- */

static const char *sandbox_name(const struct listing *listing, const char *id)
{
	for (size_t i = 0; i < listing->sandboxes.count; i++) {
		if (strcmp(listing->sandboxes.infos[i].id, id) == 0)
			return listing->sandboxes.infos[i].name;
	}
	return "";
}

static void describe_state(const struct background *command, char text[STATE_MAX])
{
	const struct background_note *note = &command->note;

	if (command->state == BACKGROUND_RUNNING)
		format_text(text, STATE_MAX, "running");
	else if (command->state == BACKGROUND_LOST)
		format_text(text, STATE_MAX, "lost");
	else if (note->verdict == VERDICT_EXITED)
		format_text(text, STATE_MAX, "exit %u", note->exit_code);
	else if (note->verdict == VERDICT_INTERNAL || note->verdict >= VERDICT_COUNT)
		format_text(text, STATE_MAX, "failed");
	else
		format_text(text, STATE_MAX, "%s", verdict_name(note->verdict));
}

static void write_arguments(struct json_writer *json, const struct history_note *command)
{
	const char *text = (const char *)command->text;
	size_t size;

	if (command->argv_size == 0) {
		json_put_null(json, "argv");
		return;
	}
	json_open_array(json, "argv");
	for (size_t at = 0; at < command->argv_size; at += size + 1) {
		size = strnlen(text + at, command->argv_size - at);
		json_put_string(json, NULL, text + at, size);
	}
	json_close_array(json);
	json_put_bool(json, "is_cut", text[command->argv_size - 1] != '\0');
	if (command->code_size > 0)
		json_put_string(json, "code", text + command->argv_size, command->code_size);
}

static void print_command(const void *item)
{
	const struct background *command = item;

	if (command->note.command.argv_size > 0)
		sandbox_history_print(&command->note.command);
	else
		(void)putchar('?');
}

static void write_command(struct json_writer *json, const struct background *command)
{
	static const char *const states[] = { [BACKGROUND_RUNNING] = "running",
					      [BACKGROUND_ENDED] = "ended",
					      [BACKGROUND_LOST] = "lost" };
	const struct background_note *note = &command->note;

	json_put_text_or_null(json, "id", command->id);
	json_put_text(json, "sandbox", command->sandbox);
	json_put_text(json, "state", states[command->state]);
	write_arguments(json, &note->command);
	if (note->wall_ms > 0)
		json_put_number(json, "wall_ms", note->wall_ms);
	if (command->state != BACKGROUND_ENDED)
		return;
	json_put_number(json, "ended_s", note->ended_us / 1000000);
	json_put_number(json, "exit_code", note->exit_code);
	json_put_text(json, "verdict",
		      note->verdict < VERDICT_COUNT ? verdict_name(note->verdict) : "internal");
	json_put_number(json, "output_bytes", note->output_bytes);
	json_put_number(json, "lost_bytes", note->lost_bytes);
}

/* Give the cells or members of a command. */
static void put_command(struct rows *shown, const struct listing *listing,
			const struct background *command)
{
	const char *name = sandbox_name(listing, command->sandbox);
	char state[STATE_MAX];

	rows_next(shown);
	describe_state(command, state);
	rows_text(shown, "ID    ", NULL, command->id);
	rows_cell(shown, "SANDBOX", name[0] ? name : command->sandbox);
	rows_cell(shown, "STATE    ", state);
	if (command->note.begun_us > 0)
		rows_moment(shown, "SINCE     ", "begun_s", command->note.begun_us / 1000000);
	else
		rows_cell(shown, "SINCE     ", "?");
	rows_last(shown, "COMMAND", print_command, command);
	if (!shown->json)
		return;
	json_put_text(shown->json, "name", name);
	write_command(shown->json, command);
}

static int show_listing(const struct listing *listing)
{
	static struct rows shown;

	shown.is_json = listing->options->is_json;
	rows_begin(&shown, "commands");
	for (size_t i = 0; i < listing->count; i++) {
		if (!shown.json && everywhere.is_quiet)
			(void)puts(listing->commands[i].id);
		else
			put_command(&shown, listing, &listing->commands[i]);
	}
	if (!shown.json && listing->count == 0)
		everywhere_note("no command to show: 'msp exec -d SANDBOX -- CMD' starts one");
	rows_end(&shown);
	return command_judge_output(rows_finish(&shown), 0);
}

/* --- the command ------------------------------------------------------------------------------ */

/* Ask for the sandboxes; `word` becomes the id of the one that is meant, if it is not empty. 0, or
 * the exit code after a line. */
static int ask_sandboxes(struct listing *listing, char word[IPC_NAME_MAX])
{
	static const struct ask_handlers handlers = { .on_sandbox = on_sandbox };
	static struct question question = { .kind = ASK_LIST, .is.list.is_everybody = 1 };
	static struct asking asking;
	int code = ask_begin(&asking, &listing->options->attach);

	if (!code)
		code = ask_resolve(&asking, word, listing->options->is_json);
	(void)sandbox_search_begin(&listing->search, word); /* it may be a name */
	if (!code)
		code = ask(&asking, &question, &handlers, listing);
	code = ask_end(&asking, code);
	return !code && word[0] ? resolve_word(listing, word) : code;
}

static int run_ps(const struct command *command, int argc, char *argv[])
{
	static struct ps_options options = { .attach.limits = LIMITS_UNSAID };
	static struct command_words words = { .most = 1 };
	static struct listing listing = { .options = &options };
	char word[IPC_NAME_MAX] = "";
	int shown;
	int code;

	if (!command_parse_words(command, argc, argv, &options, &words, &code) ||
	    (words.count > 0 && !command_check_sandbox(command, words.list[0], &code)))
		return code;
	command_name_lines(command);
	if (words.count > 0)
		format_text(word, sizeof(word), "%s", words.list[0]);
	/* Ids alone are in the files, also while the service is full. */
	code = everywhere.is_quiet && !options.is_json && !word[0]
		       ? launch_become_account(options.attach.config, options.attach.run_as)
		       : ask_sandboxes(&listing, word);
	if (code && word[0])
		return code;
	/* Without an answer only the names of sandboxes are missing. */
	listing.sandbox = word[0] ? word : NULL;
	find_commands(&listing);
	shown = show_listing(&listing);
	return code ? code : shown;
}

const struct command command_ps = {
	.name = "ps",
	.operands = "[SANDBOX]",
	.summary = "show the commands that run in sandboxes",
	.help = help,
	.options = { OPTION_ROWS(rows), .has_operands = true, .has_recent = true },
	.run = run_ps,
};
