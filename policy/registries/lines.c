/* SPDX-License-Identifier: Apache-2.0
 *
 * The formats of the files, as far as they name registries: npm's and pip's lines, what cargo's
 * files use of TOML, go's variables, and the mirrors of Maven's settings.
 */
#include "policy/registries/lines.h"

#include "lib/heap/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r"
#define WORD_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

/* Lines of one tool; the rest is passed over. */
#define LINES_MAX 32U

/* --- lines ------------------------------------------------------------------------------------ */

static char *copy_text(const char *text)
{
	return memory_text(text, strlen(text));
}

/* Make room for a line of this name, in place of an earlier one unless several may have it. */
static struct registry_line *make_line(const struct registry_place *place, const char *name,
				       bool is_one_of_many)
{
	struct registry *registry = place->registry;
	struct registry_line *line = NULL;

	for (size_t i = 0; !is_one_of_many && i < registry->count && line == NULL; i++) {
		if (strcmp(registry->lines[i].name, name) == 0)
			line = &registry->lines[i];
	}
	if (line != NULL) {
		free(line->name);
		free(line->value);
		free(line->of);
	} else if (registry->count == LINES_MAX) {
		return NULL;
	} else {
		registry->lines = memory_grow_list(registry->lines, &registry->room,
						   registry->count + 1, sizeof(*line));
		line = &registry->lines[registry->count++];
	}
	*line = (struct registry_line){ .file = place->file,
					.line = place->line,
					.name = copy_text(name) };
	return line;
}

void lines_add_url(const struct registry_place *place, const char *name, const char *url,
		   const char *of)
{
	struct registry_line *line =
		make_line(place, name, of != NULL || strcmp(name, "extra-index-url") == 0);
	char clean[REGISTRY_URL_MAX];

	if (line == NULL)
		return;
	line->problem = url_read(url, line, clean);
	line->value = copy_text(line->problem == NULL ? clean : "");
	line->of = of != NULL ? copy_text(of) : NULL;
}

void lines_add_word(const struct registry_place *place, const char *name, const char *word,
		    const char *others)
{
	struct registry_line *line = make_line(place, name, strcmp(name, "trusted-host") == 0);
	const char *at = word;

	if (line == NULL)
		return;
	while (*at != '\0' && (strchr(WORD_BYTES, *at) != NULL || strchr(others, *at) != NULL))
		at++;
	if (*word == '\0' || *at != '\0' || strlen(word) >= REGISTRY_WORD_MAX)
		line->problem = "it is no plain word";
	line->value = copy_text(line->problem == NULL ? word : "");
}

void lines_add_problem(const struct registry_place *place, const char *name, const char *problem)
{
	struct registry_line *line = make_line(place, name, name[0] == '\0');

	if (line == NULL)
		return;
	line->problem = problem;
	line->value = copy_text("");
}

const struct registry_line *lines_find(const struct registry *registry, const char *name)
{
	for (size_t i = 0; i < registry->count; i++) {
		if (strcmp(registry->lines[i].name, name) == 0 &&
		    registry->lines[i].problem == NULL)
			return &registry->lines[i];
	}
	return NULL;
}

