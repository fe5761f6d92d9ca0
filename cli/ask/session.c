/* SPDX-License-Identifier: Apache-2.0
 *
 * A conversation with three streams. It ends when the supervisor has reported the end and both
 * output streams are drained; or when the supervisor is gone; or, after a signal or the loss of our
 * reader, when the execution is reported ended or END_MS have passed: our end ends all the rest.
 */
#include "ask/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "ask/session_streams.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_persistent.h"
#include "common/ipc/ipc_posture.h"
#include "common/ipc/refusal.h"
#include "common/log.h"
#include "common/text/format.h"
#include "frontend/denial_hints.h"
#include "frontend/network_watch.h"
#include "frontend/nonblocking.h"
#include "options/sandbox_search.h"

#define BACKGROUND_MS 200 /* how soon a shell's `fg` is seen */
/* The ends of the workload's errors and of what a person has seen of its output: an explanation
 * begins there. */
static struct relay_tail shown, printed;
_Static_assert(sizeof(shown.bytes) <= HINT_BYTES, "denial_hints_add() would ignore it");

/* --- what the supervisor says --------------------------------------------------------------- */

/* Return whether it has a persistent sandbox, whose profile is not known at first. */
static bool has_sandbox(const struct session *session)
{
	return session->start->sandbox[0] != '\0';
}

static void take_posture(struct session *session, const struct ipc_profile_posture *posture)
{
	session->talk.outcome.posture = posture->posture;
	if (session->options->is_verbose && !has_sandbox(session))
		outcome_print_measured(&session->talk.outcome);
}

static void take_profile(struct session *session, const char *profile)
{
	format_text(session->talk.outcome.profile, sizeof(session->talk.outcome.profile), "%s",
		    profile);
	if (strcmp(session->known.profile, profile) == 0)
		take_posture(session, &session->known);
}

static void on_welcome(void *context, const struct ipc_welcome *welcome, int plan)
{
	struct session *session = context;

	session->talk.outcome.plan = plan;
	session->talk.outcome.is_welcome = true;
	if (!session->is_ending)
		session->deadline_ms = NO_DEADLINE;
	session->talk.outcome.landlock_abi = welcome->landlock_abi;
	session->talk.outcome.limits = welcome->limits;
	memcpy(session->talk.outcome.default_profile, welcome->default_profile,
	       sizeof(session->talk.outcome.default_profile));
	memcpy(session->known.profile, welcome->posture_profile, sizeof(session->known.profile));
	session->known.posture = welcome->posture;
	if (has_sandbox(session))
		return;
	if (session->options->is_verbose)
		outcome_print_posture(&session->talk.outcome, session->request);
	if (strcmp(session->known.profile,
		   outcome_profile(&session->talk.outcome, session->request)) == 0)
		take_posture(session, &session->known);
}

static void on_turned_away(void *context, uint32_t reason)
{
	struct session *session = context;

	session->talk.outcome.turned_away = reason;
}

static void on_posture(void *context, const struct ipc_profile_posture *posture)
{
	struct session *session = context;

	take_posture(session, posture);
	if (has_sandbox(session))
		take_profile(session, posture->profile);
}

static bool ask_for_sandboxes(struct session *session, enum listing listing, bool is_everybody)
{
	struct ipc_sandbox_list list = { .request = session->start->request + 1,
					 .is_everybody = is_everybody };

	memcpy(list.owner, session->start->owner, sizeof(list.owner));
	if (supervisor_request(&session->talk.client, sandbox_list, &list, -1) != 0)
		return false;
	session->listing = listing;
	return true;
}

/* The word was no id or name: it may be the beginning of an id. */
static bool begin_search(struct session *session)
{
	if (session->is_searched ||
	    !sandbox_search_begin(&session->search, session->request->sandbox))
		return false;
	session->is_searched = true;
	return ask_for_sandboxes(session, LISTING_SEARCH, true);
}

static void end_search(struct session *session)
{
	const struct sandbox_search *search = &session->search;

	if (search->found == 1) {
		format_text(session->start->sandbox, sizeof(session->start->sandbox), "%s",
			    search->id);
		memcpy(session->start->owner, search->owner, sizeof(session->start->owner));
		/* Else the end of the channel says it. */
		(void)supervisor_request(&session->talk.client, execution_start, session->start,
					 -1);
		return;
	}
	session->talk.outcome.is_refused = true;
	sandbox_search_explain(search, &session->talk.outcome.refused);
}

