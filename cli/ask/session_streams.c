/* SPDX-License-Identifier: Apache-2.0 */
#include "ask/session_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_execution.h"
#include "common/log.h"
#include "frontend/nonblocking.h"

#define END_MS 200

static uint8_t buffers[STREAM_COUNT][RELAY_BUFFER_BYTES];

void session_begin_end(struct session *session)
{
	if (session->is_ending)
		return;
	session->is_ending = true;
	session->deadline_ms = session_now_ms() + END_MS;
	/* If the channel is broken, the supervisor ends everything by itself. */
	(void)supervisor_execution_end(&session->talk.client, session->start->request,
				       END_CANCELLED);
}

void session_attach_input(struct session *session, int own)
{
	struct relay *relay = &session->relays[STREAM_STDIN];

	(void)fd_set_nonblocking(own, true); /* cannot fail on a pipe or terminal of ours */
	session->fds[STREAM_STDIN] = own;
	relay_init(relay, STDIN_FILENO, relay_end_of(STDIN_FILENO), own, RELAY_OWN);
	relay->buffer = buffers[STREAM_STDIN];
}

void session_attach_output(struct session *session, enum stream stream, int own, int callers)
{
	struct relay *relay = &session->relays[stream];
	const enum relay_end end = relay_end_of(callers);
	int again = -1;

	(void)fd_set_nonblocking(own, true); /* cannot fail on a pipe or terminal of ours */
	session->fds[stream] = own;
	/* A terminal is written through an opening of our own, which never makes us wait. */
	if (end == RELAY_TERMINAL)
		again = terminal_reopen(callers, O_WRONLY);
	if (again >= 0)
		session->own[stream] = again;
	relay_init(relay, own, RELAY_OWN, again >= 0 ? again : callers, end);
	if (again >= 0)
		relay->sink_end = RELAY_OWN;
	relay->buffer = buffers[stream];
	if (session->options->is_shell)
		return;
	if (stream == STREAM_STDERR || (end == RELAY_TERMINAL && session->options->use_tty))
		relay->tail = session->shown;
	else if (end == RELAY_TERMINAL)
		relay->tail = session->printed;
	relay->uses_splice &= !relay->tail; /* errors are few, and output may be much */
}

void session_fail(struct session *session, const char *name, int error)
{
	session->talk.outcome.relay_name = name;
	session->talk.outcome.relay_error = error;
	session_begin_end(session);
}

void session_hold(struct session *session, const struct ipc_execution_tty *tty, int terminal)
{
	const struct session_taker *taker = session->options->taker;
	struct ipc_execution_started started = { .request = tty->request,
						 .output_bytes = tty->output_bytes,
						 .log_bytes = tty->log_bytes,
						 .wall_ms = tty->wall_ms };
	int error = fd_set_nonblocking(terminal, true);

	memcpy(started.sandbox, tty->sandbox, sizeof(started.sandbox));
	session->fds[STREAM_STDOUT] = terminal;
	if (!error && taker->started)
		error = taker->started(taker->context, &started);
	if (!error) {
		const int copy = fd_result(fcntl(terminal, F_DUPFD_CLOEXEC, 3));

		error = copy < 0 ? copy : taker->holder->opened(taker->holder->context, copy);
		session->is_held = !error;
	}
	if (error)
		session_fail(session, "holding the command's terminal", -error);
}

void session_follow_terminal(struct session *session)
{
	if (session->options->use_tty && !session->is_ending)
		terminal_follow(&session->terminal, STDIN_FILENO, session->fds[STREAM_STDOUT]);
}

/* --- the streams ---------------------------------------------------------------------------- */

static void step_stdin(struct session *session, const struct pollfd entries[2])
{
	struct relay *relay = &session->relays[STREAM_STDIN];

	if (!relay_is_over(relay))
		(void)relay_step(relay, entries);
	if (!relay_is_over(relay))
		return;
	/* The workload sees end of file, also when our stdin cannot be read: it may never ask for
	 * it. A terminal that is gone is a hang-up. */
	fd_close(&session->fds[STREAM_STDIN]);
	if (relay->state == RELAY_FAILED && relay->error != EBADF) /* EBADF: nohup's way */
		log_line("reading standard input: %s", errno_text(relay->error));
	if (relay->state == RELAY_ENDED && session->options->use_tty && !session->is_ending) {
		session->talk.outcome.signal = SIGHUP;
		session_begin_end(session);
	}
}

