/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/git/config.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Longer names are of no key that git knows. */
#define NAME_MAX_BYTES 64

struct reader {
	const char *at, *end;
	char section[NAME_MAX_BYTES]; /* without its subsection */
	char key[NAME_MAX_BYTES];
	char *subsection; /* room for the whole text */
	char *value;      /* room for the whole text */
};

/* Keys of any section (git-config(1), and those of hooks, filters and tools). */
static const struct {
	const char *name;
	enum git_key kind;
} keys[] = {
	{ "hookspath", GIT_KEY_HOOKS },
	{ "fsmonitor", GIT_KEY_COMMAND },
	{ "sshcommand", GIT_KEY_COMMAND },
	{ "editor", GIT_KEY_COMMAND },
	{ "pager", GIT_KEY_COMMAND },
	{ "askpass", GIT_KEY_COMMAND },
	{ "gitproxy", GIT_KEY_COMMAND },
	{ "alternaterefscommand", GIT_KEY_COMMAND },
	{ "attributesfile", GIT_KEY_ATTRIBUTES },
	{ "clean", GIT_KEY_COMMAND },
	{ "smudge", GIT_KEY_COMMAND },
	{ "process", GIT_KEY_COMMAND },
	{ "textconv", GIT_KEY_COMMAND },
	{ "command", GIT_KEY_COMMAND },
	{ "driver", GIT_KEY_COMMAND },
	{ "cmd", GIT_KEY_COMMAND },
	{ "path", GIT_KEY_COMMAND },
	{ "program", GIT_KEY_COMMAND },
	{ "helper", GIT_KEY_COMMAND },
	{ "external", GIT_KEY_COMMAND },
	{ "difffilter", GIT_KEY_COMMAND },
	{ "update", GIT_KEY_COMMAND },
	{ "templatedir", GIT_KEY_HOOKS },
	{ "uploadpack", GIT_KEY_COMMAND },
	{ "receivepack", GIT_KEY_COMMAND },
	{ "packobjectshook", GIT_KEY_COMMAND },
	{ "defaultkeycommand", GIT_KEY_COMMAND },
	{ "browser", GIT_KEY_COMMAND },
	{ "tocmd", GIT_KEY_COMMAND },
	{ "cccmd", GIT_KEY_COMMAND },
	{ "headercmd", GIT_KEY_COMMAND },
	{ "sendmailcmd", GIT_KEY_COMMAND },
	{ "worktree", GIT_KEY_WORKTREE },
	{ "fetch", GIT_KEY_DATA },
	{ "push", GIT_KEY_DATA },
	{ "url", GIT_KEY_DATA },
	{ "pushurl", GIT_KEY_DATA },
	{ "repo", GIT_KEY_DATA },
	{ "recentrepo", GIT_KEY_DATA },
	{ "excludesfile", GIT_KEY_DATA },
	{ "active", GIT_KEY_DATA },
};