static void on_sandbox(void *context, const struct ipc_sandbox_info *info)
{
	struct session *session = context;

	if (session->listing == LISTING_SEARCH)
		sandbox_search_add(&session->search, info);
	else if (strcmp(info->id, session->start->sandbox) == 0 ||
		 strcmp(info->name, session->start->sandbox) == 0)
		take_profile(session, info->profile);
}

static void on_listed(void *context, const struct ipc_request_done *done)
{
	struct session *session = context;
	const enum listing listing = session->listing;

	session->listing = LISTING_NONE;
	if (listing == LISTING_SEARCH)
		end_search(session);
}

static void on_refused(void *context, const struct ipc_execution_refused *refused)
{
	struct session *session = context;

	if (refused->request == session->start->request + 1 &&
	    session->listing == LISTING_PROFILE) {
		session->listing = LISTING_NONE;
		return; /* texts do without it */
	}
	if (refused->reason == REFUSAL_SANDBOX_UNKNOWN && begin_search(session))
		return;
	session->talk.outcome.is_refused = true;
	session->talk.outcome.refused = *refused;
}

static void on_started(void *context, const struct ipc_execution_started *started, const int fds[3])
{
	struct session *session = context;
	const struct session_taker *taker = session->options->taker;
	int error;

	if (fds[0] < 0) {
		session_fail(session, "taking the command's streams", EMFILE);
		return;
	}
	session->output_bytes = started->output_bytes;
	outcome_note_limit(session->request, session->options->launched_us, started->wall_ms);
	session_attach_input(session, fds[0]);
	if (taker) {
		session->fds[STREAM_STDOUT] = fds[1];
		session->fds[STREAM_STDERR] = fds[2];
		(void)fd_set_nonblocking(fds[1], true); /* pipes of ours */
		(void)fd_set_nonblocking(fds[2], true);
		error = taker->started ? taker->started(taker->context, started) : 0;
		if (error)
			session_fail(session, "keeping the command's output", -error);
		return;
	}
	session_attach_output(session, STREAM_STDOUT, fds[1], STDOUT_FILENO);
	session_attach_output(session, STREAM_STDERR, fds[2], STDERR_FILENO);
}

static void on_tty(void *context, const struct ipc_execution_tty *tty, int terminal)
{
	struct session *session = context;
	int copy;

	if (terminal < 0) {
		session_fail(session, "taking the command's streams", EMFILE);
		return;
	}
	session->output_bytes = tty->output_bytes;
	outcome_note_limit(session->request, session->options->launched_us, tty->wall_ms);
	if (session->options->taker) {
		session_hold(session, tty, terminal);
		return;
	}
	copy = fcntl(terminal, F_DUPFD_CLOEXEC, 3);
	terminal_copy_size(STDOUT_FILENO, terminal);
	session_attach_output(session, STREAM_STDOUT, terminal, STDOUT_FILENO);
	if (copy >= 0)
		session_attach_input(session, copy);
}

static void on_done(void *context, const struct ipc_execution_done *done)
{
	struct session *session = context;

	session->talk.outcome.is_done = true;
	session->talk.outcome.done = *done;
	if (done->has_refusals)
		network_watch_collect(&session->talk.client, done->request,
				      &session->talk.outcome.network);
	if (has_sandbox(session) && !session->talk.outcome.profile[0] &&
	    (done->denials_size > 0 || session->talk.outcome.network.count > 0 ||
	     session->options->is_verbose || session->options->taker ||
	     (shown.size + printed.size > 0 && denial_hints_apply(done))))
		(void)ask_for_sandboxes(session, LISTING_PROFILE, false);
}

static const struct supervisor_handlers handlers = {
	.on_welcome = on_welcome,
	.on_turned_away = on_turned_away,
	.on_refused = on_refused,
	.on_started = on_started,
	.on_tty = on_tty,
	.on_done = on_done,
	.on_posture = on_posture,
	.on_sandbox = on_sandbox,
	.on_request_done = on_listed,
};

/* --- what the caller says ------------------------------------------------------------------- */

