/* SPDX-License-Identifier: Apache-2.0 */
#include "ask/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "ask/progress.h"
#include "ask/recent.h"
#include "ask/signals.h"
#include "common/fd.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/refusal.h"
#include "common/log.h"
#include "common/text/format.h"
#include "frontend/words/changes.h"
#include "launcher/host/holder.h"
#include "show/confirm.h"

enum slot { SLOT_RECORDS, SLOT_PIPES, SLOT_COUNT = SLOT_PIPES + FILE_PIPES_SLOTS };

/* --- what the supervisor says --------------------------------------------------------------- */

static void take_answer(struct asking *asking, uint64_t request, uint32_t type)
{
	if (request == asking->request && type == asking->ends_with)
		asking->is_answered = true;
}

static void on_welcome(void *context, const struct ipc_welcome *welcome, int plan)
{
	static struct ipc_welcome kept;
	struct asking *asking = context;

	kept = *welcome;
	asking->welcome = &kept;
	asking->plan = plan;
}

static void on_refused(void *context, const struct ipc_execution_refused *refused)
{
	struct asking *asking = context;

	if (refused->request != asking->request)
		return;
	asking->talk.outcome.is_refused = true;
	asking->talk.outcome.refused = *refused;
	asking->is_answered = true;
}

static void on_sandbox(void *context, const struct ipc_sandbox_info *info)
{
	struct asking *asking = context;

	if (asking->is_searching)
		sandbox_search_add(&asking->search, info);
	else if (asking->handlers && asking->handlers->on_sandbox)
		asking->handlers->on_sandbox(asking->context, info);
	take_answer(asking, info->request, IPC_TYPE_sandbox_info);
}

static void on_checkpoint(void *context, const struct ipc_checkpoint_info *info)
{
	struct asking *asking = context;

	if (asking->handlers && asking->handlers->on_checkpoint)
		asking->handlers->on_checkpoint(asking->context, info);
	take_answer(asking, info->request, IPC_TYPE_checkpoint_info);
}

static void on_request_done(void *context, const struct ipc_request_done *done)
{
	take_answer(context, done->request, IPC_TYPE_request_done);
}

static void on_changes(void *context, const struct ipc_changes_started *started, int records)
{
	struct asking *asking = context;

	if (records < 0)
		asking->records_error = -EMFILE;
	else
		change_stream_init(&asking->records, records);
}

static void on_changes_done(void *context, const struct ipc_changes_done *done)
{
	struct asking *asking = context;

	asking->done = *done;
	take_answer(asking, done->request, IPC_TYPE_changes_done);
}

static void on_started(void *context, const struct ipc_execution_started *started, const int fds[3])
{
	struct asking *asking = context;

	if (fds[0] >= 0) {
		file_pipes_open(&asking->pipes, fds);
		return;
	}
	asking->talk.outcome.relay_name = "taking the streams of msp-file";
	asking->talk.outcome.relay_error = EMFILE;
	asking->is_answered = true;
}

static void on_done(void *context, const struct ipc_execution_done *done)
{
	struct asking *asking = context;

	asking->ended = *done;
	file_pipes_drain(&asking->pipes);
	take_answer(asking, done->request, IPC_TYPE_execution_done);
}

static const struct supervisor_handlers handlers = {
	.on_welcome = on_welcome,
	.on_refused = on_refused,
	.on_sandbox = on_sandbox,
	.on_checkpoint = on_checkpoint,
	.on_request_done = on_request_done,
	.on_changes = on_changes,
	.on_changes_done = on_changes_done,
	.on_started = on_started,
	.on_done = on_done,
};

/* --- the loop ------------------------------------------------------------------------------- */

static void on_record(void *context, const struct change *change)
{
	struct asking *asking = context;

	if (asking->handlers && asking->handlers->on_change)
		asking->handlers->on_change(asking->context, change);
}

