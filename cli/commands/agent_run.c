/* SPDX-License-Identifier: Apache-2.0
 *
 * The run of an agent: in a terminal that msp holds, or with the caller's streams.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "background/output.h"
#include "commands/agent.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/text/format.h"
#include "held/held.h"
#include "launcher/host/state_place.h"
#include "options/everywhere.h"

/* An agent that cannot go on with its last session says so at once. */
#define RESUME_FAILS_US 5000000

/* Far longer than a keeper needs from the end of the terminal to its own. */
#define END_MS 2000
#define STEP_MS 50

void agent_watch_keys(struct agent_set *set)
{
	for (uint32_t i = 0; i < set->key_count; i++) {
		const int error = agent_key_watch(&set->keys[i]);

		if (error)
			log_line("the file %s stays until the next start: %s", set->keys[i].path,
				 errno_text(-error));
	}
}

void agent_leave_keys(struct agent_set *set)
{
	for (uint32_t i = 0; i < set->key_count; i++)
		agent_key_done(&set->keys[i]);
}

/* Remember what runs. A failure is said: the agent runs nevertheless. */
static void remember_run(const struct agent_record *record)
{
	char text[STATE_PLACE_TEXT_MAX];

	if (agent_record_write(record, text) != 0)
		log_line("this run is not remembered: %s", text);
}

/* Say that the agent goes on, or ask for the review of its end. */
static int settle_end(struct agent_run *run, const struct held_end *end)
{
	char call[AGENT_CALL_MAX];
	int code;

	switch (end->how) {
	case HELD_DETACHED:
	case HELD_HUNG_UP:
		everywhere_note("%s goes on: 'msp agent %s' attaches to it again, 'msp kill %s' "
				"ends it",
				run->record.agent, agent_call(&run->record, call),
				run->record.command);
		return end->code;
	case HELD_LOST:
	case HELD_ENDED:
		break;
	}
	code = agent_review(run);
	return end->code ? end->code : code;
}

/* --- the terminal ----------------------------------------------------------------------------- */

static void print_output(const struct background *command)
{
	static struct output_piece piece;
	struct output_reader reader = { .directory = command->directory };

	output_open(&reader, command->directory);
	while (output_next(&reader, &piece))
		(void)fd_write_all(STDOUT_FILENO, piece.bytes, piece.size); /* as far as it goes */
	output_close(&reader);
}

/* Show what an agent has written that ended before the terminal was attached. False: it goes on. */
static bool show_ended(const struct agent_record *record, struct held_end *ret)
{
	char text[STATE_PLACE_TEXT_MAX];
	int sandboxes FD_OWNED = background_open_sandboxes(text);
	static struct background command;
	bool is_ended;

	if (sandboxes < 0 || background_find(sandboxes, record->command, &command) != 1)
		return false;
	is_ended = command.state == BACKGROUND_ENDED;
	if (is_ended) {
		print_output(&command);
		(void)fd_write_all(STDERR_FILENO, command.note.lines, command.note.lines_size);
		*ret = (struct held_end){ HELD_ENDED, (int)command.note.exit_code };
	}
	background_close(&command);
	return is_ended;
}

/* Wait a while for the end of an agent whose terminal is gone: its keeper writes the end last. */
static bool await_ended(const struct agent_record *record, struct held_end *ret)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000L };

	for (int i = 0; i < END_MS / STEP_MS; i++) {
		if (show_ended(record, ret))
			return true;
		(void)nanosleep(&step, NULL); /* a shorter pause is as good */
	}
	return false;
}

/* Attach the terminal to the agent until one of both leaves. 0, or the exit code after a line. */
static int attach_terminal(struct agent_run *run, struct held_end *ret)
{
	static const struct held_options options;
	int code = 0;

	*ret = (struct held_end){ .how = HELD_LOST };
	if (!show_ended(&run->record, ret))
		code = held_attach(run->record.command, &options, ret);
	if (code && code != MSP_EXIT_AGAIN && await_ended(&run->record, ret))
		code = 0;
	return code;
}

/* --- sessions --------------------------------------------------------------------------------- */

/* Has the agent a session that it can go on with? A login and the person's own words leave none. */
static void note_session(struct agent_run *run)
{
	run->record.has_session |= !run->arguments[0] && !run->options->is_login;
	remember_run(&run->record);
}

/* Did the agent fail at once? A signal is the person's. */
static bool has_failed(uint64_t begun_us, int code)
{
	return code > 0 && code < MSP_EXIT_TIMEOUT && clock_now_us() - begun_us < RESUME_FAILS_US;
}

/* Forget the session of an agent that could not begin it, or not go on with it. */
static void forget_session(struct agent_run *run)
{
	run->record.has_session = false;
	if (agent_has_sandbox(&run->record))
		remember_run(&run->record);
}

/* --- the run ---------------------------------------------------------------------------------- */

/* Start the agent, and attach the terminal to it. 0 with how it was left, or the exit code. */
static int start_in_terminal(struct agent_run *run, struct held_end *ret)
{
	const struct execute what = { .options = &run->options->execute,
				      .profile = "",
				      .sandbox = run->record.id,
				      .words = run->words };
	struct background_start start;
	pid_t bridge;
	int code = held_start(&what, NULL, &start);

	if (code)
		return code;
	format_text(run->record.command, sizeof(run->record.command), "%s", start.id);
	note_session(run);
	bridge = agent_begin_bridge(run);
	code = attach_terminal(run, ret);
	agent_end_bridge(bridge);
	return code;
}

static int run_in_terminal(struct agent_run *run)
{
	const uint64_t begun_us = clock_now_us();
	struct held_end end;
	int code = start_in_terminal(run, &end);
	bool is_failed = !code && end.how == HELD_ENDED && has_failed(begun_us, end.code);

	if (is_failed)
		forget_session(run);
	if (is_failed && run->is_resumed) {
		everywhere_note("it could not go on with its session, and begins a new one");
		code = agent_fill_words(run);
		if (!code)
			code = start_in_terminal(run, &end);
	}
	return code ? code : settle_end(run, &end);
}

/* Run it with the caller's streams. The exit code. */
static int run_with_streams(struct agent_run *run)
{
	const struct execute what = { .options = &run->options->execute,
				      .profile = "",
				      .sandbox = run->record.id,
				      .words = run->words };
	const uint64_t begun_us = clock_now_us();
	int code;

	note_session(run);
	code = execute(&what);
	(void)agent_apart(run, agent_count); /* it has said why it cannot count */
	if (!has_failed(begun_us, code))
		return code;
	forget_session(run);
	if (run->is_resumed)
		everywhere_note("it could not go on with its session: its next start here begins a "
				"new one");
	return code;
}

int agent_start(struct agent_run *run)
{
	return run->has_terminal ? run_in_terminal(run) : run_with_streams(run);
}

int agent_join(struct agent_run *run)
{
	char call[AGENT_CALL_MAX];
	struct held_end end;
	int code;

	if (!run->has_terminal || run->arguments[0] || run->options->is_login)
		return log_fail(MSP_EXIT_AGAIN,
				"'%s' runs here already: 'msp agent %s' in a terminal attaches to "
				"it, 'msp kill %s' ends it, and --name=WORD starts a second one",
				agent_call(&run->record, call), run->record.agent,
				run->record.command);
	code = attach_terminal(run, &end);
	return code ? code : settle_end(run, &end);
}