static void take_signal(struct conversation *talk, int signal)
{
	struct session *session = (struct session *)talk;

	switch (signal) {
	case SIGWINCH:
		terminal_copy_size(STDOUT_FILENO, session->fds[STREAM_STDOUT]);
		break;
	case SIGTSTP: /* from outside: the keys go to the workload */
		terminal_restore(&session->terminal);
		(void)kill(getpid(), SIGSTOP);
		break;
	case SIGCONT: /* the next turn takes the terminal, if the shell has given it */
		break;
	default:
		if (session->talk.outcome.signal) /* a second one: do not wait any longer */
			session->deadline_ms = 0;
		session->talk.outcome.signal = signal;
		session_begin_end(session);
		break;
	}
}

static bool is_over(const struct conversation *talk)
{
	const struct session *session = (const struct session *)talk;
	const struct outcome *outcome = &talk->outcome;

	if (outcome->is_refused || outcome->turned_away)
		return true;
	if (session->is_ending && outcome->is_done)
		return true;
	if (session->deadline_ms != NO_DEADLINE)
		return session_now_ms() >= session->deadline_ms;
	return outcome->is_done && session->listing == LISTING_NONE &&
	       session->fds[STREAM_STDOUT] < 0 && session->fds[STREAM_STDERR] < 0;
}

static int wait_ms(const struct conversation *talk)
{
	const struct session *session = (const struct session *)talk;
	const uint64_t now = session_now_ms();

	if (session->deadline_ms == NO_DEADLINE && session_holder(session))
		return session_holder(session)->wait_ms(session_holder(session)->context);
	if (session->deadline_ms == NO_DEADLINE)
		return terminal_is_ours(STDIN_FILENO) ? -1 : BACKGROUND_MS;
	return session->deadline_ms > now ? (int)(session->deadline_ms - now) : 0;
}

static const struct conversation_rules rules = {
	.slots = HOLDER_SLOT + HOLDER_SLOTS,
	.fill = session_fill,
	.step = session_step,
	.take_signal = take_signal,
	.is_over = is_over,
	.wait_ms = wait_ms,
};

/* Take part in a conversation that was welcomed before. */
static void join_conversation(struct session *session)
{
	const struct session_joined *joined = session->options->joined;

	session->talk.client = *joined->client;
	session->talk.client.handlers = &handlers;
	session->talk.client.context = session;
	on_welcome(session, joined->welcome, joined->plan);
}

/* Give it back as it was. */
static void leave_conversation(const struct session *session)
{
	const struct session_joined *joined = session->options->joined;
	const struct supervisor_handlers *theirs = joined->client->handlers;
	void *context = joined->client->context;

	*joined->client = session->talk.client;
	joined->client->handlers = theirs;
	joined->client->context = context;
}

static void send_request(struct session *session)
{
	int error = session->options->joined
			    ? 0
			    : supervisor_hello(&session->talk.client, session->options->limits);

	if (!error)
		error = supervisor_request(&session->talk.client, execution_start, session->start,
					   -1);
	if (!conversation_is_sent(&session->talk, error)) {
		session->is_ending = true;
		session->deadline_ms = 0;
	}
}

struct outcome session_run(const struct session_options *options, int channel, int signals,
			   struct ipc_execution_start *start, const struct outcome_request *request)
{
	struct session session = { .options = options,
				   .request = request,
				   .start = start,
				   .fds = { -1, -1, -1 },
				   .own = { -1, -1, -1 },
				   .shown = &shown,
				   .printed = &printed,
				   .talk = { .signals = signals, .outcome = { .plan = -1 } },
				   .deadline_ms = NO_DEADLINE };
	const uint64_t asked_us = clock_now_us();

	shown.size = printed.size = 0;
	if (options->answer_ms > 0)
		session.deadline_ms = session_now_ms() + options->answer_ms;
	if (options->joined)
		join_conversation(&session);
	else
		supervisor_client_init(&session.talk.client, channel, &handlers, &session);
	send_request(&session);
	session_follow_terminal(&session);
	conversation_run(&session.talk, &rules);
	timings_set(&session.talk.outcome.timings, &session.talk.outcome.done, options->launched_us,
		    asked_us, clock_now_us());
	session.talk.outcome.errors = (struct outcome_tail){ shown.bytes, shown.size };
	session.talk.outcome.output = (struct outcome_tail){ printed.bytes, printed.size };
	terminal_restore(&session.terminal);
	fd_close_all(session.fds, STREAM_COUNT);
	fd_close_all(session.own, STREAM_COUNT);
	if (options->joined)
		leave_conversation(&session);
	else
		supervisor_client_done(&session.talk.client);
	return session.talk.outcome;
}