bool registry_is_obeyed(const struct registry *registry)
{
	bool is_obeyed = false;

	for (size_t i = 0; i < registry->count; i++)
		is_obeyed = is_obeyed || registry->lines[i].problem == NULL;
	return is_obeyed;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* Cut blanks at both ends. */
static char *trim_blanks(char *text)
{
	size_t size;

	text += strspn(text, BLANKS);
	for (size = strlen(text); size > 0 && strchr(BLANKS, text[size - 1]) != NULL; size--)
		;
	text[size] = '\0';
	return text;
}

/* Cut a pair of quotes off. */
static char *cut_quotes(char *text)
{
	const size_t size = strlen(text);

	if (size >= 2 && (text[0] == '"' || text[0] == '\'') && text[size - 1] == text[0]) {
		text[size - 1] = '\0';
		text++;
	}
	return text;
}

/* Split "KEY = VALUE" at the first of these signs, both trimmed. NULL: there is none. */
static char *split_value(char *text, const char *signs, char **ret_key)
{
	char *equals = strpbrk(text, signs);

	if (equals == NULL)
		return NULL;
	*equals = '\0';
	*ret_key = trim_blanks(text);
	return cut_quotes(trim_blanks(equals + 1));
}

static bool is_comment(const char *text)
{
	return text[0] == '\0' || text[0] == '#' || text[0] == ';';
}

/* Return whether a name has only letters, digits and - _ . */
static bool is_name(const char *text)
{
	return text[0] != '\0' && strlen(text) < REGISTRY_WORD_MAX / 2 &&
	       text[strspn(text, WORD_BYTES "-_.")] == '\0';
}

/* --- npm -------------------------------------------------------------------------------------- */

static bool is_scoped(const char *key)
{
	char scope[REGISTRY_WORD_MAX];
	const char *colon = strchr(key, ':');

	if (key[0] != '@' || colon == NULL || strcmp(colon, ":registry") != 0 ||
	    (size_t)(colon - key) >= sizeof(scope))
		return false;
	(void)snprintf(scope, sizeof(scope), "%.*s", (int)(colon - key - 1), key + 1);
	return is_name(scope);
}

void lines_read_npm(struct registry_place *place, char *text)
{
	for (char *line, *key = NULL, *value; (line = strsep(&text, "\n")) != NULL;) {
		place->line++;
		line = trim_blanks(line);
		if (line[0] == '[') /* npm's own keys stand before any section */
			return;
		if (!is_comment(line) && strchr(line, '"') == NULL && strchr(line, '\'') == NULL)
			line[strcspn(line, ";#")] = '\0'; /* a comment behind the value */
		value = is_comment(line) ? NULL : split_value(line, "=", &key);
		if (value == NULL)
			continue;
		if (strcmp(key, "registry") == 0 || is_scoped(key))
			lines_add_url(place, key, value, NULL);
		else if (strcmp(key, "cafile") == 0)
			place->take_certificates(place, key, value);
	}
}

/* --- pip -------------------------------------------------------------------------------------- */

/* Add each URL or host of a value. */
static void add_each(const struct registry_place *place, const char *key, char *value)
{
	char *rest = NULL;

	for (char *each = strtok_r(value, BLANKS, &rest); each != NULL;
	     each = strtok_r(NULL, BLANKS, &rest)) {
		if (strcmp(key, "trusted-host") == 0)
			lines_add_word(place, key, each, "-.:");
		else
			lines_add_url(place, key, each, NULL);
	}
}

static void read_pip_line(const struct registry_place *place, const char *key, char *value)
{
	if (strcmp(key, "index-url") == 0 && value[0] != '\0')
		lines_add_url(place, key, value, NULL);
	else if (strcmp(key, "extra-index-url") == 0 || strcmp(key, "trusted-host") == 0)
		add_each(place, key, value);
	else if (strcmp(key, "cert") == 0 && value[0] != '\0')
		place->take_certificates(place, key, value);
}

void lines_read_pip(struct registry_place *place, char *text)
{
	bool is_ours = false; /* the section */
	char last[32] = "";   /* the key whose value goes on in lines that begin with a blank */

	for (char *line, *key = NULL, *value; (line = strsep(&text, "\n")) != NULL;) {
		const bool goes_on = line[0] == ' ' || line[0] == '\t';

		place->line++;
		line = trim_blanks(line);
		if (is_comment(line))
			continue;
		if (line[0] == '[') {
			is_ours = strcmp(line, "[global]") == 0 || strcmp(line, "[install]") == 0;
			continue;
		}
		if (goes_on) {
			value = line;
		} else {
			value = split_value(line, "=:", &key);
			for (char *at = key; value != NULL && *at != '\0'; at++)
				*at = *at == '_' ? '-' : *at;
			(void)snprintf(last, sizeof(last), "%.31s", value != NULL ? key : "");
		}
		if (is_ours && value != NULL)
			read_pip_line(place, last, value);
	}
}

/* --- cargo ------------------------------------------------------------------------------------ */

/* Write the keys of "source.'crates-io'" without quotes and blanks. False: one is no name. */
static bool read_keys(const char *text, char ret[REGISTRY_WORD_MAX])
{
	size_t used = 0;

	for (; *text != '\0'; text++) {
		if (strchr("\"' \t", *text) != NULL)
			continue;
		if (used + 1 == REGISTRY_WORD_MAX)
			return false;
		ret[used++] = *text;
	}
	ret[used] = '\0';
	return ret[strspn(ret, WORD_BYTES "-_.")] == '\0';
}

/* Return whether a path of keys is BEFORE.NAME.AFTER, with a name that has no dot. */
static bool is_keyed(const char *path, const char *before, const char *after)
{
	const size_t size = strlen(before);
	const char *name, *dot;

	if (strncmp(path, before, size) != 0 || path[size] != '.')
		return false;
	name = path + size + 1;
	dot = strchr(name, '.');
	return dot != NULL && dot > name && strcmp(dot + 1, after) == 0;
}

static void read_cargo_value(const struct registry_place *place, const char *path, char *value)
{
	if (is_keyed(path, "source", "registry") || is_keyed(path, "registries", "index"))
		lines_add_url(place, path, value, NULL);
	else if (is_keyed(path, "source", "replace-with") || strcmp(path, "registry.default") == 0)
		lines_add_word(place, path, value, "-_");
	else if (strcmp(path, "http.cainfo") == 0)
		place->take_certificates(place, path, value);
}

/* Read KEY = "VALUE", with a comment behind it, below the keys of a section. */
static void read_cargo_pair(const struct registry_place *place, const char *section, char *text)
{
	char *equals = strchr(text, '='), *value, *end;
	char keys[REGISTRY_WORD_MAX], path[2 * REGISTRY_WORD_MAX];

	if (equals == NULL)
		return;
	*equals = '\0';
	value = trim_blanks(equals + 1);
	end = (value[0] == '"' || value[0] == '\'') ? strchr(value + 1, value[0]) : NULL;
	if (end == NULL || !read_keys(text, keys))
		return; /* a number, a list: none of ours */
	*end = '\0';
	(void)snprintf(path, sizeof(path), "%s%s%s", section, section[0] != '\0' ? "." : "", keys);
	if (strchr(value + 1, '\\') == NULL)
		read_cargo_value(place, path, value + 1);
}

/* Read KEY = { KEY = "VALUE", ... }, on one line. */
static void read_cargo_table(const struct registry_place *place, const char *section, char *text)
{
	char *brace = strchr(text, '{'), *equals = strchr(text, '='), *rest = NULL;
	char keys[REGISTRY_WORD_MAX], below[2 * REGISTRY_WORD_MAX];

	*equals = '\0';
	if (!read_keys(text, keys))
		return;
	(void)snprintf(below, sizeof(below), "%s%s%s", section, section[0] != '\0' ? "." : "",
		       keys);
	if (strlen(below) >= REGISTRY_WORD_MAX)
		return;
	for (char *pair = strtok_r(brace + 1, ",}", &rest); pair != NULL;
	     pair = strtok_r(NULL, ",}", &rest))
		read_cargo_pair(place, below, pair);
}

/* Return whether the value of a pair is a table. */
static bool is_table(const char *text)
{
	const char *equals = strchr(text, '=');

	return equals != NULL && equals[1 + strspn(equals + 1, BLANKS)] == '{';
}

void lines_read_cargo(struct registry_place *place, char *text)
{
	char section[REGISTRY_WORD_MAX] = "";
	bool is_known = true;

	for (char *line; (line = strsep(&text, "\n")) != NULL;) {
		place->line++;
		line = trim_blanks(line);
		if (is_comment(line))
			continue;
		if (line[0] == '[') {
			line[strcspn(line, "]")] = '\0';
			is_known = line[1] != '[' && read_keys(line + 1, section);
		} else if (is_known && is_table(line)) {
			read_cargo_table(place, section, line);
		} else if (is_known) {
			read_cargo_pair(place, section, line);
		}
	}
}

/* --- go --------------------------------------------------------------------------------------- */

/* Read the URLs of GOPROXY. What follows "off" is never asked, and "direct" means the servers of
 * modules, which are no registry. */
static void add_proxies(const struct registry_place *place, char *value)
{
	char name[REGISTRY_WORD_MAX];
	unsigned int count = 0;

	for (char *url; (url = strsep(&value, ",|")) != NULL;) {
		url = trim_blanks(url);
		if (strcmp(url, "off") == 0)
			return;
		if (url[0] == '\0' || strcmp(url, "direct") == 0)
			continue;
		(void)snprintf(name, sizeof(name), count == 0 ? "GOPROXY" : "GOPROXY.%u", count);
		lines_add_url(place, name, url, NULL);
		count++;
	}
}

void lines_read_go(struct registry_place *place, char *text)
{
	static const char *const patterns[] = { "GOPRIVATE", "GONOPROXY", "GONOSUMDB" };

	for (char *line, *key = NULL, *value; (line = strsep(&text, "\n")) != NULL;) {
		place->line++;
		value = is_comment(trim_blanks(line)) ? NULL : split_value(line, "=", &key);
		if (value == NULL || value[0] == '\0')
			continue;
		if (strcmp(key, "GOPROXY") == 0)
			add_proxies(place, value);
		else if (strcmp(key, "GOSUMDB") == 0 && strcmp(value, "off") == 0)
			lines_add_word(place, key, value, "");
		for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
			if (strcmp(key, patterns[i]) == 0)
				lines_add_word(place, key, value, "./_~*?,-");
		}
	}
}

