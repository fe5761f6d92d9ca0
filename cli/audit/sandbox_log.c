/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/sandbox_log.h"

#include <stdio.h>
#include <string.h>

#include "audit/sandbox_history.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/text/format.h"
#include "common/text/names.h"
#include "lib/heap/buffer.h"
#include "show/figures.h"

/* Digits of a hash for people: enough to find it again in the log. */
#define HASH_SHOWN 12

#define DETAIL_MAX 320
#define EVENT_COLUMN 10

/* One record, and what all of them have. */
struct record {
	const char *line;
	size_t size;
	uint64_t seq, time_us, pid;
};

static uint64_t number_of(const struct record *record, const char *key)
{
	return audit_number_of(record->line, record->size, key);
}

static const char *text_of(const struct record *record, const char *key, char text[DETAIL_MAX])
{
	audit_text_of(record->line, record->size, key, text, DETAIL_MAX);
	return text;
}

static bool has_text(const struct record *record, const char *key, const char *text)
{
	struct audit_value value;

	return audit_value_find(record->line, record->size, key, &value) &&
	       audit_value_is(&value, text);
}

/* --- lines ---------------------------------------------------------------------------------- */

/* Is the next line one to be printed? */
static bool is_shown(struct sandbox_log *log)
{
	return log->lines++ >= log->skip;
}

static void print_command_row(struct sandbox_log *log, uint64_t time_us, uint64_t seq,
			      const char *event, const char *detail,
			      const struct history_note *command)
{
	char time[AUDIT_TIME_MAX];

	if (!is_shown(log))
		return;
	(void)printf("%s  %6llu  %-*s%s%s%s", audit_time(time_us, 3, time), (unsigned long long)seq,
		     detail[0] ? EVENT_COLUMN : 0, event, detail[0] ? "  " : "", detail,
		     command ? "; " : "");
	if (command)
		sandbox_history_print(command);
	(void)putchar('\n');
}

static void print_row(struct sandbox_log *log, uint64_t time_us, uint64_t seq, const char *event,
		      const char *detail)
{
	print_command_row(log, time_us, seq, event, detail, NULL);
}

static void print_record(struct sandbox_log *log, const struct record *record, const char *event,
			 const char *detail)
{
	print_row(log, record->time_us, record->seq, event, detail);
}

static void add_duration(char detail[DETAIL_MAX], uint64_t us)
{
	char span[FIGURES_TEXT_MAX];

	if (us < 10000)
		format_append(detail, DETAIL_MAX, "%llu.%llu ms", (unsigned long long)(us / 1000),
			      (unsigned long long)(us % 1000 / 100));
	else if (us < 1000000)
		format_append(detail, DETAIL_MAX, "%llu ms", (unsigned long long)(us / 1000));
	else if (us < 120000000)
		format_append(detail, DETAIL_MAX, "%llu.%llu s", (unsigned long long)(us / 1000000),
			      (unsigned long long)(us % 1000000 / 100000));
	else
		format_append(detail, DETAIL_MAX, "%s", figures_span(us / 1000000, span));
}

/* --- what has begun ------------------------------------------------------------------------- */

static struct sandbox_log_open *find_open(struct sandbox_log *log, const struct record *record,
					  bool is_apply, uint64_t number)
{
	for (size_t i = 0; i < SANDBOX_LOG_OPEN; i++) {
		struct sandbox_log_open *open = &log->open[i];

		if (open->pid == record->pid && open->number == number &&
		    open->is_apply == is_apply && open->pid > 0)
			return open;
	}
	return NULL;
}

/* Find the command of an execution; NULL: its size and hash are all that is known. */
static const struct history_note *find_command(const struct sandbox_log_open *open)
{
	return open->is_apply ? NULL : sandbox_history_find(open->pid, open->number, open->time_us);
}

static void lose_open(struct sandbox_log *log, struct sandbox_log_open *open, const char *why)
{
	const struct history_note *command = open->pid > 0 ? find_command(open) : NULL;
	char detail[DETAIL_MAX];

	if (open->pid == 0)
		return;
	format_text(detail, sizeof(detail), "%s%s%s", why, open->text[0] && !command ? "; " : "",
		    command ? "" : open->text);
	print_command_row(log, open->time_us, open->seq, open->event, detail, command);
	open->pid = 0;
}

