/* SPDX-License-Identifier: Apache-2.0 */
#include "image/entry.h"

#include <stddef.h>
#include <string.h>

#define NOTE ".wh..wh."

/* Add a part of a path. NULL, or the rule that it breaks. */
static const char *add_part(struct entry_path *ret, size_t *used, const char *part, size_t size)
{
	if (size == 2 && part[0] == '.' && part[1] == '.')
		return "its path must not have '..'";
	if (size > NAME_MAX)
		return "no name in its path can be longer than 255 bytes";
	if (*used > 0 && strncmp(ret->name, ENTRY_MARK, strlen(ENTRY_MARK)) == 0)
		return "no directory can be a whiteout (.wh.)";
	if (*used + size + 1 >= PATH_MAX)
		return "its path can have at most 4,095 bytes";
	if (*used > 0) /* the name before is a directory */
		ret->text[(*used)++] = '/';
	ret->name = ret->text + *used;
	memcpy(ret->text + *used, part, size);
	*used += size;
	ret->text[*used] = '\0';
	return NULL;
}

/* Take a mark off the name. */
static const char *read_mark(struct entry_path *ret, enum entry_kind *ret_kind)
{
	*ret_kind = ENTRY_FILE;
	if (strcmp(ret->name, ENTRY_OPAQUE_NAME) == 0) {
		*ret_kind = ENTRY_OPAQUE;
	} else if (strncmp(ret->name, NOTE, strlen(NOTE)) == 0) {
		*ret_kind = ENTRY_IGNORED;
	} else if (strncmp(ret->name, ENTRY_MARK, strlen(ENTRY_MARK)) == 0) {
		*ret_kind = ENTRY_WHITEOUT;
		ret->name += strlen(ENTRY_MARK);
		if (ret->name[0] == '\0' || strcmp(ret->name, ".") == 0 ||
		    strcmp(ret->name, "..") == 0)
			return "a whiteout (.wh.) must hide a name";
	}
	return NULL;
}

const char *entry_read(const char *path, struct entry_path *ret, enum entry_kind *ret_kind)
{
	const char *rule = path[0] == '/' ? "its path must not be absolute" : NULL;
	size_t used = 0;

	ret->text[0] = '\0';
	ret->directory = ret->name = ret->text;
	while (!rule && *path) {
		const size_t size = strcspn(path, "/");

		if (size > 0 && !(size == 1 && path[0] == '.'))
			rule = add_part(ret, &used, path, size);
		path += size + strspn(path + size, "/");
	}
	*ret_kind = ENTRY_ROOT;
	if (rule || used == 0)
		return rule;
	if (ret->name > ret->text) /* the slash in front of it */
		ret->text[ret->name - ret->text - 1] = '\0';
	else
		ret->directory = "";
	return read_mark(ret, ret_kind);
}
