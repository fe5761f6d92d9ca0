/* SPDX-License-Identifier: Apache-2.0
 *
 * git's rules, in its order: verify_headers(), fsck_commit(), fsck_tag(), fsck_ident(). A text ends
 * with a NUL, and has no other.
 */
#include "check.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "refs.h"

/* Digits of a time in seconds; more overflow the numbers of git. */
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
	uint8_t id[OBJECT_ID_BYTES];

	if (!refs_take_line(&at, "tree ", id))
		return false;
	while (refs_take_line(&at, "parent ", id))
		;
	return take_person(&at, "author ") && take_person(&at, "committer ");
}

static bool is_good_tag(const char *at)
{
	uint8_t id[OBJECT_ID_BYTES];

	if (!refs_take_line(&at, "object ", id) || !take_word(&at, "type "))
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

static bool has_text(const char *line, size_t size, const char *text)
{
	return memmem(line, size, text, strlen(text)) != NULL;
}

/* Accept a section, or a key and a value that is neither an option of a program nor a command, nor
 * an address with another hidden in it. A quote or an escape could hide either. */
static bool is_good_line(const char *line, size_t size)
{
	static const char *const refused[] = { "\"", "\\", "%0", "::", ":///", "://:", "/:" };
	const char *value;

	while (size > 0 && strchr(" \t", *line)) {
		line++;
		size--;
	}
	while (size > 0 && strchr(" \t\r", line[size - 1]))
		size--;
	if (size == 0 || *line == '#' || *line == ';')
		return true;
	if (*line == '[')
		return size > 14 && strncmp(line, "[submodule \"", 12) == 0 &&
		       strncmp(line + size - 2, "\"]", 2) == 0 &&
		       !memchr(line + 12, '"', size - 14) && !has_text(line, size, "..") &&
		       !memchr(line, '\\', size);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		if (has_text(line, size, refused[i]))
			return false;
	}
	value = memchr(line, '=', size);
	value = value ? value + 1 + strspn(value + 1, " \t") : NULL;
	return value && *value != '-' && *value != '!';
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