/* Lose the open ones of a supervisor (`is_other`: of all others) that recorded nothing more. */
static void lose_of(struct sandbox_log *log, uint64_t pid, bool is_other)
{
	for (size_t i = 0; i < SANDBOX_LOG_OPEN; i++) {
		if ((log->open[i].pid == pid) != is_other)
			lose_open(log, &log->open[i], "no end was recorded");
	}
}

static struct sandbox_log_open *begin_open(struct sandbox_log *log, const struct record *record,
					   bool is_apply, uint64_t number, const char *event)
{
	struct sandbox_log_open *open = &log->open[0];

	for (size_t i = 0; i < SANDBOX_LOG_OPEN && open->pid > 0; i++) {
		if (log->open[i].pid == 0 || log->open[i].seq < open->seq)
			open = &log->open[i];
	}
	lose_open(log, open, "no end was recorded"); /* more of them than there can be */
	*open = (struct sandbox_log_open){ .pid = record->pid,
					   .number = number,
					   .seq = record->seq,
					   .time_us = record->time_us,
					   .event = event,
					   .is_apply = is_apply };
	return open;
}

/* --- executions ----------------------------------------------------------------------------- */

/* Note the sizes of a command: no word of it is in the log. */
static void take_execution_begin(struct sandbox_log *log, const struct record *record)
{
	const bool is_file = number_of(record, "file_tool") != 0;
	struct sandbox_log_open *open = begin_open(
		log, record, false, number_of(record, "execution"), is_file ? "file" : "exec");
	const unsigned long long words = number_of(record, "argv_count");
	char figure[FIGURES_TEXT_MAX];
	char hash[DETAIL_MAX];
	const bool has_code = text_of(record, "code_sha256", hash)[0] != '\0';

	if (has_code)
		format_text(open->text, sizeof(open->text), "code of %s, sha256 %.*s",
			    figures_bytes(number_of(record, "code_bytes"), figure), HASH_SHOWN,
			    hash);
	else
		format_text(open->text, sizeof(open->text), "%llu word%s of %s, sha256 %.*s", words,
			    words == 1 ? "" : "s",
			    figures_bytes(number_of(record, "argv_bytes"), figure), HASH_SHOWN,
			    text_of(record, "argv_sha256", hash));
}

static void add_verdict(const struct record *record, char detail[DETAIL_MAX])
{
	char text[DETAIL_MAX];

	if (has_text(record, "verdict", verdict_name(VERDICT_EXITED)))
		format_text(detail, DETAIL_MAX, "exit %llu",
			    (unsigned long long)number_of(record, "exit_code"));
	else if (has_text(record, "verdict", verdict_name(VERDICT_SIGNALLED)))
		format_text(detail, DETAIL_MAX, "signal %llu",
			    (unsigned long long)number_of(record, "signal"));
	else if (has_text(record, "verdict", verdict_name(VERDICT_INTERNAL)))
		format_text(detail, DETAIL_MAX, "not run: %.100s: %s",
			    text_of(record, "stage", text),
			    errno_text((int)number_of(record, "error")));
	else
		format_text(detail, DETAIL_MAX, "%.100s", text_of(record, "verdict", text));
}

static void take_execution_end(struct sandbox_log *log, const struct record *record)
{
	struct sandbox_log_open *open =
		find_open(log, record, false, number_of(record, "execution"));
	const struct history_note *command = open ? find_command(open) : NULL;
	const uint64_t cpu_us = number_of(record, "cpu_us");
	const uint64_t peak = number_of(record, "peak_bytes");
	char figure[FIGURES_TEXT_MAX];
	char detail[DETAIL_MAX];

	add_verdict(record, detail);
	format_append(detail, sizeof(detail), " after ");
	add_duration(detail, number_of(record, "wall_us"));
	if (cpu_us > 0) {
		format_append(detail, sizeof(detail), ", CPU ");
		add_duration(detail, cpu_us);
	}
	if (peak > 0)
		format_append(detail, sizeof(detail), ", memory %s", figures_bytes(peak, figure));
	if (open && !command)
		format_append(detail, sizeof(detail), "; %s", open->text);
	print_command_row(log, record->time_us, open ? open->seq : record->seq,
			  open ? open->event : "exec", detail, command);
	if (open)
		open->pid = 0;
}

