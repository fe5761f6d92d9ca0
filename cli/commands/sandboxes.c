/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp list`, `msp stop`, `msp destroy`: the persistent sandboxes. `msp bridge --list` and
 * `--close`: their bridges.
 */
#include "commands/sandboxes.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ask/ask.h"
#include "ask/recent.h"
#include "common/fd.h"
#include "common/ipc/ipc_persistent.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/holder.h"
#include "launcher/start/config.h"
#include "lib/heap/buffer.h"
#include "options/command.h"
#include "options/everywhere.h"
#include "show/figures.h"
#include "show/print.h"
#include "show/rows.h"
#include "show/sandbox_text.h"

/* --- list ----------------------------------------------------------------------------------- */

struct list_options {
	struct attach_options attach;
	bool is_all;
	bool is_json;
};

static const struct option_row list_rows[] = {
	OPTION(struct list_options, "all", NULL, option_set_flag, is_all,
	       "those of the clients of an HTTP server too, with who owns them"),
	OPTION(struct list_options, "json", NULL, option_set_flag, is_json,
	       "print one JSON object"),
	ATTACH_ROWS(struct list_options, attach),
};

static const char list_help[] =
	"Show the persistent sandboxes, yours and those of clients that you start,\n"
	"the most recently used first. STATE is\n"
	"  cold       files only\n"
	"  live       its processes are ready, and none of its commands runs\n"
	"  running N  so many commands run in it\n"
	"  elsewhere  another msp has it\n"
	"  damaged    its files cannot be used; the others are not touched by that\n"
	"\n"
	"NAME is -1, -2, ... for the last runs over this project, which these words mean\n"
	"in other commands.\n"
	"\n"
	"DISK is the size of its own files, as last counted. EXPIRES is the time of\n"
	"its removal, unless it is used before. WORKSPACE is the directory that it\n"
	"shows, copy-on-write unless another mode stands there. --json has times in\n"
	"seconds since 1970. 'msp list -q' prints one word for each sandbox: its name,\n"
	"or its id where it has none.\n";

static void on_listed(void *context, const struct ipc_sandbox_info *info)
{
	sandbox_list_add(context, info);
}

/* Put -1, -2, ... in the place of the name that a run's sandbox lacks. */
static void name_runs(struct sandbox_list *list)
{
	static struct recent_ids runs;

	recent_list(&runs);
	for (size_t i = 0; i < list->count; i++) {
		struct ipc_sandbox_info *info = &list->infos[i];

		for (int run = 0; run < runs.count && !info->name[0]; run++) {
			if (strcmp(info->id, runs.ids[run]) == 0)
				format_text(info->name, sizeof(info->name), "-%d", run + 1);
		}
	}
}

static int show_list(struct sandbox_list *list, const struct list_options *options)
{
	static struct rows rows;

	rows.is_json = options->is_json;
	if (!rows.is_json && list->count == 0)
		everywhere_note("there is no sandbox: 'msp create' makes one");
	if (!rows.is_json && !everywhere.is_quiet)
		name_runs(list);
	if (rows.is_json || !everywhere.is_quiet)
		return command_judge_output(sandbox_list_print(list, &rows, options->is_all), 0);
	for (size_t i = 0; i < list->count; i++)
		(void)puts(list->infos[i].name[0] ? list->infos[i].name : list->infos[i].id);
	return command_judge_output(print_flush(), 0);
}

int sandboxes_each(const struct attach_options *options, bool is_everybody,
		   void (*on_sandbox)(void *context, const struct ipc_sandbox_info *info),
		   void *context)
{
	const struct ask_handlers wanted = { .on_sandbox = on_sandbox };
	static struct question question = { .kind = ASK_LIST };

	question.is.list.is_everybody = is_everybody;
	return ask_once(options, &question, &wanted, context);
}

static int run_list(const struct command *command, int argc, char *argv[])
{
	static struct list_options options = { .attach.limits = LIMITS_UNSAID };
	static struct sandbox_list list;
	int rest;
	int code;

	if (!command_parse(command, argc, argv, &options, &rest, &code))
		return code;
	command_name_lines(command);
	code = sandboxes_each(&options.attach, options.is_all, on_listed, &list);
	return code ? code : show_list(&list, &options);
}

const struct command command_list = {
	.name = "list",
	.operands = "",
	.summary = "show the persistent sandboxes",
	.help = list_help,
	.options = { OPTION_ROWS(list_rows) },
	.run = run_list,
};

/* --- stop, destroy -------------------------------------------------------------------------- */

struct end_options {
	struct attach_options attach;
	bool is_all;
	bool is_agreed;
};

static const struct option_row stop_rows[] = {
	ATTACH_ROWS(struct end_options, attach),
};

static const struct option_row destroy_rows[] = {
	OPTION(struct end_options, "all", NULL, option_set_flag, is_all,
	       "remove all of your sandboxes, those of clients that you start included; in a "
	       "terminal after a question"),
	OPTION(struct end_options, "yes", NULL, option_set_flag, is_agreed,
	       "with --all: do not ask"),
	ATTACH_ROWS(struct end_options, attach),
};

static const char stop_help[] =
	"End what runs in each SANDBOX. Its files stay, and the next 'msp exec' goes on\n"
	"with them. What an agent runs in it is ended too; without the service also a\n"
	"command of another terminal or in the background, but no 'msp serve'.\n"
	"\n"
	"SANDBOX is the name, the id, or the first four or more characters of the id.\n"
	"The exit code is 0; 64 where there is no such sandbox; 75 where another msp has\n"
	"it, which is then named. With several, each is tried, and the exit code is that\n"
	"of the first failure.\n";

static const char destroy_help[] =
	"End what runs in each SANDBOX and remove it with its files and checkpoints.\n"
	"What was not taken over with 'msp apply' is gone; only --all asks before. The\n"
	"directory that it showed is not touched, and sandboxes that were forked from it\n"
	"stay. The files are removed in the background, and nobody waits for that.\n"
	"\n"
	"SANDBOX is the name, the id, or the first four or more characters of the id.\n"
	"The exit code is 0; 64 where there is no such sandbox; 75 where another msp has\n"
	"it. With several, each is tried, and the exit code is that of the first\n"
	"failure.\n";

static int end_one(struct asking *asking, const char *word, const char *sandbox, uint32_t how)
{
	static struct question question;
	int code;

	memset(&question, 0, sizeof(question));
	question.kind = ASK_END;
	question.words.sandbox = word;
	question.is.end.how = how;
	question.act = "ending what runs in the sandbox";
	format_text(question.is.end.sandbox, sizeof(question.is.end.sandbox), "%s", sandbox);
	question.is_tried = how == SANDBOX_END_STOP;
	code = ask(asking, &question, NULL, NULL);
	if (question.is_tried && ask_is_elsewhere(asking)) {
		/* Its holder is no service: what runs there ends with the holder. */
		(void)holder_end(asking->talk.outcome.refused.detail);
		question.is_tried = false;
		code = ask(asking, &question, NULL, NULL);
	}
	/* A line that stays names a sandbox that is gone, and says so when it is used. */
	if (!code && how == SANDBOX_END_DESTROY)
		(void)recent_drop(question.is.end.sandbox);
	return code;
}

/* Replace each -N at once: the first end would shift the others. 0, or the exit code. */
static int name_each(struct asking *asking, const struct command_words *words,
		     char names[][IPC_NAME_MAX])
{
	int code = 0;

	for (int i = 0; i < words->count && !code; i++) {
		format_text(names[i], IPC_NAME_MAX, "%s", words->list[i]);
		code = ask_resolve(asking, names[i], false);
	}
	return code;
}

static int end_each(const struct command_words *words, const struct attach_options *attach,
		    uint32_t how)
{
	static char names[COMMAND_WORDS_MAX][IPC_NAME_MAX];
	static struct asking asking;
	int first = 0;
	int code = ask_begin(&asking, attach);

	if (!code)
		code = name_each(&asking, words, names);
	if (code)
		return ask_end(&asking, code);
	for (int i = 0; i < words->count && !ask_is_over(&asking); i++) {
		code = end_one(&asking, words->list[i], names[i], how);
		if (!first)
			first = code;
	}
	return ask_end(&asking, first);
}

/* Keep the id of each sandbox, with a NUL behind it. */
static void keep_id(void *context, const struct ipc_sandbox_info *info)
{
	buffer_append(context, info->id, strlen(info->id) + 1);
}

/* Ask, unless that was agreed to. 0 with the answer, or the exit code. */
static int ask_about_all(struct asking *asking, const struct end_options *options, size_t count,
			 bool *ret_is_yes)
{
	char text[OPTIONS_TEXT_MAX];

	*ret_is_yes = options->is_agreed;
	if (*ret_is_yes)
		return 0;
	format_text(text, sizeof(text), "Remove %zu sandbox%s with all files and checkpoints?",
		    count, count == 1 ? "" : "es");
	return ask_person(asking, text, ret_is_yes);
}

static int destroy_all(const struct end_options *options)
{
	static const struct ask_handlers handlers = { .on_sandbox = keep_id };
	static struct question list = { .kind = ASK_LIST };
	static struct asking asking;
	struct buffer ids = { 0 };
	bool is_yes = false;
	int first = 0;
	int code = ask_begin(&asking, &options->attach);

	if (!code)
		code = ask(&asking, &list, &handlers, &ids);
	if (!code && ids.size > 0)
		code = ask_about_all(&asking, options, ids.size / IPC_ID_MAX, &is_yes);
	for (size_t at = 0; is_yes && at < ids.size && !ask_is_over(&asking); at += IPC_ID_MAX) {
		code = end_one(&asking, ids.bytes + at, ids.bytes + at, SANDBOX_END_DESTROY);
		if (!first)
			first = code;
	}
	buffer_done(&ids);
	return ask_end(&asking, first ? first : code);
}

static const char *find_conflict(const struct end_options *options, int count)
{
	if (options->is_all && count > 0)
		return "--all names each sandbox: leave it or the names out";
	if (options->is_agreed && !options->is_all)
		return "--yes is for --all";
	if (options->is_all && !options->is_agreed && !isatty(STDIN_FILENO))
		return "--all asks in a terminal: without one, --yes is needed too";
	return NULL;
}

static int end_with(const struct command *command, int argc, char *argv[], uint32_t how)
{
	static struct end_options options = { .attach.limits = LIMITS_UNSAID };
	static struct command_words words = { .most = COMMAND_WORDS_MAX };
	const char *conflict;
	int code;

	if (!command_parse_words(command, argc, argv, &options, &words, &code))
		return code;
	conflict = find_conflict(&options, words.count);
	if (conflict)
		return command_usage_error(command, "%s", conflict);
	if (words.count == 0 && !options.is_all)
		return command_usage_error(command, "a sandbox is missing: msp %s SANDBOX...",
					   command->name);
	for (int i = 0; i < words.count; i++) {
		if (!command_check_sandbox(command, words.list[i], &code))
			return code;
	}
	command_name_lines(command);
	return options.is_all ? destroy_all(&options) : end_each(&words, &options.attach, how);
}

static int run_stop(const struct command *command, int argc, char *argv[])
{
	return end_with(command, argc, argv, SANDBOX_END_STOP);
}

static int run_destroy(const struct command *command, int argc, char *argv[])
{
	return end_with(command, argc, argv, SANDBOX_END_DESTROY);
}

const struct command command_stop = {
	.name = "stop",
	.operands = "SANDBOX...",
	.summary = "end what runs in a sandbox; its files stay",
	.help = stop_help,
	.options = { OPTION_ROWS(stop_rows), .has_operands = true, .has_recent = true },
	.run = run_stop,
};

const struct command command_destroy = {
	.name = "destroy",
	.operands = "SANDBOX... | --all",
	.summary = "remove a sandbox with its files",
	.help = destroy_help,
	.options = { OPTION_ROWS(destroy_rows), .has_operands = true, .has_recent = true },
	.run = run_destroy,
};

/* --- bridge --list and --close ---------------------------------------------------------------- */

#define BRIDGES_MS 5000 /* the end of a bridge may take a moment */

static struct ipc_bridge_info bridges[64];
static size_t bridge_count;

/* Return the name of its sandbox, or the id of one without a name. */
static const char *sandbox_called(const struct ipc_bridge_info *bridge)
{
	return bridge->name[0] ? bridge->name : bridge->sandbox;
}

/* Take what comes until the path opener closes the channel. 0 or -errno. */
static int take_bridges(int fd)
{
	const struct channel channel = { fd, IPC_FRONTEND, IPC_LAUNCHER, IPC_SERVE };
	static struct channel_message message;
	struct pollfd entry = { .fd = fd, .events = POLLIN };
	enum ipc_error wrong;

	while (poll(&entry, 1, BRIDGES_MS) > 0) { /* signals are blocked */
		if (channel_receive(&channel, &message, 0, &wrong) != 1)
			return wrong ? -EPROTO : 0;
		if (bridge_count == sizeof(bridges) / sizeof(bridges[0]))
			return -EPROTO;
		bridges[bridge_count++] = *ipc_body(&message, bridge_info);
	}
	return -ETIMEDOUT;
}

/* Ask the path opener. 0 or -errno. */
static int look_at_bridges(struct asking *asking, uint32_t close)
{
	const struct ipc_bridge_look look = { close };
	int ends[2];
	int error = channel_pair(ends);

	if (error)
		return error;
	error = supervisor_request(&asking->talk.client, bridge_look, &look, ends[1]);
	if (!error)
		error = take_bridges(ends[0]);
	fd_close(&ends[0]);
	return error;
}

/* Ask for the bridges, or close one. Return the exit code. */
static int ask_for_bridges(const struct attach_options *attach, uint32_t close)
{
	static struct asking asking;
	int code = ask_begin(&asking, attach);
	const int error = code ? 0 : look_at_bridges(&asking, close);

	code = ask_end(&asking, code);
	if (code || !error)
		return code;
	return log_fail(MSP_EXIT_SOFTWARE, "%s: %s",
			bridge_count > 0 ? "the bridge does not end" : "asking for the bridges",
			errno_text(-error));
}

static int print_bridges(bool is_json)
{
	static struct rows rows;
	const uint64_t now_s = (uint64_t)time(NULL);
	char since[FIGURES_TEXT_MAX];

	rows.is_json = is_json;
	rows_begin(&rows, "bridges");
	for (size_t i = 0; i < bridge_count; i++) {
		const struct ipc_bridge_info *is = &bridges[i];

		if (is_json) {
			rows_next(&rows);
			json_put_number(rows.json, "host_port", is->host_port);
			json_put_number(rows.json, "port", is->port);
			json_put_text(rows.json, "sandbox", is->sandbox);
			json_put_text(rows.json, "name", is->name);
			json_put_number(rows.json, "since_s", is->since_s);
		} else if (everywhere.is_quiet) {
			(void)printf("%u\n", is->host_port);
		} else {
			(void)printf("127.0.0.1:%-5u  port %-5u of %s, opened %s\n", is->host_port,
				     is->port, sandbox_called(is),
				     figures_moment(is->since_s, now_s, since));
		}
	}
	if (bridge_count == 0 && !is_json)
		everywhere_note("no bridge is open: 'msp bridge SANDBOX PORT' opens one");
	rows_end(&rows);
	return rows_finish(&rows);
}

int bridges_list(const struct attach_options *attach, bool is_json)
{
	const int code = ask_for_bridges(attach, 0);

	if (code)
		return code;
	return command_judge_output(print_bridges(is_json), 0);
}

int bridges_close(const struct attach_options *attach, uint32_t host_port)
{
	const int code = ask_for_bridges(attach, host_port);

	if (code)
		return code;
	if (bridge_count == 0)
		return log_fail(MSP_EXIT_USAGE,
				"no bridge has port %u of this machine: 'msp bridge --list' shows "
				"those that are open",
				host_port);
	everywhere_note("the bridge to port %u of sandbox '%s' is closed", bridges[0].port,
			sandbox_called(&bridges[0]));
	return 0;
}