static const struct {
	const char *name;
	enum git_key kind;
} sections[] = {
	{ "alias", GIT_KEY_ALIAS }, { "pager", GIT_KEY_COMMAND }, { "hook", GIT_KEY_COMMAND },
	{ "branch", GIT_KEY_DATA }, { "safe", GIT_KEY_DATA },     { "user", GIT_KEY_DATA },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static enum git_key kind_of(const char *section, const char *key)
{
	if (strcmp(section, "user") == 0 && strcmp(key, "name") == 0)
		return GIT_KEY_NAME;
	if (strcmp(section, "user") == 0 && strcmp(key, "email") == 0)
		return GIT_KEY_EMAIL;
	if ((strcmp(section, "include") == 0 || strcmp(section, "includeif") == 0) &&
	    strcmp(key, "path") == 0)
		return GIT_KEY_INCLUDE;
	if (strcmp(section, "msp") == 0 && strcmp(key, "workspace") == 0)
		return GIT_KEY_SHOWN;
	for (size_t i = 0; i < COUNT(sections); i++) {
		if (strcmp(section, sections[i].name) == 0)
			return sections[i].kind;
	}
	for (size_t i = 0; i < COUNT(keys); i++) {
		if (strcmp(key, keys[i].name) == 0)
			return keys[i].kind;
	}
	return GIT_KEY_OTHER;
}

/* --- the file --------------------------------------------------------------------------------- */

static bool is_at(const struct reader *reader, char wanted)
{
	return reader->at < reader->end && *reader->at == wanted;
}

static void skip_line(struct reader *reader)
{
	while (reader->at < reader->end && *reader->at != '\n')
		reader->at++;
}

static void skip_space(struct reader *reader)
{
	while (reader->at < reader->end && isspace((unsigned char)*reader->at))
		reader->at++;
}

/* In lower case; cut where it is too long, and then no key's name. */
static void read_name(struct reader *reader, char ret[NAME_MAX_BYTES])
{
	size_t used = 0;

	for (; reader->at < reader->end &&
	       (isalnum((unsigned char)*reader->at) || *reader->at == '-');
	     reader->at++) {
		if (used + 1 < NAME_MAX_BYTES)
			ret[used++] = (char)tolower((unsigned char)*reader->at);
	}
	ret[used] = '\0';
}

/* After the "[". A subsection may have any character in its quotes. */
static void read_section(struct reader *reader)
{
	bool is_quoted = false;
	size_t used = 0;

	read_name(reader, reader->section);
	for (; reader->at < reader->end && *reader->at != '\n'; reader->at++) {
		if (*reader->at == '"') {
			is_quoted = !is_quoted;
			continue;
		}
		if (*reader->at == '\\' && reader->at + 1 < reader->end)
			reader->at++;
		else if (*reader->at == ']' && !is_quoted)
			break;
		if (is_quoted && *reader->at != '\0')
			reader->subsection[used++] = *reader->at;
	}
	reader->subsection[used] = '\0';
	if (is_at(reader, ']'))
		reader->at++;
}

/* The character behind a backslash; 0: the line goes on in the next. */
static char unescape_char(char escaped)
{
	switch (escaped) {
	case 'n':
		return '\n';
	case 't':
		return '\t';
	case 'b':
		return '\b';
	case '\n':
		return '\0';
	default:
		return escaped;
	}
}

/* After the "=", up to the end of the line. */
static void read_value(struct reader *reader)
{
	bool is_quoted = false;
	size_t used = 0, kept = 0;

	while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\t'))
		reader->at++;
	for (; reader->at < reader->end && *reader->at != '\n'; reader->at++) {
		char byte = *reader->at;

		if (byte == '"') {
			is_quoted = !is_quoted;
			kept = used;
			continue;
		}
		if (!is_quoted && (byte == '#' || byte == ';')) {
			skip_line(reader);
			break;
		}
		if (byte == '\\' && reader->at + 1 < reader->end) {
			reader->at++;
			/* A file of another system ends its lines with two characters. */
			reader->at += is_at(reader, '\r') && reader->at + 1 < reader->end &&
				      reader->at[1] == '\n';
			byte = unescape_char(*reader->at);
		}
		if (byte != '\0')
			reader->value[used++] = byte;
		if (is_quoted || !isspace((unsigned char)byte))
			kept = used;
	}
	reader->value[kept] = '\0'; /* without the spaces behind it */
}

bool git_config_read(const char *text, size_t size, git_config_found found, void *context)
{
	struct reader reader = { .at = text,
				 .end = text + size,
				 .subsection = calloc(size + 1, 1),
				 .value = malloc(size + 1) };

	if (!reader.value || !reader.subsection) {
		free(reader.subsection);
		free(reader.value);
		return false;
	}
	if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
		reader.at += 3;
	for (skip_space(&reader); reader.at < reader.end; skip_space(&reader)) {
		if (*reader.at == '[') {
			reader.at++;
			read_section(&reader);
			continue;
		}
		read_name(&reader, reader.key);
		while (is_at(&reader, ' ') || is_at(&reader, '\t'))
			reader.at++;
		if (reader.key[0] && is_at(&reader, '=')) {
			reader.at++;
			read_value(&reader);
			found(context, kind_of(reader.section, reader.key), reader.subsection,
			      reader.value);
		} else {
			skip_line(&reader);
		}
	}
	free(reader.subsection);
	free(reader.value);
	return true;
}

/* --- a value ---------------------------------------------------------------------------------- */

static bool is_word(const char *word)
{
	static const char *const constants[] = { "true", "false", "yes", "no", "on", "off", "." };

	for (size_t i = 0; i < COUNT(constants); i++) {
		if (strcasecmp(word, constants[i]) == 0)
			return false;
	}
	return word[0] != '\0' && word[strspn(word, "0123456789")] != '\0';
}

/* A path behind the letters of an option, and behind a variable of the shell. */
static const char *skip_marks(const char *word)
{
	if (*word == '-')
		word = strpbrk(word, "./~");
	else if (*word == '$' || *word == '%') /* and what git puts in */
		word = strchr(word, '/');
	while (word && (*word == '!' || *word == '@' || *word == '+'))
		word++;
	return word;
}

static bool is_command(enum git_key kind)
{
	return kind == GIT_KEY_COMMAND || kind == GIT_KEY_ALIAS;
}

/* The value as a whole may be a path, with spaces in it. */
static void find_whole(enum git_key kind, const char *value, git_config_path found, void *context)
{
	const bool is_plain = !strchr(value, '/');

	if (value[0] && kind != GIT_KEY_OTHER && (!is_plain || !is_command(kind)))
		found(context, value);
}

bool git_config_paths(enum git_key kind, const char *value, git_config_path found, void *context)
{
	static const char separators[] = " \t\r\n'\"`;|&()<>{}=:,";
	char *copy, *rest;
	bool is_first = true;

	if (kind == GIT_KEY_DATA || kind >= GIT_KEY_WORKTREE)
		return true;
	find_whole(kind, value, found, context);
	if (!is_command(kind) && kind != GIT_KEY_OTHER)
		return true;
	copy = rest = strdup(value);
	for (char *word = strsep(&rest, separators); word; word = strsep(&rest, separators)) {
		const char *path = skip_marks(word);
		const bool is_plain = path && !strchr(path, '/');

		if (!path || !is_word(path))
			continue;
		if (!is_plain || (is_command(kind) && !is_first))
			found(context, path);
		is_first = false;
	}
	free(copy);
	return copy != NULL;
}
