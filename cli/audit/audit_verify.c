/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/audit_verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"

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
			"record %llu follows record %llu: %llu in between are missing", seq,
			expected - 1, seq - expected);
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
			"the log ends with record %llu, and should with %llu: %llu are missing",
			(unsigned long long)last->seq, (unsigned long long)head->seq,
			(unsigned long long)(head->seq - last->seq));
	else if (walk->log->has_head && strcmp(last->hash, head->hash) != 0 && !is_next)
		find_at(walk, walk->file, walk->line,
			"the last record is not the one that the log should end with");
}

int audit_verify(const struct audit_log *log, struct audit_verdict *ret)
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
