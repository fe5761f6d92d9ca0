/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/rows.h"

#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/helper.h"
#include "launcher/start/compile.h"
#include "launcher/start/launch.h"
#include "lib/heap/memory.h"
#include "options/options.h"
#include "options/suggest.h"

#define PROGRAM "msp-policy"

/* All rows with their files; longest that printing them may take. */
#define TEXT_ROOM (4 << 20)
#define WAIT_MS 10000

/* --- lines ------------------------------------------------------------------------------------ */

/* The words of lines with one value, and of lists. */
static const struct {
	const char *word;
	size_t offset;
} values[] = {
	{ "description", offsetof(struct agent_row, description) },
	{ "install", offsetof(struct agent_row, install) },
	{ "base_url", offsetof(struct agent_row, base_url) },
	{ "note", offsetof(struct agent_row, note) },
	{ "version", offsetof(struct agent_row, version) },
}, lists[] = {
	{ "program", offsetof(struct agent_row, programs) },
	{ "host", offsetof(struct agent_row, hosts) },
	{ "login_host", offsetof(struct agent_row, login_hosts) },
	{ "key", offsetof(struct agent_row, keys) },
	{ "argument", offsetof(struct agent_row, arguments) },
	{ "resume", offsetof(struct agent_row, resume) },
	{ "login_argument", offsetof(struct agent_row, login_arguments) },
};

/* Undo the escapes of a file's text, in place. */
static void restore_text(char *text)
{
	char *to = text;

	for (; *text != '\0'; text++) {
		if (*text != '\\' || text[1] == '\0') {
			*to++ = *text;
			continue;
		}
		text++;
		*to++ = *text == 'n' ? '\n' : *text == 't' ? '\t' : *text;
	}
	*to = '\0';
}

static bool add_file(struct agent_row *row, const char *path)
{
	if (row->file_count == AGENT_FILES_MAX)
		return false;
	row->files[row->file_count++].path = path;
	return true;
}

static bool set_text(struct agent_row *row, char *text)
{
	if (row->file_count == 0)
		return false;
	restore_text(text);
	row->files[row->file_count - 1].text = text;
	return true;
}

static bool add_word(struct agent_row *row, size_t offset, const char *value)
{
	struct agent_words *list = (struct agent_words *)((char *)row + offset);

	if (list->count == AGENT_WORDS_MAX)
		return false;
	list->list[list->count++] = value;
	return true;
}

/* Put the value of a line into its row. False: there is no room, or the line is out of place. */
static bool read_value(struct agent_row *row, const char *word, char *value)
{
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		if (strcmp(word, values[i].word) == 0) {
			*(const char **)((char *)row + values[i].offset) = value;
			return true;
		}
	}
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (strcmp(word, lists[i].word) == 0)
			return add_word(row, lists[i].offset, value);
	}
	if (strcmp(word, "file") == 0)
		return add_file(row, value);
	if (strcmp(word, "text") == 0)
		return set_text(row, value);
	if (strcmp(word, "login_port") == 0)
		row->login_port = (uint32_t)strtoul(value, NULL, 10);
	return true;
}

static bool read_line(struct agent_rows *rows, char *line)
{
	char *value = strchr(line, '\t');

	if (!value)
		return line[0] == '\0';
	*value++ = '\0';
	if (strcmp(line, "agent") != 0)
		return rows->count > 0 && read_value(&rows->list[rows->count - 1], line, value);
	if (rows->count == AGENT_ROWS_MAX)
		return false;
	rows->list[rows->count++] = (struct agent_row){ .name = value };
	return true;
}

bool agent_rows_read(char *text, struct agent_rows *ret)
{
	*ret = (struct agent_rows){ .text = text };
	while (text) {
		char *next = strchr(text, '\n');

		if (next)
			*next++ = '\0';
		if (!read_line(ret, text))
			return false;
		text = next;
	}
	return true;
}

/* --- the program ------------------------------------------------------------------------------ */

/* Run msp-policy. 0 with its lines, or the exit code after a line; its own are on stderr. */
static int run_program(const char *path, char *text, size_t *ret_size)
{
	char problem[LAUNCH_TEXT_MAX];
	const char *home = compile_home();
	const char *words[7] = { PROGRAM, "agents" };
	int image FD_OWNED = launch_open_program(PROGRAM, problem);
	const struct helper helper = { .image = image, .words = words, .output_of = STDOUT_FILENO };
	struct helper_answer answer;
	size_t used = 2;

	if (image < 0)
		return log_fail(MSP_EXIT_SOFTWARE, "%s", problem);
	if (path[0]) {
		words[used++] = "--config";
		words[used++] = path;
	}
	if (home) {
		words[used++] = "--home";
		words[used++] = home;
	}
	answer = helper_run(&helper, WAIT_MS, text, TEXT_ROOM - 1);
	*ret_size = answer.size;
	if (answer.end == HELPER_ENDED) /* it has said why */
		return MSP_EXIT_REFUSED;
	return answer.end == HELPER_DONE ? 0 : helper_explain_end(PROGRAM, &answer, WAIT_MS);
}

int agent_rows_load(const char *config, struct agent_rows *ret)
{
	char path[IPC_PATH_MAX], problem[CONFIG_TEXT_MAX];
	char *text;
	size_t size = 0;
	int code;

	if (config_find(config, path, problem) != 0)
		return log_fail(MSP_EXIT_REFUSED, "%s", problem);
	text = memory_get_zeroed(1, TEXT_ROOM);
	code = run_program(path, text, &size);
	if (!code && (size == TEXT_ROOM - 1 || strlen(text) != size || !agent_rows_read(text, ret)))
		code = log_fail(MSP_EXIT_SOFTWARE, PROGRAM " printed agents that cannot be read: "
							   "is it of this version?");
	if (code)
		free(text);
	return code;
}

const struct agent_row *agent_rows_find(const struct agent_rows *rows, const char *name)
{
	for (uint32_t i = 0; i < rows->count; i++) {
		if (strcmp(rows->list[i].name, name) == 0)
			return &rows->list[i];
	}
	return NULL;
}

int agent_rows_refuse(const struct agent_rows *rows, const char *name)
{
	const char *names[AGENT_ROWS_MAX];
	char text[2 * OPTIONS_TEXT_MAX];

	format_text(text, sizeof(text), "there is no agent '%.100s'", name);
	for (uint32_t i = 0; i < rows->count; i++)
		names[i] = rows->list[i].name;
	suggest_append(text, sizeof(text), name, names, rows->count);
	format_append(text, sizeof(text), "; known are");
	for (uint32_t i = 0; i < rows->count; i++)
		format_append(text, sizeof(text), "%s %s", i > 0 ? "," : "", names[i]);
	format_append(text, sizeof(text),
		      ", and 'agents:' in the configuration adds one (msp-policy(5))");
	return log_fail(MSP_EXIT_USAGE, "%s", text);
}