static void step_output(struct session *session, enum stream stream, const struct pollfd entries[2])
{
	struct relay *relay = &session->relays[stream];

	(void)relay_step(relay, entries);
	if (!relay_is_over(relay))
		return;
	fd_close(&session->fds[stream]);
	if (session->is_ending)
		return;
	if (relay->state == RELAY_BROKEN) {
		session->talk.outcome.is_reader_gone = true;
		session_begin_end(session);
	} else if (relay->state == RELAY_FAILED) {
		session_fail(session,
			     stream == STREAM_STDOUT ? "writing standard output"
						     : "writing standard error",
			     relay->error);
	}
}

static void step_taken(struct session *session, enum stream stream, const struct pollfd *entry)
{
	const struct session_taker *taker = session->options->taker;
	ssize_t size;

	if (entry->revents == 0)
		return;
	size = read(session->fds[stream], buffers[stream], RELAY_BUFFER_BYTES);
	if (size > 0) {
		taker->output(taker->context, stream == STREAM_STDERR, buffers[stream],
			      (size_t)size);
		if (taker->holder)
			taker->holder->output(taker->holder->context, buffers[stream],
					      (size_t)size);
		session->taken_bytes += (uint64_t)size;
	} else if (size == 0 || (errno != EAGAIN && errno != EINTR))
		fd_close(&session->fds[stream]);
}

static void fill_stream(const struct session *session, enum stream stream, struct pollfd entries[2])
{
	entries[0] = entries[1] = (struct pollfd){ .fd = -1 };
	if (session->fds[stream] < 0)
		return;
	if (session->options->taker && stream != STREAM_STDIN)
		entries[0] = (struct pollfd){ .fd = session->fds[stream], .events = POLLIN };
	else
		relay_poll(&session->relays[stream],
			   stream == STREAM_STDIN && !session->options->use_tty, entries);
}

static void step_stream(struct session *session, enum stream stream, const struct pollfd entries[2])
{
	if (session->fds[stream] < 0)
		return;
	if (stream == STREAM_STDIN)
		step_stdin(session, entries);
	else if (session->options->taker)
		step_taken(session, stream, &entries[0]);
	else
		step_output(session, stream, entries);
}

static void check_output(struct session *session)
{
	const uint64_t taken = session->taken_bytes + session->relays[STREAM_STDOUT].taken +
			       session->relays[STREAM_STDERR].taken;

	if (session->output_bytes == 0 || taken <= session->output_bytes)
		return;
	session->output_bytes = 0; /* asked for once */
	/* If the channel is broken, the supervisor ends everything by itself. */
	(void)supervisor_execution_end(&session->talk.client, session->start->request, END_OUTPUT);
}

/* --- the loop ------------------------------------------------------------------------------- */

const struct session_holder *session_holder(const struct session *session)
{
	const struct session_taker *taker = session->options->taker;

	return session->is_held && taker ? taker->holder : NULL;
}

void session_fill(struct conversation *talk, struct pollfd *entries)
{
	struct session *session = (struct session *)talk;
	const struct session_holder *holder = session_holder(session);

	for (size_t i = 0; i < HOLDER_SLOTS; i++)
		entries[HOLDER_SLOT + i] = (struct pollfd){ .fd = -1 };
	for (int i = 0; i < STREAM_COUNT; i++)
		fill_stream(session, (enum stream)i, &entries[2 * (size_t)i]);
	if (holder && !holder->fill(holder->context, entries + HOLDER_SLOT))
		entries[2 * (size_t)STREAM_STDOUT].fd = -1;
	if (!terminal_is_ours(STDIN_FILENO))
		entries[2 * (size_t)STREAM_STDIN].fd = -1; /* its keys are for others */
	session_follow_terminal(session);
}

void session_step(struct conversation *talk, const struct pollfd *entries)
{
	struct session *session = (struct session *)talk;

	const struct session_holder *holder = session_holder(session);

	for (int i = 0; i < STREAM_COUNT; i++)
		step_stream(session, (enum stream)i, &entries[2 * (size_t)i]);
	if (holder)
		holder->step(holder->context, entries + HOLDER_SLOT);
	check_output(session);
}