/* "web.example.org:443", or the name alone that was asked for. */
static void add_host(const struct record *record, char detail[DETAIL_MAX])
{
	const unsigned long long port = number_of(record, "port");
	char host[DETAIL_MAX];

	format_append(detail, DETAIL_MAX, "%.253s", text_of(record, "host", host));
	if (port > 0)
		format_append(detail, DETAIL_MAX, ":%llu", port);
}

static void take_connection_begin(struct sandbox_log *log, const struct record *record)
{
	char detail[DETAIL_MAX] = "";

	format_text(detail, sizeof(detail), "%llu to ",
		    (unsigned long long)number_of(record, "connection"));
	add_host(record, detail);
	if (number_of(record, "through"))
		format_append(detail, sizeof(detail), " through the proxy");
	print_record(log, record, "connect", detail);
}

static void add_bytes(const struct record *record, char detail[DETAIL_MAX])
{
	char sent[FIGURES_TEXT_MAX], received[FIGURES_TEXT_MAX];

	format_append(detail, DETAIL_MAX, ", sent %s, received %s",
		      figures_bytes(number_of(record, "sent"), sent),
		      figures_bytes(number_of(record, "received"), received));
}

static void take_connection_end(struct sandbox_log *log, const struct record *record)
{
	char detail[DETAIL_MAX], text[DETAIL_MAX];

	format_text(detail, sizeof(detail), "%llu %.40s",
		    (unsigned long long)number_of(record, "connection"),
		    text_of(record, "reason", text));
	if (text_of(record, "address", text)[0])
		format_append(detail, sizeof(detail), ", %.46s", text);
	add_bytes(record, detail);
	print_record(log, record, "connect", detail);
}

static void take_bridge(struct sandbox_log *log, const struct record *record)
{
	char detail[DETAIL_MAX], text[DETAIL_MAX];

	format_text(detail, sizeof(detail), "port %llu at 127.0.0.1:%llu",
		    (unsigned long long)number_of(record, "port"),
		    (unsigned long long)number_of(record, "host_port"));
	if (text_of(record, "reason", text)[0]) {
		format_append(detail, sizeof(detail), " %.40s, %llu connections", text,
			      (unsigned long long)number_of(record, "connections"));
		add_bytes(record, detail);
	}
	print_record(log, record, "bridge", detail);
}

/* A host that a person granted to this sandbox, or took away from it. */
static void take_grant(struct sandbox_log *log, const struct record *record)
{
	const bool is_cut = has_text(record, "event", audit_event_name(AUDIT_NETWORK_CUT));
	char detail[DETAIL_MAX] = "", text[DETAIL_MAX];

	if (!text_of(record, "host", text)[0])
		format_text(detail, sizeof(detail), "all hosts");
	else
		add_host(record, detail);
	print_record(log, record, is_cut ? "taken" : "granted", detail);
}

/* A host that the gateway refused: it knows no execution. */
static void take_refused_host(struct sandbox_log *log, const struct record *record)
{
	char detail[DETAIL_MAX], text[DETAIL_MAX];

	format_text(detail, sizeof(detail), "%.20s ", text_of(record, "operation", text));
	add_host(record, detail);
	format_append(detail, sizeof(detail), " by network: %.20s",
		      text_of(record, "reason", text));
	print_record(log, record, "denied", detail);
}

