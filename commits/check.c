/* SPDX-License-Identifier: Apache-2.0
 *
 * git's rules, in its order: verify_headers(), fsck_commit(), fsck_tag(), fsck_ident(). A text ends
 * with a NUL, and has no other.
 */
#include "check.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "refs.h"

/* Of a time in seconds; more overflow git's numbers. */
#define DATE_DIGITS_MAX 18

/* git reads no longer line of a `.gitattributes`. */
#define ATTRIBUTES_LINE_MAX 2048

static bool take_word(const char **at, const char *word)
{
	const size_t size = strlen(word);

	if (strncmp(*at, word, size) != 0)
		return false;
	*at += size;
	return true;
}

static bool take_id(const char **at, const char *word)
{
	uint8_t id[OBJECT_ID_BYTES];

	if (!take_word(at, word) || !refs_parse_id(*at, id) || (*at)[HEX_BYTES] != '\n')
		return false;
	*at += HEX_BYTES + 1;
	return true;
}

/* "WORD NAME <MAIL> SECONDS +ZONE" and a newline. */
static bool take_person(const char **at, const char *word)
{
	size_t size;
	const char *text;

	if (!take_word(at, word))
		return false;
	text = *at + strcspn(*at, "<>\n");
	if (*text != '<' || text == *at || text[-1] != ' ')
		return false;
	text++;
	text += strcspn(text, "<>\n");
	if (*text++ != '>' || *text++ != ' ')
		return false;
	size = strspn(text, "0123456789");
	if (size == 0 || size > DATE_DIGITS_MAX || (*text == '0' && size > 1) || text[size] != ' ')
		return false;
	text += size + 1;
	if ((*text != '+' && *text != '-') || strspn(text + 1, "0123456789") != 4 ||
	    text[5] != '\n')
		return false;
	*at = text + 6;
	return true;
}

static bool is_good_commit(const char *at)
{
	if (!take_id(&at, "tree "))
		return false;
	while (take_id(&at, "parent "))
		;
	return take_person(&at, "author ") && take_person(&at, "committer ");
}

static bool is_good_tag(const char *at)
{
	if (!take_id(&at, "object ") || !take_word(&at, "type "))
		return false;
	at += strcspn(at, "\n");
	if (!take_word(&at, "\ntag "))
		return false;
	at += strcspn(at, "\n");
	return take_word(&at, "\n") &&
	       (strncmp(at, "tagger", 6) != 0 || take_person(&at, "tagger "));
}

int check_head(const struct object *object)
{
	const char *text = (const char *)object->bytes;

	if (object->type != OBJECT_COMMIT && object->type != OBJECT_TAG)
		return 0;
	if (object->size == 0 || memchr(text, '\0', object->size) ||
	    (!strstr(text, "\n\n") && text[object->size - 1] != '\n'))
		return -EBADMSG;
	return (object->type == OBJECT_COMMIT ? is_good_commit(text) : is_good_tag(text))
		       ? 0
		       : -EBADMSG;
}

int check_tagged(const struct object *tag, uint32_t type)
{
	static const char *const lines[OBJECT_TYPE_COUNT] = { "", "\ntype commit\n",
							      "\ntype tree\n", "\ntype blob\n",
							      "\ntype tag\n" };
	const char *line = strchr((const char *)tag->bytes, '\n');

	return line && take_word(&line, lines[type]) ? 0 : -EBADMSG;
}

/* --- .gitmodules ------------------------------------------------------------------------------ */

/* Return whether a submodule's name stays in the directory of its repository. */
static bool is_good_module(const char *name, size_t size)
{
	for (size_t start = 0, i = 0; i <= size; i++) {
		if (i < size && name[i] != '/')
			continue;
		if (i - start == 2 && name[start] == '.' && name[start + 1] == '.')
			return false;
		start = i + 1;
	}
	return size > 0 && !memchr(name, '\\', size);
}

/* `[WORD]` or `[WORD "NAME"]`. */
static bool is_good_section(const char *line, size_t size)
{
	const char *end = line + size, *at = line + 1, *name;

	while (at < end && isalpha((unsigned char)*at))
		at++;
	if (end - at >= 4 && at[0] == ' ' && at[1] == '"') {
		name = at + 2;
		at = memchr(name, '"', (size_t)(end - name));
		if (!at++ || !is_good_module(name, (size_t)(at - 1 - name)))
			return false;
	}
	return at + 1 == end && *at == ']';
}

/* Return whether a host is named where a program for the web would look for one. */
static bool is_good_url(const char *url, size_t size)
{
	const char *end = url + size, *host = memmem(url, size, "://", 3);
	const char *at = url;

	for (const char *part = url; part + 3 <= end; part++) {
		if (part[0] == '%' && part[1] == '0' && strchr("aAdD0", part[2]))
			return false;
	}
	while (end - at >= 2 && at[0] == '.' && (at[1] == '/' || strncmp(at, "../", 3) == 0))
		at += at[1] == '/' ? 2 : 3;
	if (at > url && at < end && (*at == ':' || *at == '/'))
		return false;
	return size > 0 && !memmem(url, size, "::", 2) &&
	       (!host || (host + 3 < end && host[3] != '/' && host[3] != ':' && host[3] != '@'));
}

/* `KEY = VALUE`, without quotes and escapes. */
static bool is_good_value(const char *line, size_t size)
{
	const char *equals = memchr(line, '=', size), *value;
	size_t key = 0, value_size;

	while (key < size && (isalnum((unsigned char)line[key]) || line[key] == '-'))
		key++;
	if (key == 0 || !equals || strspn(line + key, " \t") != (size_t)(equals - line) - key)
		return false;
	value = equals + 1;
	value += strspn(value, " \t");
	value_size = value < line + size ? (size_t)(line + size - value) : 0;
	if (memchr(value, '"', value_size) || memchr(value, '\\', value_size))
		return false;
	if (key == 3 && strncasecmp(line, "url", 3) == 0)
		return *value != '-' && is_good_url(value, value_size);
	if (key == 4 && strncasecmp(line, "path", 4) == 0)
		return *value != '-';
	return !(key == 6 && strncasecmp(line, "update", 6) == 0) || *value != '!';
}

static bool is_good_line(const char *line, size_t size)
{
	while (size > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		size--;
	}
	while (size > 0 && strchr(" \t\r", line[size - 1]))
		size--;
	if (size == 0 || *line == '#' || *line == ';')
		return true;
	return *line == '[' ? is_good_section(line, size) : is_good_value(line, size);
}

int check_content(enum tree_special special, const struct object *object)
{
	const char *line = (const char *)object->bytes, *end = line + object->size;

	if (special == TREE_PLAIN)
		return 0;
	if (special == TREE_MODULES && memchr(line, '\0', object->size))
		return -EBADMSG;
	while (line < end) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		const size_t size = (size_t)((newline ? newline : end) - line);

		if (special == TREE_MODULES ? !is_good_line(line, size)
					    : size >= ATTRIBUTES_LINE_MAX)
			return -EBADMSG;
		line += size + 1;
	}
	return 0;
}