/* --- Maven ------------------------------------------------------------------------------------ */

/* Overwrite comments, which can hold anything, with blanks. */
static void blank_comments(char *text)
{
	for (char *begin; (begin = strstr(text, "<!--")) != NULL; text = begin) {
		const char *end = strstr(begin + 4, "-->");
		const size_t size = end != NULL ? (size_t)(end + 3 - begin) : strlen(begin);

		for (size_t i = 0; i < size; i++)
			begin[i] = begin[i] == '\n' ? '\n' : ' ';
	}
}

/* Copy the text of the first <NAME> in an element, trimmed. False: there is none that fits. */
static bool copy_element(const char *element, const char *name, char *ret, size_t room)
{
	char tag[32], text[REGISTRY_URL_MAX];
	const char *begin, *end;

	(void)snprintf(tag, sizeof(tag), "<%s>", name);
	begin = strstr(element, tag);
	if (begin == NULL)
		return false;
	begin += strlen(tag);
	end = strchr(begin, '<');
	if (end == NULL || (size_t)(end - begin) >= sizeof(text))
		return false;
	(void)snprintf(text, sizeof(text), "%.*s", (int)(end - begin), begin);
	for (char *at = text; *at != '\0'; at++)
		*at = *at == '\n' ? ' ' : *at;
	(void)snprintf(ret, room, "%s", trim_blanks(text));
	return strlen(trim_blanks(text)) < room;
}