static void read_records(struct asking *asking)
{
	const int result = change_stream_read(&asking->records, on_record, asking);
	const struct change_progress *progress = &asking->records.progress;

	if (result < 0)
		asking->records_error = result;
	if (progress->stage)
		progress_note(changes_stage_text(progress->stage), progress->done, progress->total);
}

/* End a file question whose output has no taker, once. */
static void give_up_file(struct asking *asking)
{
	if (asking->pipes.error == 0 || asking->pipes.is_given_up)
		return;
	asking->pipes.is_given_up = true;
	(void)supervisor_execution_end(&asking->talk.client, asking->request, END_CANCELLED);
}

static void fill_sources(struct conversation *talk, struct pollfd *entries)
{
	const struct asking *asking = (const struct asking *)talk;

	entries[SLOT_RECORDS] = (struct pollfd){ .fd = asking->records.fd, .events = POLLIN };
	file_pipes_poll(&asking->pipes, entries + SLOT_PIPES);
}

static void step_sources(struct conversation *talk, const struct pollfd *entries)
{
	struct asking *asking = (struct asking *)talk;

	if (entries[SLOT_RECORDS].revents)
		read_records(asking);
	file_pipes_turn(&asking->pipes, entries + SLOT_PIPES);
	give_up_file(asking);
	progress_draw();
}

static int wait_for_progress(const struct conversation *talk)
{
	return progress_wait_ms();
}

static void take_signal(struct conversation *talk, int signal)
{
	if (signal == SIGTSTP)
		(void)kill(getpid(), SIGSTOP);
	else if (signal != SIGWINCH && signal != SIGCONT)
		talk->outcome.signal = signal;
}

static bool is_over(const struct conversation *talk)
{
	const struct asking *asking = (const struct asking *)talk;

	return talk->outcome.signal != 0 || (asking->is_answered && asking->records.fd < 0);
}

static const struct conversation_rules question_rules = {
	.slots = SLOT_COUNT,
	.fill = fill_sources,
	.step = step_sources,
	.take_signal = take_signal,
	.is_over = is_over,
	.wait_ms = wait_for_progress,
};

/* --- questions ------------------------------------------------------------------------------ */

/* By kind: the request, the message that ends its answer, besides a refusal, and whether it is
 * about a sandbox. */
static const struct {
	uint32_t request, ends_with;
	bool has_sandbox;
} kinds[] = {
	[ASK_NEW] = { IPC_TYPE_sandbox_new, IPC_TYPE_sandbox_info, false },
	[ASK_LIST] = { IPC_TYPE_sandbox_list, IPC_TYPE_request_done, false },
	[ASK_END] = { IPC_TYPE_sandbox_end, IPC_TYPE_request_done, true },
	[ASK_CHECKPOINT] = { IPC_TYPE_checkpoint_do, IPC_TYPE_request_done, true },
	[ASK_CHANGES] = { IPC_TYPE_changes_start, IPC_TYPE_changes_done, true },
	[ASK_FILE] = { IPC_TYPE_file_start, IPC_TYPE_execution_done, true },
	[ASK_BRIDGE] = { IPC_TYPE_bridge_start, IPC_TYPE_request_done, true },
};

static uint32_t end_of_answer(const struct question *question)
{
	if (question->kind == ASK_CHECKPOINT &&
	    question->is.checkpoint.operation == CHECKPOINT_SAVE)
		return IPC_TYPE_checkpoint_info;
	if (question->kind == ASK_CHECKPOINT &&
	    question->is.checkpoint.operation == CHECKPOINT_FORK)
		return IPC_TYPE_sandbox_info;
	return kinds[question->kind].ends_with;
}

static int send_question(struct asking *asking, struct question *question)
{
	int fd = -1;

	if (question->kind == ASK_CHANGES) {
		question->is.changes.flags |= changes_umask_flags();
		fd = fd_sealed_from_bytes("chosen", question->paths, question->paths_size);
		if (fd < 0)
			return fd;
	} else if (question->kind == ASK_BRIDGE) {
		fd = fcntl(question->network, F_DUPFD_CLOEXEC, 0);
	} else if (question->kind == ASK_FILE) {
		file_pipes_init(&asking->pipes, &question->file);
	}
	asking->ends_with = end_of_answer(question);
	question->is.head.request = ++asking->request;
	return supervisor_request_of(&asking->talk.client, kinds[question->kind].request,
				     &question->is, fd);
}