static void take_denial(struct sandbox_log *log, const struct record *record)
{
	const struct sandbox_log_open *open =
		find_open(log, record, false, number_of(record, "execution"));
	const unsigned long long count = number_of(record, "count");
	char operation[DETAIL_MAX];
	char layer[DETAIL_MAX];
	char detail[DETAIL_MAX];

	if (text_of(record, "host", detail)[0]) {
		take_refused_host(log, record);
		return;
	}
	format_text(detail, sizeof(detail), "%.100s by %.20s, %llu time%s",
		    text_of(record, "operation", operation), text_of(record, "layer", layer), count,
		    count == 1 ? "" : "s");
	if (open)
		format_append(detail, sizeof(detail), ", in %llu", (unsigned long long)open->seq);
	print_record(log, record, "denied", detail);
}

/* --- the sandbox and its files -------------------------------------------------------------- */

static void add_checkpoint(char detail[DETAIL_MAX], uint64_t number)
{
	if (number > 0)
		format_append(detail, DETAIL_MAX, "checkpoint %llu", (unsigned long long)number);
	else
		format_append(detail, DETAIL_MAX, "its files as they were");
}

static void take_sandbox_begin(struct sandbox_log *log, const struct record *record)
{
	char detail[DETAIL_MAX] = "";
	char text[DETAIL_MAX];
	const bool is_fork = text_of(record, "origin", text)[0] != '\0';

	if (has_text(record, "origin", log->id)) {
		format_text(detail, sizeof(detail), "%.*s, of ", IPC_ID_MAX,
			    text_of(record, "sandbox", text));
		add_checkpoint(detail, number_of(record, "checkpoint"));
		print_record(log, record, "fork", detail);
		return;
	}
	if (is_fork) {
		format_text(detail, sizeof(detail), "of %.*s, ", IPC_ID_MAX, text);
		add_checkpoint(detail, number_of(record, "checkpoint"));
		format_append(detail, sizeof(detail), "; ");
	}
	format_append(detail, sizeof(detail), "profile %.63s", text_of(record, "profile", text));
	format_append(detail, sizeof(detail), ", workspace %.20s",
		      text_of(record, "workspace", text));
	print_record(log, record, is_fork ? "forked" : "created", detail);
}

static void take_sandbox_change(struct sandbox_log *log, const struct record *record)
{
	static const char *const names[][2] = { /* as the commands are called */
						{ "save", "checkpoint" },
						{ "rollback", "rollback" },
						{ "delete", "forget" },
						{ "stop", "stop" }
	};
	const uint64_t number = number_of(record, "checkpoint");
	const char *event = "changed";
	char detail[DETAIL_MAX] = "";

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (has_text(record, "operation", names[i][0]))
			event = names[i][1];
	}
	if (number > 0)
		add_checkpoint(detail, number);
	print_record(log, record, event, detail);
}

static void take_sandbox_end(struct sandbox_log *log, const struct record *record)
{
	char text[DETAIL_MAX];

	lose_of(log, 0, true);
	print_record(log, record, text_of(record, "reason", text),
		     "with its files and checkpoints");
	log->is_over = true;
}

/* --- applies -------------------------------------------------------------------------------- */

static void take_apply_begin(struct sandbox_log *log, const struct record *record)
{
	struct sandbox_log_open *open =
		begin_open(log, record, true, number_of(record, "request"),
			   has_text(record, "operation", "undo") ? "undo" : "apply");

	if (number_of(record, "held_too") > 0)
		format_text(open->text, sizeof(open->text), "with what this machine may execute");
}

static void take_apply_end(struct sandbox_log *log, const struct record *record)
{
	struct sandbox_log_open *open = find_open(log, record, true, number_of(record, "request"));
	const unsigned long long total = number_of(record, "total");
	const uint64_t error = number_of(record, "error");
	char detail[DETAIL_MAX];

	format_text(detail, sizeof(detail), "%llu of %llu change%s",
		    (unsigned long long)number_of(record, "applied"), total, total == 1 ? "" : "s");
	if (number_of(record, "conflicts") > 0)
		format_append(detail, sizeof(detail), ", %llu in conflict",
			      (unsigned long long)number_of(record, "conflicts"));
	if (number_of(record, "held") > 0 && !(open && open->text[0]))
		format_append(detail, sizeof(detail), ", %llu held back",
			      (unsigned long long)number_of(record, "held"));
	if (error > 0)
		format_text(detail, sizeof(detail), "failed: %s", errno_text((int)error));
	if (open && open->text[0])
		format_append(detail, sizeof(detail), "; %s", open->text);
	print_row(log, record->time_us, open ? open->seq : record->seq,
		  open ? open->event : "apply", detail);
	if (open)
		open->pid = 0;
}

