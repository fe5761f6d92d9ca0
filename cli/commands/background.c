/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp attach`, `msp wait` and `msp kill`: one background command, by its id. They read what its
 * keeper has written, and need no supervisor.
 */
#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "ask/attach.h"
#include "background/note.h"
#include "background/output.h"
#include "commands/running_in.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/text/format.h"
#include "held/held.h"
#include "held/keys.h"
#include "held/modes.h"
#include "launcher/host/process_end.h"
#include "launcher/host/state_place.h"
#include "launcher/start/launch.h"
#include "options/command.h"
#include "show/confirm.h"
#include "show/figures.h"
#include "show/print.h"

#define EXIT_ENDED 1 /* there is nothing to end */
#define STEP_MS 100  /* soon enough for somebody who looks on; costs nothing */

struct one_options {
	const char *config;
	const char *run_as;
	uint64_t last;
	const char *detach_keys;
	bool is_taking;
};

/* The options with which a start by root finds the account whose commands are meant. */
#define ACCOUNT_ROWS                                                                               \
	OPTION_CONFIG(struct one_options, config),                                                 \
		OPTION_RUN_AS_CONFIGURED(struct one_options, run_as, true)

static const struct option_row rows[] = { ACCOUNT_ROWS };

static const char *set_detach_keys(void *member, const char *value)
{
	struct held_keys keys;
	const char *rule = held_keys_parse(&keys, value);

	if (!rule)
		*(const char **)member = value;
	return rule;
}

static const struct option_row attach_rows[] = {
	OPTION_LETTER(struct one_options, 'n', "tail", "N", option_set_last, last,
		      "begin with the last N lines, 0 for all (the default); -n N is the same"),
	OPTION(struct one_options, "detach-key", "KEYS", set_detach_keys, detach_keys,
	       "the key that leaves a command's terminal, or two, one after the other (the "
	       "default: 'ctrl-\\,d'; 'none': no key)"),
	OPTION(struct one_options, "detach", NULL, option_set_flag, is_taking,
	       "detach another terminal from the command first; without a terminal of your own, "
	       "only that"),
	ACCOUNT_ROWS,
};

static const char attach_help[] =
	"Show what the background command ID has written, from the beginning or its last\n"
	"lines, on standard output and standard error, and go on until it ends. Ctrl-C\n"
	"ends this only: the command goes on. Where its output was dropped, because only\n"
	"the newest 3 to 4 MiB are kept or the disk was full, a line on standard error\n"
	"says how much.\n"
	"\n"
	"If 'msp exec -d -t' has given the command a terminal, yours is connected to it:\n"
	"keys and size go to the command. ctrl-\\ and then d detach yours as it was, and\n"
	"the command goes on; it also does if yours is closed. Another terminal that is\n"
	"attached is left alone, unless --detach says otherwise.\n"
	"\n"
	"ID is what 'msp exec -d' printed, or its first three or more characters. SANDBOX\n"
	"means the only one that runs there: its name, id, or -1 for the last 'msp run\n"
	"--workspace'. Without either, the only command that runs is meant, or, if none\n"
	"runs, the only one that has ended. The exit code is that of the command, as with\n"
	"'msp exec', or\n"
	"  0    the terminal was detached\n"
	"  64   there is no such command, or several can be meant\n"
	"  75   another terminal is attached\n"
	"  125  it was lost: the process of msp that kept it was killed, and the command\n"
	"       with it\n";

static const char wait_help[] =
	"Wait until the background command ID has ended, say what 'msp exec' would say of\n"
	"the end, and exit with its code; at once if it has ended already. Ctrl-C ends\n"
	"this only: the command goes on.\n"
	"\n"
	"ID is what 'msp exec -d' printed, or its first three or more characters. Without\n"
	"it, the only command that runs is meant, or, if none runs, the only one that has\n"
	"ended. The exit code is that of the command, as with 'msp exec', or\n"
	"  64   there is no such command, or several can be meant\n"
	"  125  it was lost: the process of msp that kept it was killed, and the command\n"
	"       with it\n";

static const char kill_help[] =
	"End each background command ID, or the only one that runs, with all of its\n"
	"processes, and wait for that. Its output stays for 'msp attach', and 'msp wait'\n"
	"gives the exit code 143.\n"
	"\n"
	"ID is what 'msp exec -d' printed, or its first three or more characters. The\n"
	"exit code is 0; 1 where it had ended already; 64 where there is no such command.\n"
	"With several, each is tried, and the exit code is that of the first failure.\n";

/* --- which one ----------------------------------------------------------------------------------
 */

static int refuse_word(const char *word, uint32_t found)
{
	if (found > 1)
		log_line("'%s' is no command: %u ids begin with it: type more of the one that is "
			 "meant",
			 word, found);
	else
		log_line("there is no background command '%s': 'msp ps --ended' shows those that "
			 "there are; one is gone with its sandbox",
			 word);
	return MSP_EXIT_USAGE;
}

/* The commands that can be meant without an id. */
struct only {
	uint32_t running, ended;
	char running_id[BACKGROUND_ID_MAX], ended_id[BACKGROUND_ID_MAX]; /* the last one's */
};

static void count_command(void *context, const struct background *command)
{
	struct only *only = context;
	const bool is_running = command->state == BACKGROUND_RUNNING;

	*(is_running ? &only->running : &only->ended) += 1;
	format_text(is_running ? only->running_id : only->ended_id, BACKGROUND_ID_MAX, "%s",
		    command->id);
}

/* Choose the only command that runs; without one, and not to end it, the only one that has ended.
 * NULL: the exit code is *ret_exit, after a line. */
static const char *choose_only(const struct only *only, bool is_to_end, int *ret_exit)
{
	*ret_exit = MSP_EXIT_USAGE;
	if (only->running == 1)
		return only->running_id;
	if (only->running == 0 && only->ended == 1 && !is_to_end)
		return only->ended_id;
	if (only->running > 1)
		log_line("an id is needed, since %u background commands run: 'msp ps' shows them",
			 only->running);
	else if (only->ended > 1 && !is_to_end)
		log_line("an id is needed, since no background command runs, and %u have ended: "
			 "'msp ps --ended' shows them",
			 only->ended);
	else
		log_line("no background command runs: 'msp exec -d SANDBOX -- CMD' starts one");
	return NULL;
}

/* Find the command; `word` may be NULL if only one can be meant, and with `options` a sandbox. 0,
 * or the exit code after a line. */
static int find_command(const char *word, const struct attach_options *options, bool is_to_end,
			struct background *ret)
{
	static char running[BACKGROUND_ID_MAX];
	char text[STATE_PLACE_TEXT_MAX];
	int sandboxes FD_OWNED = background_open_sandboxes(text);
	struct only only = { 0 };
	uint32_t found = 0;
	int code = 0;

	if (sandboxes < 0 && sandboxes != -ENOENT)
		return log_fail(MSP_EXIT_REFUSED, "background commands are not known: %s", text);
	if (!word && sandboxes >= 0)
		background_each(sandboxes, count_command, &only);
	if (!word)
		word = choose_only(&only, is_to_end, &code);
	if (!word)
		return code;
	if (sandboxes >= 0)
		found = background_find(sandboxes, word, ret);
	if (found == 0 && sandboxes >= 0 && options) {
		const int named = running_in_find(sandboxes, word, options, running);

		if (named < 0)
			return MSP_EXIT_USAGE;
		if (named > 0)
			found = background_find(sandboxes, running, ret);
	}
	return found == 1 ? 0 : refuse_word(word, found);
}

/* Parse the words, and become the account. True: the words are ids, if there is one. */
static bool begin_command(const struct command *command, int argc, char *argv[],
			  struct one_options *options, struct command_words *words, int *ret_exit)
{
	if (!command_parse_words(command, argc, argv, options, words, ret_exit))
		return false;
	command_name_lines(command);
	*ret_exit = launch_become_account(options->config, options->run_as);
	return *ret_exit == 0;
}

/* --- wait ---------------------------------------------------------------------------------------
 */

static int run_wait(const struct command *command, int argc, char *argv[])
{
	static struct one_options options;
	static struct command_words words = { .most = 1 };
	static struct background found;
	int error;
	int code;

	if (!begin_command(command, argc, argv, &options, &words, &code))
		return code;
	code = find_command(words.list[0], NULL, false, &found);
	if (code)
		return code;
	error = background_await(&found);
	if (error)
		return log_fail(MSP_EXIT_SOFTWARE, "%s cannot be waited for: %s", found.id,
				errno_text(-error));
	return background_explain(&found);
}

/* --- attach -------------------------------------------------------------------------------------
 */

struct showing {
	uint64_t last;    /* lines to show; UINT64_MAX: all */
	uint64_t lines;   /* newlines that were seen */
	uint64_t skip;    /* newlines before the first byte that is shown */
	bool is_counting; /* the pieces are counted, not shown */
	bool is_open;     /* the last byte was no newline */
	bool is_held;     /* the command has a terminal */
	int error;        /* -errno of print_part() */
	struct modes modes;
	struct output_reader reader;
	struct output_piece piece;
};

static void say_dropped(uint64_t bytes)
{
	char figure[FIGURES_TEXT_MAX];

	log_line("%s of the output were dropped here", figures_bytes(bytes, figure));
}

/* Return where what is shown of the piece begins. */
static size_t skip_lines(struct showing *showing)
{
	const struct output_piece *piece = &showing->piece;
	size_t at = 0;

	while (at < piece->size && showing->lines < showing->skip)
		showing->lines += piece->bytes[at++] == '\n';
	return at;
}

static void count_lines(struct showing *showing)
{
	const struct output_piece *piece = &showing->piece;

	for (size_t i = 0; i < piece->size; i++)
		showing->lines += piece->bytes[i] == '\n';
	if (piece->size > 0)
		showing->is_open = piece->bytes[piece->size - 1] != '\n';
}

/* Print what a terminal has shown, without what another one would obey or answer. */
static void print_part(void *context, enum modes_part part, const uint8_t *bytes, size_t size)
{
	struct showing *showing = context;

	if (part == MODES_SHOWN && !showing->modes.alternate && !showing->error)
		showing->error = fd_write_all(STDOUT_FILENO, bytes, size);
}

/* Take what there is now. 0 or -errno of a stream. */
static int show_pieces(struct showing *showing)
{
	const struct modes_taker taker = { .context = showing, .take = print_part };
	struct output_piece *piece = &showing->piece;
	bool is_one = true;
	int error = 0;

	while (is_one && !error) {
		size_t at = 0;

		is_one = output_next(&showing->reader, piece);
		if (piece->dropped > 0 && !showing->is_counting && showing->skip == 0)
			say_dropped(piece->dropped);
		if (!is_one)
			break;
		if (showing->is_counting) {
			count_lines(showing);
			continue;
		}
		at = skip_lines(showing);
		if (showing->is_held && isatty(STDOUT_FILENO)) {
			modes_read(&showing->modes, piece->bytes + at, piece->size - at, &taker);
			error = showing->error;
			continue;
		}
		error = fd_write_all(piece->is_stderr ? STDERR_FILENO : STDOUT_FILENO,
				     piece->bytes + at, piece->size - at);
	}
	return error;
}

/* Count the lines that there are, to know how many to skip. */
static void count_output(struct showing *showing, int directory)
{
	if (showing->last == UINT64_MAX)
		return;
	showing->is_counting = true;
	output_open(&showing->reader, directory);
	(void)show_pieces(showing);
	output_close(&showing->reader);
	showing->lines += showing->is_open;
	showing->skip = showing->lines > showing->last ? showing->lines - showing->last : 0;
	showing->lines = 0;
	showing->is_counting = false;
}

/* Show the output until the command has ended. 0 or -errno of a stream. */
static int follow_output(struct showing *showing, struct background *found)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000L };
	enum background_state state;
	int error;

	output_open(&showing->reader, found->directory);
	do {
		background_look(found);
		state = found->state; /* before the output: an ended command writes no more */
		error = show_pieces(showing);
		if (!error && state == BACKGROUND_RUNNING) {
			if (print_is_unread(0))
				error = -EPIPE;
			else
				(void)nanosleep(&step, NULL); /* a shorter pause is as good */
		}
	} while (!error && state == BACKGROUND_RUNNING);
	if (!error && state == BACKGROUND_ENDED && found->note.output_bytes > showing->reader.seen)
		say_dropped(found->note.output_bytes - showing->reader.seen);
	output_close(&showing->reader);
	return error;
}

/* Attach the person's terminal, or detach another one. The exit code. */
static int attach_terminal(struct background *found, const struct one_options *options)
{
	const struct held_options held = { .detach_keys = options->detach_keys,
					   .is_taking = options->is_taking };
	struct held_end end = { 0 };
	bool was_attached = false;
	int code;

	if (confirm_is_possible()) {
		code = held_attach_to(found, &held, &end);
		return code ? code : end.code;
	}
	code = held_evict(found, &was_attached);
	if (!code && !was_attached)
		return log_fail(EXIT_ENDED, "no terminal is attached to %s", found->id);
	return code;
}

static int run_attach(const struct command *command, int argc, char *argv[])
{
	static struct one_options options = { .last = UINT64_MAX };
	static struct attach_options attach = { .limits = LIMITS_UNSAID };
	static struct command_words words = { .most = 1 };
	static struct background found;
	static struct showing showing;
	int error;
	int code;

	if (!begin_command(command, argc, argv, &options, &words, &code))
		return code;
	attach.config = options.config;
	attach.run_as = options.run_as;
	code = find_command(words.list[0], &attach, false, &found);
	if (code)
		return code;
	if (options.is_taking && !held_is(&found))
		return command_usage_error(command, "--detach is for a command with a terminal, "
						    "which 'msp exec -d -t' starts");
	showing.is_held = held_is(&found);
	if (showing.is_held && found.state == BACKGROUND_RUNNING &&
	    (options.is_taking || confirm_is_possible()))
		return attach_terminal(&found, &options);
	(void)signal(SIGPIPE, SIG_IGN); /* a write without a reader is an error like others */
	showing.last = options.last;
	count_output(&showing, found.directory);
	error = follow_output(&showing, &found);
	if (!error)
		return background_explain(&found);
	if (error == -EPIPE)
		return MSP_EXIT_SIGNAL_BASE + SIGPIPE;
	return log_fail(MSP_EXIT_SOFTWARE, "the output cannot be written: %s", errno_text(-error));
}

/* --- kill ---------------------------------------------------------------------------------------
 */

static pid_t find_keeper(const void *found)
{
	return background_keeper(((const struct background *)found)->file);
}

/* End the command; NULL: the only one that runs. */
static int kill_one(const char *word)
{
	static struct background found;
	int code = find_command(word, NULL, true, &found);
	int error;

	if (code)
		return code;
	error = found.state == BACKGROUND_RUNNING
			? process_end(find_keeper, &found, PROCESS_END_FOREVER)
			: -ESRCH;
	if (error == -ESRCH)
		background_look(&found);
	if (error == -ESRCH && found.state == BACKGROUND_RUNNING)
		code = log_fail(MSP_EXIT_SOFTWARE,
				"%s cannot be ended from here, because another PID namespace has "
				"its process: 'msp stop %s' ends all that runs in its sandbox",
				found.id, found.sandbox);
	else if (error == -ESRCH)
		code = log_fail(EXIT_ENDED,
				"%s has ended already: 'msp wait %s' gives its exit code", found.id,
				found.id);
	else if (error)
		code = log_fail(MSP_EXIT_SOFTWARE, "%s cannot be ended: %s", found.id,
				errno_text(-error));
	background_close(&found);
	return code;
}

static int run_kill(const struct command *command, int argc, char *argv[])
{
	static struct one_options options;
	static struct command_words words = { .most = COMMAND_WORDS_MAX };
	int first = 0;
	int code;

	if (!begin_command(command, argc, argv, &options, &words, &code))
		return code;
	if (words.count == 0)
		return kill_one(NULL);
	for (int i = 0; i < words.count; i++) {
		code = kill_one(words.list[i]);
		if (!first)
			first = code;
	}
	return first;
}

/* --- the commands -------------------------------------------------------------------------------
 */

const struct command command_attach = {
	.name = "attach",
	.operands = "[ID|SANDBOX]",
	.summary = "show the output or the terminal of a background command",
	.help = attach_help,
	.options = { OPTION_ROWS(attach_rows), .has_operands = true, .has_recent = true },
	.run = run_attach,
};

const struct command command_wait = {
	.name = "wait",
	.operands = "[ID]",
	.summary = "wait for the end of a background command",
	.help = wait_help,
	.options = { OPTION_ROWS(rows), .has_operands = true },
	.run = run_wait,
};

const struct command command_kill = {
	.name = "kill",
	.operands = "[ID]...",
	.summary = "end background commands",
	.help = kill_help,
	.options = { OPTION_ROWS(rows), .has_operands = true },
	.run = run_kill,
};