/* Send it and wait for what ends its answer. */
static void exchange_question(struct asking *asking, struct question *question)
{
	asking->is_answered = false;
	asking->records_error = 0;
	asking->talk.outcome.is_refused = false;
	memset(&asking->done, 0, sizeof(asking->done));
	memset(&asking->ended, 0, sizeof(asking->ended));
	if (asking->talk.outcome.signal || asking->talk.outcome.is_supervisor_gone ||
	    !conversation_is_sent(&asking->talk, send_question(asking, question)))
		return;
	if (question->act)
		progress_begin(question->act);
	conversation_run(&asking->talk, &question_rules);
	if (question->act)
		progress_end();
	change_stream_done(&asking->records);
	file_pipes_done(&asking->pipes);
}

/* The word was no id or name: it may be the beginning of an id. True: the question names it now. */
static bool complete_question(struct asking *asking, struct question *question)
{
	struct question list = { .kind = ASK_LIST, .is.list.is_everybody = 1 };
	struct ipc_head *head = &question->is.head;
	char word[IPC_NAME_MAX];

	if (!kinds[question->kind].has_sandbox ||
	    asking->talk.outcome.refused.reason != REFUSAL_SANDBOX_UNKNOWN)
		return false;
	format_text(word, sizeof(word), "%s", head->sandbox);
	if (!sandbox_search_begin(&asking->search, word))
		return false;
	asking->is_searching = true;
	exchange_question(asking, &list);
	asking->is_searching = false;
	if (asking->talk.outcome.is_refused || asking->search.found != 1) {
		if (!asking->talk.outcome.is_refused)
			sandbox_search_explain(&asking->search, &asking->talk.outcome.refused);
		asking->talk.outcome.is_refused = true;
		return false;
	}
	format_text(head->sandbox, sizeof(head->sandbox), "%s", asking->search.id);
	format_text(head->owner, sizeof(head->owner), "%s", asking->search.owner);
	return true;
}

/* Return the exit code of a conversation that is over, after a line; 0: it is not. */
static int judge_conversation(struct asking *asking)
{
	static const struct outcome_request nothing = { .command = "", .line = "", .profile = "" };
	struct outcome *outcome = &asking->talk.outcome;

	if (!outcome->signal && !outcome->relay_name && !outcome->is_supervisor_gone)
		return 0;
	progress_end();
	outcome->is_refused = false;
	outcome->is_service = attach_is_service(&asking->attachment);
	outcome->supervisor_status = attach_close(&asking->attachment);
	outcome_explain(outcome, &nothing);
	return outcome_exit_code(outcome);
}

bool ask_is_elsewhere(const struct asking *asking)
{
	const struct outcome *outcome = &asking->talk.outcome;

	return outcome->is_refused && outcome->refused.reason == REFUSAL_SANDBOX_ELSEWHERE;
}

static void explain_refusal(const struct ipc_execution_refused *refused, struct refusal_words words,
			    int plan)
{
	char holder[HOLDER_TEXT_MAX];

	if (refused->reason == REFUSAL_SANDBOX_ELSEWHERE && refused->detail[0] && words.sandbox)
		words.holder = holder_describe(refused->detail, words.sandbox, holder);
	refusal_explain(refused, &words, plan);
}

/* Return the exit code of the answer, after a line if it is no success. */
static int judge_answer(struct asking *asking, const struct question *question)
{
	const struct outcome *outcome = &asking->talk.outcome;
	const int code = judge_conversation(asking);

	if (code)
		return code;
	if (outcome->is_refused) {
		progress_end();
		if (!(question->is_tried && ask_is_elsewhere(asking)) &&
		    !(question->is_wide && outcome->refused.reason == REFUSAL_WORKSPACE))
			explain_refusal(&outcome->refused, question->words, asking->plan);
		return refusal_exit_code(outcome->refused.reason);
	}
	if (asking->records_error)
		return log_fail(MSP_EXIT_SOFTWARE, "the records of the changes cannot be read: %s",
				errno_text(-asking->records_error));
	return 0;
}