static void read_mirror(const struct registry_place *place, const char *element)
{
	char id[REGISTRY_WORD_MAX], url[REGISTRY_URL_MAX], of[REGISTRY_WORD_MAX], blocked[16];

	if (!copy_element(element, "id", id, sizeof(id)) || !is_name(id) ||
	    !copy_element(element, "url", url, sizeof(url)) ||
	    !copy_element(element, "mirrorOf", of, sizeof(of)) ||
	    of[strspn(of, WORD_BYTES "-_.*!,:")] != '\0' ||
	    (copy_element(element, "blocked", blocked, sizeof(blocked)) &&
	     strcmp(blocked, "false") != 0))
		return;
	lines_add_url(place, id, url, of);
}

static uint32_t count_line(const char *text, const char *at)
{
	uint32_t line = 1;

	for (; text < at; text++)
		line += *text == '\n';
	return line;
}

void lines_read_maven(struct registry_place *place, char *text)
{
	char *mirrors, *end, *next;

	blank_comments(text);
	mirrors = strstr(text, "<mirrors>");
	end = mirrors != NULL ? strstr(mirrors, "</mirrors>") : NULL;
	if (end == NULL)
		return;
	*end = '\0';
	for (char *at = strstr(mirrors, "<mirror>"); at != NULL; at = next) {
		char *close = strstr(at, "</mirror>");

		if (close == NULL)
			return;
		place->line = count_line(text, at);
		next = strstr(close, "<mirror>");
		*close = '\0';
		read_mirror(place, at);
		*close = '<';
	}
}
