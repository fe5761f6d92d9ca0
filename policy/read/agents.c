/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/read/agents.h"

#include "lib/heap/memory.h"
#include "policy/read/builtin.h"
#include "policy/read/reading.h"
#include "policy/read/units.h"

#include <stdlib.h>
#include <string.h>

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

#define LINE_LONGEST 500

/* A row's files together, which `msp agent` copies into a sandbox. */
#define FILE_LONGEST 65536

/* --- checks of a row -------------------------------------------------------------------------- */

/* A line of `msp-policy agents` has one value, so no value has a tab or an end of line. */
static int check_line(const struct reading *reading, const char *key)
{
	const char *text = node_text(reading->said, key);

	if (text == NULL)
		return 0;
	for (const char *at = text; *at != '\0'; at++) {
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return reading_fail(reading, key,
					    "holds a control character; expected one line");
	}
	return *text != '\0' && strlen(text) <= LINE_LONGEST
		       ? 0
		       : reading_fail(reading, key,
				      "empty or too long; expected one line of 1 to %d bytes",
				      LINE_LONGEST);
}

static int check_entry_line(const struct reading *entry)
{
	return check_line(entry, "");
}

static int check_program(const struct reading *entry)
{
	const char *name = entry->said->text;

	if (reading_is_word(name, LOWER UPPER DIGITS "._+-", 64) && name[0] != '-' &&
	    strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
		return 0;
	return reading_fail(
		entry, "",
		"\"%s\" is not the name of a program; expected one without a directory, "
		"such as claude",
		name);
}

/* Files are made below the sandbox's home. */
static bool is_below_home(const char *path)
{
	struct buffer whole = { .bytes = NULL };
	bool is_below;

	buffer_format(&whole, "/%s", path);
	is_below = reading_is_path(whole.bytes) && strpbrk(path, "\t\n") == NULL;
	buffer_done(&whole);
	return is_below;
}

static int check_file(const struct reading *entry)
{
	const char *path = node_text(entry->said, "path");
	const char *text = node_text(entry->said, "text");

	if (path == NULL || text == NULL)
		return reading_fail(entry, path == NULL ? "path" : "text",
				    "missing; expected a file such as {path: .tool.json, text: "
				    "\"{}\"}");
	if (!is_below_home(path))
		return reading_fail(entry, "path",
				    "\"%s\" is not a path below the home; expected one such as "
				    ".config/tool.json, without . and ..",
				    path);
	if (reading_is_again(entry, "path"))
		return reading_fail(entry, "path", "%s given twice; expected once", path);
	return strlen(text) <= FILE_LONGEST
		       ? 0
		       : reading_fail(entry, "text", "too long; expected at most %d bytes",
				      FILE_LONGEST);
}

static int check_base_url(const struct reading *reading)
{
	const char *name = node_text(reading->said, "base_url");

	if (name == NULL ||
	    (reading_is_word(name, LOWER UPPER DIGITS "_", 63) && strchr(DIGITS, name[0]) == NULL))
		return 0;
	return reading_fail(reading, "base_url",
			    "\"%s\" is not a variable's name; expected one such as "
			    "OPENAI_BASE_URL",
			    name);
}

static int check_login(const struct reading *reading)
{
	const char *text = node_text(reading->said, "login.port");
	uint64_t port;

	if (text == NULL || (units_number(text, &port) && port <= UINT16_MAX))
		return 0;
	return reading_fail(reading, "login.port",
			    "\"%.100s\" is not a port; expected a number from 1 to 65535, or 0 for "
			    "none",
			    text);
}

static int check_name(const struct reading *row)
{
	const char *name = node_text(row->said, "name");

	if (name == NULL)
		return reading_fail(row, "name", "missing; expected the agent's name");
	if (!reading_is_word(name, LOWER DIGITS "-", AGENTS_NAME_MAX) || name[0] < 'a')
		return reading_fail(row, "name",
				    "\"%s\" is not a name; expected up to %d of a-z, 0-9 and -, "
				    "and first a letter",
				    name, AGENTS_NAME_MAX);
	return 0;
}

/* Refuse a name that the file has already: the row would replace that of the file itself. */
static int check_twin(const struct reading *row)
{
	const char *name = node_text(row->said, "name"), *other;

	for (const struct node *before = row->first; before < row->said; before++) {
		other = node_text(before, "name");
		if (strcmp(other, name) == 0)
			return reading_fail(row, "name",
					    "there is an agent \"%s\" in line %u already; expected "
					    "another name",
					    name, node_line(before, "name"));
	}
	return 0;
}

/* Check what no profile checks: keys and hosts are those of the profile of the agent. */
static int check_row(const struct reading *row)
{
	static const char *const lines[] = { "description", "install", "note", "version",
					     "extends" };
	static const char *const lists[] = { "arguments", "resume", "environment",
					     "login.arguments" };

	if (check_name(row) != 0 || check_twin(row) != 0 || check_base_url(row) != 0 ||
	    check_login(row) != 0 || reading_each(row, "programs", check_program) != 0 ||
	    reading_each(row, "files", check_file) != 0)
		return -1;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (check_line(row, lines[i]) != 0)
			return -1;
	}
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (reading_each(row, lists[i], check_entry_line) != 0)
			return -1;
	}
	return 0;
}

