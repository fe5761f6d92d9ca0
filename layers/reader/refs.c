/* SPDX-License-Identifier: Apache-2.0 */
#include "refs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layers/base/beneath.h"

static int parse_digit(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Parse the digits that a text begins with. It ends with a NUL, or has as many bytes. */
static bool parse_id(const char *text, uint8_t ret[OBJECT_ID_BYTES])
{
	for (size_t i = 0; i < OBJECT_ID_BYTES; i++) {
		const int high = parse_digit(text[2 * i]);
		const int low = high < 0 ? -1 : parse_digit(text[2 * i + 1]);

		if (low < 0)
			return false;
		ret[i] = (uint8_t)(16 * high + low);
	}
	return true;
}

bool refs_take_line(const char **at, const char *word, uint8_t ret[OBJECT_ID_BYTES])
{
	const size_t size = strlen(word);
	const char *text = *at + size;

	if (strncmp(*at, word, size) != 0 || !parse_id(text, ret) || text[HEX_BYTES] != '\n')
		return false;
	*at = text + HEX_BYTES + 1;
	return true;
}

void refs_write_id(const uint8_t id[OBJECT_ID_BYTES], char ret[HEX_BYTES + 1])
{
	for (size_t i = 0; i < OBJECT_ID_BYTES; i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", id[i]);
}

/* Check a part between slashes. */
static bool is_good_part(const char *part, size_t size)
{
	static const char refused[] = "\177~^:?*[\\";

	if (size == 0 || part[0] == '.' || part[size - 1] == '.' ||
	    (size >= 5 && strncmp(part + size - 5, ".lock", 5) == 0))
		return false;
	for (size_t i = 0; i < size; i++) {
		if ((unsigned char)part[i] <= ' ' || strchr(refused, part[i]) ||
		    (i > 0 && ((part[i] == '.' && part[i - 1] == '.') ||
			       (part[i] == '{' && part[i - 1] == '@'))))
			return false;
	}
	return true;
}

bool refs_is_name(const char *name)
{
	const size_t kind = strncmp(name, "refs/heads/", 11) == 0  ? 11
			    : strncmp(name, "refs/tags/", 10) == 0 ? 10
								   : 0;

	if (kind == 0 || name[kind] == '-' || strcmp(name + kind, "HEAD") == 0)
		return false;
	for (const char *part = name;; part++) {
		const size_t size = strcspn(part, "/");

		if (!is_good_part(part, size))
			return false;
		part += size;
		if (*part == '\0')
			return true;
	}
}

int refs_parse(const char *text, size_t size, uint8_t ret[OBJECT_ID_BYTES])
{
	if (size >= 4 && memcmp(text, "ref:", 4) == 0)
		return -ENOTSUP;
	while (size > 0 && strchr(" \t\r\n", text[size - 1]))
		size--;
	if (size == (size_t)64) /* SHA-256 */
		return -ENOTSUP;
	return size == HEX_BYTES && parse_id(text, ret) ? 0 : -EBADMSG;
}

bool refs_next(char **at, char *end, const char **ret_name, uint8_t ret_id[OBJECT_ID_BYTES])
{
	while (*at < end) {
		char *line = *at;
		char *newline = memchr(line, '\n', (size_t)(end - line));

		if (!newline) /* git ends each line */
			return false;
		*newline = '\0';
		*at = newline + 1;
		if ((size_t)(newline - line) <= HEX_BYTES + 1 || line[HEX_BYTES] != ' ' ||
		    !parse_id(line, ret_id) || !refs_is_name(line + HEX_BYTES + 1))
			continue;
		*ret_name = line + HEX_BYTES + 1;
		return true;
	}
	return false;
}

int refs_read(int root, const char *path, size_t most, uint8_t ret[OBJECT_ID_BYTES])
{
	char *text;
	size_t size;
	int error = beneath_text(root, path, most, &text, &size);

	if (error)
		return error;
	error = refs_parse(text, size, ret);
	free(text);
	return error;
}

int refs_find_packed(int root, const char *path, const char *name, uint8_t ret[OBJECT_ID_BYTES])
{
	char *text, *at;
	const char *found;
	size_t size;
	int error = beneath_text(root, path, REFS_PACKED_MAX, &text, &size);

	if (error)
		return error;
	error = -ENOENT;
	for (at = text; error && refs_next(&at, text + size, &found, ret);)
		error = strcmp(found, name) == 0 ? 0 : -ENOENT;
	free(text);
	return error;
}
