/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/record.h"

#include <stdlib.h>
#include <string.h>

#include "ask/state_file.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/state_place.h"
#include "lib/heap/buffer.h"
#include "lib/heap/memory.h"

#define FILE_NAME "agents"

/* Far more than sandboxes last. */
#define RECORDS_MAX 500

/* Words of a line before the path; "-" is an empty one. */
#define LINE_WORDS 7
#define NOTHING "-"

/* Letters of the last word, behind a "-". */
#define HAS_LOGIN "l"
#define HAS_SESSION "s"

struct records {
	int file; /* locked */
	size_t count, room;
	struct agent_record *list;
};

static struct agent_record *add_record(struct records *records, const struct agent_record *record)
{
	records->list = memory_grow_list(records->list, &records->room, records->count + 1,
					 sizeof(*record));
	records->list[records->count] = *record;
	return &records->list[records->count++];
}

static void remove_record(struct records *records, size_t at)
{
	records->count--;
	memmove(&records->list[at], &records->list[at + 1],
		(records->count - at) * sizeof(records->list[0]));
}

static void copy_word(char *ret, size_t room, const char *word)
{
	format_text(ret, room, "%s", strcmp(word, NOTHING) == 0 ? "" : word);
}

/* Take a line, unless it is none of ours. */
static void read_line(void *context, char *line)
{
	struct agent_record record = { .id = "" };
	char *words[LINE_WORDS];

	for (int i = 0; i < LINE_WORDS; i++) {
		words[i] = line;
		line = strchr(line, ' ');
		if (!line)
			return;
		*line++ = '\0';
	}
	if (line[0] != '/' || strlen(line) >= sizeof(record.project) ||
	    strlen(words[0]) != IPC_ID_MAX - 1)
		return;
	state_file_restore(line);
	format_text(record.id, sizeof(record.id), "%s", words[0]);
	format_text(record.agent, sizeof(record.agent), "%s", words[1]);
	copy_word(record.word, sizeof(record.word), words[2]);
	copy_word(record.sandbox, sizeof(record.sandbox), words[3]);
	copy_word(record.profile, sizeof(record.profile), words[4]);
	copy_word(record.command, sizeof(record.command), words[5]);
	record.has_login = strstr(words[6], HAS_LOGIN) != NULL;
	record.has_session = strstr(words[6], HAS_SESSION) != NULL;
	format_text(record.project, sizeof(record.project), "%s", line);
	(void)add_record(context, &record);
}

static const char *word_or_nothing(const char *word)
{
	return word[0] ? word : NOTHING;
}

static int write_records(const struct records *records)
{
	struct buffer text = { 0 };
	int error;

	for (size_t i = 0; i < records->count; i++) {
		const struct agent_record *record = &records->list[i];

		buffer_format(&text, "%s %s %s %s %s %s " NOTHING "%s%s ", record->id,
			      record->agent, word_or_nothing(record->word),
			      word_or_nothing(record->sandbox), word_or_nothing(record->profile),
			      word_or_nothing(record->command), record->has_login ? HAS_LOGIN : "",
			      record->has_session ? HAS_SESSION : "");
		state_file_escape(&text, record->project);
		buffer_append(&text, "\n", 1);
	}
	error = state_file_write(records->file, &text);
	buffer_done(&text);
	return error;
}

static int open_records(struct records *records, char *text)
{
	text[0] = '\0';
	*records = (struct records){ .file = -1 };
	return state_file_open(FILE_NAME, read_line, records, &records->file, text);
}

static void close_records(struct records *records)
{
	free(records->list);
	fd_close(&records->file);
}

static bool is_same(const struct agent_record *one, const struct agent_record *other)
{
	return strcmp(one->agent, other->agent) == 0 && strcmp(one->word, other->word) == 0 &&
	       strcmp(one->project, other->project) == 0;
}

bool agent_record_find(struct agent_record *ret, char *text)
{
	struct records records;
	bool is_found = false;

	if (open_records(&records, text) == 0) {
		for (size_t i = records.count; i-- > 0 && !is_found;) {
			is_found = is_same(&records.list[i], ret);
			if (is_found)
				*ret = records.list[i];
		}
	}
	close_records(&records);
	return is_found;
}

/* Write what was changed, and close the file. 0, or -errno with a phrase in `text`. */
static int finish_change(struct records *records, int error, char *text)
{
	if (!error) {
		error = write_records(records);
		if (error)
			format_text(text, STATE_PLACE_TEXT_MAX, "%s", errno_text(-error));
	}
	close_records(records);
	return error;
}

int agent_record_write(const struct agent_record *record, char *text)
{
	struct records records;
	const int error = open_records(&records, text);

	for (size_t i = records.count; i-- > 0;) {
		if (is_same(&records.list[i], record))
			remove_record(&records, i);
	}
	while (records.count >= RECORDS_MAX)
		remove_record(&records, 0);
	(void)add_record(&records, record);
	return finish_change(&records, error, text);
}

int agent_record_drop(const char *id, char *text)
{
	struct records records;
	const int error = open_records(&records, text);

	for (size_t i = records.count; i-- > 0;) {
		if (strcmp(records.list[i].id, id) == 0)
			remove_record(&records, i);
	}
	return finish_change(&records, error, text);
}

int agent_records_each(void (*take)(void *context, const struct agent_record *record),
		       void *context, char *text)
{
	struct records records;
	const int error = open_records(&records, text);

	fd_close(&records.file); /* `take` may look for one */
	for (size_t i = records.count; i-- > 0 && !error;)
		take(context, &records.list[i]);
	close_records(&records);
	return error;
}

const char *agent_word_check(const char *word)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_";

	if (word[0] == '\0' || strlen(word) > 16 || word[strspn(word, allowed)] != '\0' ||
	    word[0] == '-')
		return "1 to 16 letters, digits, '-' and '_', and no '-' at the beginning";
	return NULL;
}