/* Check that a row has what an agent needs, with the built-in row of its name. */
static int check_needs(const struct reading *row, const struct node *merged)
{
	if (node_texts(merged, "programs").count == 0)
		return reading_fail(row, "programs",
				    "missing; expected the names of its program, such as [claude]");
	if (node_texts(merged, "hosts").count == 0)
		return reading_fail(row, "hosts",
				    "missing; expected the hosts of its model, such as "
				    "[api.example.org]");
	return 0;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Put the keys of a row on top of those of an earlier one, which get the line of the row. */
static struct node merge_rows(const struct node *earlier, const struct node *row)
{
	struct node merged = { .kind = NODE_KEYS, .line = row->line };

	merged.items = memory_get_zeroed(earlier->count + row->count + 1, sizeof(merged.items[0]));
	merged.texts = NULL;
	for (uint32_t i = 0; i < earlier->count; i++) {
		if (node_find(row, earlier->items[i].key) == NULL)
			merged.items[merged.count++] = node_copy(&earlier->items[i], row->line);
	}
	for (uint32_t i = 0; i < row->count; i++)
		merged.items[merged.count++] = node_copy(&row->items[i], 0);
	return merged;
}

static uint32_t find_index(const struct agents *agents, const char *name)
{
	uint32_t index = 0;

	while (index < agents->count && strcmp(agents->of[index].name, name) != 0)
		index++;
	return index;
}

/* Take a row of a file over, in the place of an earlier one of its name. */
static int add_row(struct agents *agents, const struct reading *row)
{
	const uint32_t place = find_index(agents, node_text(row->said, "name"));
	const struct node none = { .kind = NODE_KEYS };
	struct agent *agent = &agents->of[place];
	struct node merged;

	if (place == AGENTS_MAX)
		return reading_fail(row, "name", "too many agents; expected at most %u",
				    AGENTS_MAX);
	merged = merge_rows(place < agents->count ? &agent->row : &none, row->said);
	if (check_needs(row, &merged) != 0) {
		node_done(&merged);
		return -1;
	}
	if (place < agents->count)
		node_done(&agent->row);
	else
		agents->count++;
	*agent = (struct agent){ .name = node_text(&merged, "name"),
				 .file = row->place.source->file,
				 .index = (uint32_t)(row->said - row->first),
				 .row = merged };
	return 0;
}

int agents_add(struct agents *agents, const struct source *source, struct policy_error *error)
{
	const struct node *list = node_find(&source->root, "agents");
	struct reading row = { .place = { .source = source }, .error = error };

	for (uint32_t i = 0; list != NULL && i < list->count; i++) {
		row.said = &list->items[i];
		row.first = list->items;
		if (check_row(&row) != 0 || add_row(agents, &row) != 0)
			return -1;
	}
	return 0;
}

struct agents *agents_new(struct policy_error *error)
{
	struct source *source = source_load(builtin_agents[0].file, builtin_agents[0].text,
					    builtin_agents[0].size, error);
	struct agents *agents = memory_get_zeroed(1, sizeof(*agents));

	if (source == NULL || agents_add(agents, source, error) != 0)
		agents = agents_free(agents);
	for (uint32_t i = 0; agents != NULL && i < agents->count; i++)
		agents->of[i].file = builtin_agents[0].file; /* that of the source goes */
	if (source != NULL)
		(void)source_free(source);
	return agents;
}

struct agents *agents_free(struct agents *agents)
{
	if (agents == NULL)
		return NULL;
	for (uint32_t i = 0; i < agents->count; i++)
		node_done(&agents->of[i].row);
	free(agents);
	return NULL;
}

const struct agent *agents_find(const struct agents *agents, const char *name)
{
	const uint32_t index = find_index(agents, name);

	return index < agents->count ? &agents->of[index] : NULL;
}

/* --- lines ------------------------------------------------------------------------------------ */

static void print_text(const char *text, struct buffer *ret)
{
	for (const char *at = text; *at != '\0'; at++) {
		const char *escape = *at == '\n'   ? "\\n"
				     : *at == '\t' ? "\\t"
				     : *at == '\\' ? "\\\\"
						   : NULL;

		buffer_append(ret, escape != NULL ? escape : at, escape != NULL ? 2 : 1);
	}
}

/* Append the text at a key of an entry, which its check has found there. */
static void print_at(const struct node *entry, const char *key, struct buffer *ret)
{
	const char *text = node_text(entry, key);

	buffer_append_text(ret, text != NULL ? text : "");
}

/* Print an entry: one text, a port of this machine, a file, or the name of a key. */
static void print_entry(const struct node *entry, const char *word, struct buffer *ret)
{
	const bool is_port = node_find(entry, "to") != NULL;
	const bool is_file = node_find(entry, "path") != NULL;

	buffer_format(ret, "%s\t", word);
	print_at(entry,
		 entry->kind == NODE_TEXT ? ""
		 : is_port                ? "host"
		 : is_file                ? "path"
					  : "name",
		 ret);
	if (is_port) {
		buffer_append_text(ret, " to ");
		print_at(entry, "to", ret);
	}
	if (is_file) {
		buffer_append_text(ret, "\ntext\t");
		print_text(node_text(entry, "text"), ret);
	}
	buffer_append_text(ret, "\n");
}

void agents_print(const struct agent *agent, struct buffer *text)
{
	static const struct {
		const char *key, *word;
	} lines[] = {
		{ "name", "agent" },
		{ "description", "description" },
		{ "extends", "extends" },
		{ "programs", "program" },
		{ "install", "install" },
		{ "hosts", "host" },
		{ "login_hosts", "login_host" },
		{ "keys", "key" },
		{ "base_url", "base_url" },
		{ "arguments", "argument" },
		{ "note", "note" },
		{ "environment", "environment" },
		{ "login.arguments", "login_argument" },
		{ "login.port", "login_port" },
		{ "resume", "resume" },
		{ "files", "file" },
		{ "version", "version" },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		const struct node *node = node_find(&agent->row, lines[i].key);

		if (node != NULL && node->kind == NODE_TEXT)
			print_entry(node, lines[i].word, text);
		for (uint32_t k = 0; node != NULL && k < node->count; k++)
			print_entry(&node->items[k], lines[i].word, text);
	}
}
