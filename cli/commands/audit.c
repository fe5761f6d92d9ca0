/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp audit`: what the supervisors have recorded, and whether it is as they wrote it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit_read.h"
#include "common/log.h"
#include "launcher/start/launch.h"
#include "options/command.h"

/* Records that show prints, unless --last says how many. */
#define LAST_DEFAULT 50

/* Old records that follow prints first. */
#define FOLLOW_LAST 10

#define EXIT_FOUND 1 /* the log is not as it was written */

struct audit_options {
	const char *run_as;
	uint64_t last;
	bool is_json;
};

#define ROW(option, value, setter, member, text)                                                   \
	OPTION(struct audit_options, option, value, setter, member, text)

static const struct option_row rows[] = {
	OPTION_LETTER(struct audit_options, 'n', "last", "N", option_set_last, last,
		      "show: the last N records (the default: 50), 0 for all; -n N is the same"),
	ROW("json", NULL, option_set_flag, is_json,
	    "show, follow: print the records as they are in the log, JSON lines"),
	OPTION_RUN_AS(struct audit_options, run_as),
};

static const char help[] =
	"The supervisor records what it starts, refuses and ends, in files of the user\n"
	"alone: sizes and hashes of what was asked for, and the words of commands only\n"
	"where the operator's configuration says 'audit: {commands: text}'.\n"
	"\n"
	"  show    print the last records\n"
	"  verify  check that no record was changed, removed, moved or put in; the exit\n"
	"          code is 0 when all are as they were written, and 1 when not\n"
	"  follow  print records as they are written, also when files are rotated\n"
	"\n"
	"The log is in MSP_STATE_DIR/audit, or else in ~/.local/state/msp/audit, or, for\n"
	"an account without a home of its own, in /var/lib/msp/UID/audit.\n";

static int give_up(const char *action, const char *text, int code)
{
	return log_fail(code, "audit %s: %s", action, text);
}

static struct audit_taker printer_of(const struct audit_options *options)
{
	return (struct audit_taker){ .take = options->is_json ? audit_print_json : audit_print };
}

/* The last records of all files; false when some lines were none. */
static bool print_last(const struct audit_options *options, const struct audit_log *log,
		       uint64_t last)
{
	const uint64_t lines = last == UINT64_MAX ? 0 : audit_log_lines(log);
	const struct audit_taker taker = printer_of(options);
	uint64_t bad;

	return audit_log_each(log, lines > last ? lines - last : 0, &taker, &bad) == 0 && bad == 0;
}

static int run_show(const struct audit_options *options, const struct audit_log *log)
{
	const bool is_good = print_last(options, log, options->last);

	if (fflush(stdout) != 0)
		return give_up("show", "standard output cannot be written", MSP_EXIT_SOFTWARE);
	return is_good ? 0 : EXIT_FOUND;
}

static int run_follow(const struct audit_options *options, const struct audit_log *log)
{
	const struct audit_taker taker = printer_of(options);
	int error;

	(void)print_last(options, log, FOLLOW_LAST);
	error = audit_follow(log, &taker);
	return error == -EPIPE ? MSP_EXIT_SIGNAL_BASE + 13
			       : give_up("follow", errno_text(-error), MSP_EXIT_SOFTWARE);
}

/* --- verify ---------------------------------------------------------------------------------- */

struct audit_verdict {
	uint64_t records;
	uint64_t torn;     /* lines that a killed writer left, each closed off by the next one */
	uint64_t findings; /* lines that are not as they were written */
};

/* A chain's findings are of one kind each, but a file of something else has one in every line. */
#define FINDINGS_TOLD_MAX 100

struct walk {
	const struct audit_log *log;
	struct audit_verdict verdict;
	unsigned int file;
	uint64_t line;

	bool has_last;
	struct audit_link last;

	/* A line that is no record, and may be a torn one: the next record says so. */
	bool has_torn;
	bool can_be_last; /* it is the beginning of the next record */
	uint64_t torn_line;
	unsigned int torn_file;
	size_t torn_size;
	char torn_hash[AUDIT_HASH_MAX];
};

static struct audit_reader reader;

static void find_at(struct walk *walk, unsigned int file, uint64_t line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static void find_at(struct walk *walk, unsigned int file, uint64_t line, const char *format, ...)
{
	char name[AUDIT_NAME_MAX];
	char text[512];
	va_list arguments;

	walk->verdict.findings++;
	if (walk->verdict.findings > FINDINGS_TOLD_MAX)
		return;
	audit_file_name(file, name);
	va_start(arguments, format);
	/* As in format.c. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	log_line("%s:%llu: %s", name, (unsigned long long)line, text);
	if (walk->verdict.findings == FINDINGS_TOLD_MAX)
		log_line("further findings are only counted");
}

/* The line before is torn if this record, written by who found it so, says the same of it. */
static void judge_torn(struct walk *walk, const char *line, size_t size)
{
	struct audit_value event = { 0 };
	struct audit_value bytes = { 0 };
	struct audit_value hash = { 0 };
	const bool is_torn = line && audit_value_find(line, size, "event", &event) &&
			     audit_value_is(&event, audit_event_name(AUDIT_TORN)) &&
			     audit_value_find(line, size, "bytes", &bytes) &&
			     audit_value_number(&bytes) == walk->torn_size &&
			     audit_value_find(line, size, "sha256", &hash) &&
			     audit_value_is(&hash, walk->torn_hash);

	if (walk->has_torn && is_torn)
		walk->verdict.torn++;
	else if (walk->has_torn)
		find_at(walk, walk->torn_file, walk->torn_line, "this line is no record");
	else if (line && audit_value_find(line, size, "event", &event) &&
		 audit_value_is(&event, audit_event_name(AUDIT_TORN)))
		find_at(walk, walk->file, walk->line,
			"a torn line was in front of this record, and is gone");
	walk->has_torn = false;
}

static void keep_torn(struct walk *walk, const char *line, size_t size)
{
	if (walk->has_torn)
		judge_torn(walk, NULL, 0);
	walk->has_torn = true;
	walk->torn_file = walk->file;
	walk->torn_line = walk->line;
	walk->torn_size = size > 0 && line[size - 1] == '\n' ? size - 1 : size;
	walk->can_be_last =
		walk->torn_size == size && audit_is_torn(line, size, walk->last.seq + 1);
	audit_hash(line, walk->torn_size, walk->torn_hash);
}

/* How a record continues the one before it. */
static void judge_link(struct walk *walk, const struct audit_link *link)
{
	const unsigned long long seq = link->seq;
	const unsigned long long expected = walk->last.seq + 1;

	if (seq > expected)
		find_at(walk, walk->file, walk->line,
			"record %llu follows record %llu: %llu in between %s missing", seq,
			expected - 1, seq - expected, seq - expected == 1 ? "is" : "are");
	else if (seq < expected)
		find_at(walk, walk->file, walk->line,
			"record %llu stands behind record %llu: lines were swapped, or put in", seq,
			expected - 1);
	else if (strcmp(link->previous, walk->last.hash) != 0)
		find_at(walk, walk->file, walk->line,
			"record %llu does not follow the one before it, which is another than when "
			"it was written",
			seq);
}

static void judge_first(struct walk *walk, const struct audit_link *link)
{
	const struct audit_head none = audit_head_none();
	const bool is_first = link->seq == 1 && strcmp(link->previous, none.hash) == 0;

	/* The oldest file may be gone when there are as many as are kept. */
	if (!is_first && walk->log->files[0].number != AUDIT_KEPT)
		find_at(walk, walk->file, walk->line,
			"the log begins with record %llu: what is older is missing",
			(unsigned long long)link->seq);
}

/* Report a record whose writer found the chain broken, and began it anew. */
static void tell_broken(struct walk *walk, const char *line, size_t size)
{
	struct audit_value reason = { 0 };
	struct audit_value expected = { 0 };
	struct audit_value found = { 0 };

	(void)audit_value_find(line, size, "reason", &reason);
	(void)audit_value_find(line, size, "expected_seq", &expected);
	(void)audit_value_find(line, size, "found_seq", &found);
	find_at(walk, walk->file, walk->line,
		"here a supervisor found the log changed (%.*s): it should have ended with record "
		"%llu, and ended with %llu",
		(int)reason.size, reason.value ? reason.value : "",
		(unsigned long long)audit_value_number(&expected),
		(unsigned long long)audit_value_number(&found));
}

static void judge_record(struct walk *walk, const char *line, size_t size)
{
	struct audit_value event = { 0 };
	struct audit_link link;

	if (!audit_is_record(line, size) || !audit_link_read(line, size, &link)) {
		keep_torn(walk, line, size);
		return;
	}
	walk->verdict.records++;
	judge_torn(walk, line, size);
	if (!link.is_intact)
		find_at(walk, walk->file, walk->line,
			"record %llu was changed: its hash is not that of its content",
			(unsigned long long)link.seq);
	if (audit_value_find(line, size, "event", &event) &&
	    audit_value_is(&event, audit_event_name(AUDIT_CHAIN_BROKEN)))
		tell_broken(walk, line, size);
	else if (walk->has_last)
		judge_link(walk, &link);
	else
		judge_first(walk, &link);
	walk->last = link;
	walk->has_last = true;
}

static int walk_file(struct walk *walk, const struct audit_file *file)
{
	const char *line;
	size_t size;
	int more;

	if (lseek(file->fd, 0, SEEK_SET) != 0)
		return -1;
	walk->file = file->number;
	audit_reader_init(&reader, file->fd, file->size);
	while ((more = audit_reader_next(&reader, &line, &size)) == 1) {
		walk->line = reader.line;
		judge_record(walk, line, size);
	}
	return more;
}

/* Is the end the one that the head knows? A writer that was killed may have written one record, or
 * the beginning of one, more. */
static void judge_end(struct walk *walk)
{
	const struct audit_head *head = &walk->log->head;
	const struct audit_link *last = &walk->last;
	const bool is_next = last->seq == head->seq + 1 && strcmp(last->previous, head->hash) == 0;

	if (walk->has_torn && walk->can_be_last && last->seq == head->seq) {
		walk->has_torn = false;
		walk->verdict.torn++;
		log_line("the last line is torn, as a writer leaves it that is killed; the next "
			 "one closes it off");
	} else if (walk->has_torn) {
		judge_torn(walk, NULL, 0);
	}
	if (!walk->log->has_head && walk->has_last)
		find_at(walk, walk->file, walk->line,
			"the file '" AUDIT_HEAD
			"', which says where the log ends, is missing or is "
			"none: nobody can tell whether records are missing here");
	else if (walk->log->has_head && last->seq < head->seq)
		find_at(walk, walk->file, walk->line,
			"the log ends with record %llu, and should with %llu: %llu %s missing",
			(unsigned long long)last->seq, (unsigned long long)head->seq,
			(unsigned long long)(head->seq - last->seq),
			head->seq - last->seq == 1 ? "is" : "are");
	else if (walk->log->has_head && strcmp(last->hash, head->hash) != 0 && !is_next)
		find_at(walk, walk->file, walk->line,
			"the last record is not the one that the log should end with");
}

/* Follow the chain through all files. Each finding is a line on stderr, with its file and line. 0
 * or -errno. */
static int audit_verify(const struct audit_log *log, struct audit_verdict *ret)
{
	struct walk walk = { .log = log };
	int error = 0;

	for (unsigned int i = 0; i < log->count && !error; i++)
		error = walk_file(&walk, &log->files[i]);
	if (!error)
		judge_end(&walk);
	*ret = walk.verdict;
	return error;
}

static int run_verify(const struct audit_options *options, const struct audit_log *log)
{
	struct audit_verdict verdict;
	const int error = audit_verify(log, &verdict);

	(void)options;
	if (error)
		return give_up("verify", "the log cannot be read", MSP_EXIT_SOFTWARE);
	if (!log->is_locked && log->has_head)
		log_line(
			"audit verify: a process keeps the log's lock, as if it were stopped while "
			"it writes; this is the log as it is");
	(void)printf("%llu record%s in %u file%s: ", (unsigned long long)verdict.records,
		     verdict.records == 1 ? "" : "s", log->count, log->count == 1 ? "" : "s");
	if (verdict.findings == 0)
		(void)fputs("the chain is whole", stdout);
	else
		(void)printf("%llu finding%s", (unsigned long long)verdict.findings,
			     verdict.findings == 1 ? "" : "s");
	if (verdict.torn > 0)
		(void)printf("; %llu torn by writers that were killed",
			     (unsigned long long)verdict.torn);
	(void)putchar('\n');
	if (fflush(stdout) != 0)
		return give_up("verify", "standard output cannot be written", MSP_EXIT_SOFTWARE);
	return verdict.findings == 0 ? 0 : EXIT_FOUND;
}

static const struct action {
	struct command_action is;
	int (*run)(const struct audit_options *options, const struct audit_log *log);
} actions[] = {
	{ { "show", 0, 0, NULL }, run_show },
	{ { "verify", 0, 0, NULL }, run_verify },
	{ { "follow", 0, 0, NULL }, run_follow },
};

static int run_action(const struct action *action, const struct audit_options *options)
{
	char text[STATE_PLACE_TEXT_MAX];
	struct audit_log log;
	int code;

	if (!audit_log_find(&log, text))
		return give_up(action->is.name, text, MSP_EXIT_REFUSED);
	code = action->run(options, &log);
	audit_log_done(&log);
	return code;
}

static int run_audit(const struct command *command, int argc, char *argv[])
{
	struct audit_options options = { .last = LAST_DEFAULT };
	const struct action *action;
	struct command_words words = { .most = 1 };
	struct config config = CONFIG_UNREAD;
	char text[LAUNCH_TEXT_MAX];
	int code;

	action = command_parse_action(command, argc, argv, &options, &words, &code);
	if (!action)
		return code;
	if (launch_standard_fds() < 0)
		return give_up(action->is.name, "/dev/null cannot be opened", MSP_EXIT_SOFTWARE);
	if (launch_drop_root(options.run_as, &config, &code, text) != 0)
		return give_up(action->is.name, text, code);
	return run_action(action, &options);
}

const struct command command_audit = {
	.name = "audit",
	.operands = "show | verify | follow",
	.summary = "show and check the audit log",
	.help = help,
	.options = { OPTION_ROWS(rows), .has_operands = true },
	.actions = ACTION_ROWS(actions),
	.run = run_audit,
};