/* --- questions to the person ------------------------------------------------------------------ */

static void fill_terminal(struct conversation *talk, struct pollfd *entries)
{
	entries[0] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
}

/* Read a line of the terminal, which is in its canonical mode; empty at its end. */
static void step_terminal(struct conversation *talk, const struct pollfd *entries)
{
	struct asking *asking = (struct asking *)talk;
	ssize_t got;

	if (!entries[0].revents || talk->outcome.signal)
		return;
	got = read(STDIN_FILENO, asking->line, sizeof(asking->line) - 1);
	asking->line[got > 0 ? got : 0] = '\0';
	asking->is_answered = true;
}

static const struct conversation_rules person_rules = {
	.slots = 1,
	.fill = fill_terminal,
	.step = step_terminal,
	.take_signal = take_signal,
	.is_over = is_over,
};

/* Print a text and read a line. 0, or the exit code of a conversation that is over. */
static int read_line(struct asking *asking, const char *text, const char *choice)
{
	(void)fflush(stdout);
	(void)fprintf(stderr, "%s [%s] ", text, choice);
	asking->is_answered = false;
	asking->line[0] = '\0'; /* no earlier answer may count */
	conversation_run(&asking->talk, &person_rules);
	if (asking->is_answered)
		return 0;
	(void)fputc('\n', stderr);
	return judge_conversation(asking);
}

int ask_words(struct asking *asking, const char *text, const char *const words[], size_t count,
	      size_t *ret)
{
	char choice[128] = "";
	int code;

	for (size_t i = 0; i < count; i++)
		format_append(choice, sizeof(choice), "%s%s", i > 0 ? " / " : "", words[i]);
	code = read_line(asking, text, choice);
	asking->line[strcspn(asking->line, "\r\n")] = '\0';
	*ret = count;
	for (size_t i = 0; i < count && !code && asking->line[0]; i++) {
		if (strncasecmp(asking->line, words[i], strlen(asking->line)) == 0)
			*ret = i;
	}
	return code;
}

int ask_person(void *context, const char *text, bool *ret_is_yes)
{
	struct asking *asking = context;
	const int code = read_line(asking, text, "y/N");

	*ret_is_yes = !code && confirm_is_yes(asking->line);
	return code;
}

/* --- the question itself ---------------------------------------------------------------------- */

int ask_resolve(struct asking *asking, char sandbox[IPC_NAME_MAX], bool is_for_program)
{
	const struct recent_asker asker = { ask_person, asking };
	char word[IPC_NAME_MAX];
	uint32_t number;
	int code;

	if (!sandbox_is_recent(sandbox, &number))
		return 0;
	format_text(word, sizeof(word), "%s", sandbox);
	if (strcmp(word, asking->recent) == 0) {
		/* A run that another msp adds meanwhile is not the one that is meant. */
		format_text(sandbox, IPC_NAME_MAX, "%s", asking->recent_id);
		return 0;
	}
	code = recent_resolve(sandbox, is_for_program ? NULL : &asker);
	if (code)
		return code;
	format_text(asking->recent, sizeof(asking->recent), "%s", word);
	format_text(asking->recent_id, sizeof(asking->recent_id), "%s", sandbox);
	return 0;
}