/* --- all of them ---------------------------------------------------------------------------- */

/* A limit is no line of its own: the verdict of the execution's end names it. */
static const struct {
	enum audit_event event;
	void (*take)(struct sandbox_log *log, const struct record *record);
} takers[] = {
	{ AUDIT_EXECUTION_BEGIN, take_execution_begin },
	{ AUDIT_EXECUTION_END, take_execution_end },
	{ AUDIT_DENIAL, take_denial },
	{ AUDIT_CONNECTION_BEGIN, take_connection_begin },
	{ AUDIT_CONNECTION_END, take_connection_end },
	{ AUDIT_NETWORK_GRANT, take_grant },
	{ AUDIT_NETWORK_CUT, take_grant },
	{ AUDIT_BRIDGE_BEGIN, take_bridge },
	{ AUDIT_BRIDGE_END, take_bridge },
	{ AUDIT_SANDBOX_BEGIN, take_sandbox_begin },
	{ AUDIT_SANDBOX_CHANGE, take_sandbox_change },
	{ AUDIT_SANDBOX_END, take_sandbox_end },
	{ AUDIT_APPLY_BEGIN, take_apply_begin },
	{ AUDIT_APPLY_END, take_apply_end },
};

static void take_record(struct sandbox_log *log, const struct record *record)
{
	/* One supervisor at a time has a sandbox: what others began has ended. */
	lose_of(log, record->pid, true);
	for (size_t i = 0; i < sizeof(takers) / sizeof(takers[0]); i++) {
		if (has_text(record, "event", audit_event_name(takers[i].event)))
			takers[i].take(log, record);
	}
}

/* Print a record as the log has it; with the command where the history has that. */
static void print_json(const struct record *record)
{
	static const char end[] = "}\n";
	const size_t end_size = sizeof(end) - 1;
	const bool is_begin = has_text(record, "event", audit_event_name(AUDIT_EXECUTION_BEGIN));
	const struct history_note *command =
		is_begin ? sandbox_history_find(record->pid, number_of(record, "execution"),
						record->time_us)
			 : NULL;
	struct buffer members = { 0 };

	if (!command || record->size < end_size ||
	    memcmp(record->line + record->size - end_size, end, end_size) != 0) {
		(void)fwrite(record->line, 1, record->size, stdout);
		return;
	}
	sandbox_history_put(command, &members);
	(void)fwrite(record->line, 1, record->size - end_size, stdout);
	(void)putchar(',');
	(void)fwrite(members.bytes, 1, members.size, stdout);
	(void)fputs(end, stdout);
	buffer_done(&members);
}

bool sandbox_log_take(void *context, const char *line, size_t size)
{
	struct sandbox_log *log = context;
	struct record record = { .line = line, .size = size };
	bool is_ours;

	record.seq = number_of(&record, "seq");
	record.time_us = number_of(&record, "time_us");
	record.pid = number_of(&record, "pid");
	is_ours = has_text(&record, "sandbox", log->id) || has_text(&record, "origin", log->id);
	log->records += is_ours;
	if (is_ours && log->is_json && is_shown(log))
		print_json(&record);
	if (is_ours && !log->is_json)
		take_record(log, &record);
	else if (is_ours)
		log->is_over = has_text(&record, "event", audit_event_name(AUDIT_SANDBOX_END));
	else if (has_text(&record, "event", audit_event_name(AUDIT_START)))
		lose_of(log, record.pid, false); /* another process with the same number */
	return !log->is_over;
}

void sandbox_log_finish(struct sandbox_log *log)
{
	for (size_t i = 0; i < SANDBOX_LOG_OPEN; i++)
		lose_open(log, &log->open[i], "has not ended");
}