int ask(struct asking *asking, struct question *question, const struct ask_handlers *wanted,
	void *context)
{
	const bool has_sandbox = kinds[question->kind].has_sandbox;
	struct ipc_head *head = &question->is.head;
	int code;

	if (has_sandbox && head->sandbox[0] == '\0')
		format_text(head->sandbox, sizeof(head->sandbox), "%s", question->words.sandbox);
	code = has_sandbox ? ask_resolve(asking, head->sandbox, question->is_for_program) : 0;
	if (code)
		return code;
	asking->handlers = wanted;
	asking->context = context;
	exchange_question(asking, question);
	if (asking->talk.outcome.is_refused && complete_question(asking, question))
		exchange_question(asking, question);
	if (asking->talk.outcome.is_refused && has_sandbox && question->words.sandbox)
		recent_explain(question->words.sandbox, head->sandbox,
			       &asking->talk.outcome.refused);
	return judge_answer(asking, question);
}

/* --- beginning and end ------------------------------------------------------------------------ */

static int begin_asking(struct asking *asking, const struct attachment *request, bool use_tty)
{
	sigset_t before;
	int code;
	int error;

	memset(asking, 0, sizeof(*asking));
	asking->attachment = *request;
	asking->plan = -1;
	asking->records.fd = -1;
	file_pipes_init(&asking->pipes, NULL);
	asking->talk.outcome.plan = -1;
	asking->talk.signals = signals_block(use_tty, &before);
	if (asking->talk.signals < 0)
		return log_fail(MSP_EXIT_SOFTWARE, "%s", errno_text(-asking->talk.signals));
	code = attach_prepare(&asking->attachment);
	if (!code)
		code = attach_open(&asking->attachment, &before);
	if (code)
		return code;
	supervisor_client_init(&asking->talk.client, asking->attachment.channel, &handlers, asking);
	error = supervisor_hello(&asking->talk.client, asking->attachment.limits);
	/* An ended supervisor has said why: the first question finds that out. */
	asking->talk.outcome.is_supervisor_gone = error == -EPIPE || error == -ECONNRESET;
	if (!error || asking->talk.outcome.is_supervisor_gone)
		return 0;
	return log_fail(MSP_EXIT_SOFTWARE, "asking the supervisor: %s", errno_text(-error));
}

int ask_begin(struct asking *asking, const struct attach_options *options)
{
	const struct attachment request = {
		.options = options, .is_persistent = true, .runs_nothing = true, ATTACHMENT_NONE
	};

	return begin_asking(asking, &request, false);
}

int ask_begin_execution(struct asking *asking, const struct attach_options *options, bool use_tty)
{
	const struct attachment request = { .options = options,
					    .is_persistent = true,
					    ATTACHMENT_NONE };

	return begin_asking(asking, &request, use_tty);
}

int ask_begin_new(struct asking *asking, const struct attach_options *options,
		  struct question *question, const struct bind_words *binds, bool is_execution,
		  bool use_tty)
{
	struct ipc_sandbox_new *wanted = &question->is.new_one;
	const struct attachment request = { .options = options,
					    .binds = binds,
					    .kept_profile = wanted->profile,
					    .no_hosts = wanted->no_hosts != 0,
					    .runs_nothing = !is_execution,
					    .is_persistent = true,
					    ATTACHMENT_NONE };
	const int code = begin_asking(asking, &request, use_tty);

	if (!code && asking->attachment.kept_name[0])
		format_text(wanted->profile, sizeof(wanted->profile), "%s",
			    asking->attachment.kept_name);
	return code;
}

int ask_end(struct asking *asking, int code)
{
	supervisor_client_done(&asking->talk.client);
	change_stream_done(&asking->records);
	if (asking->attachment.channel >= 0)
		(void)attach_close(&asking->attachment);
	fd_close(&asking->talk.signals);
	fd_close(&asking->plan);
	if (asking->attachment.is_kept_new)
		service_reload(asking->attachment.options->socket);
	return code;
}

int ask_once(const struct attach_options *options, struct question *question,
	     const struct ask_handlers *wanted, void *context)
{
	static struct asking asking;
	int code = ask_begin(&asking, options);

	if (!code)
		code = ask(&asking, question, wanted, context);
	return ask_end(&asking, code);
}

bool ask_is_over(const struct asking *asking)
{
	return asking->attachment.channel < 0;
}
