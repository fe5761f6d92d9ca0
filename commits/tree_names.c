/* SPDX-License-Identifier: Apache-2.0 */
#include "tree_names.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

/* Modes have six octal digits at most. */
static const uint8_t *read_mode(const uint8_t *at, const uint8_t *end, uint32_t *ret)
{
	uint32_t mode = 0;

	for (int i = 0; at < end && *at >= '0' && *at <= '7' && i < 6; i++)
		mode = 8 * mode + (uint32_t)(*at++ - '0');
	*ret = mode;
	return at < end && *at == ' ' ? at + 1 : NULL;
}

static bool is_known_mode(uint32_t mode)
{
	return mode == TREE_DIRECTORY || mode == TREE_FILE || mode == TREE_FILE_OLD ||
	       mode == TREE_PROGRAM || mode == TREE_LINK || mode == TREE_COMMIT;
}

/* NTFS drops blanks and dots at the end and has streams behind ":"; "git~1" is its short name for
 * ".git". Names with characters that HFS+ ignores are the caller's to fold. */
static bool is_repository_name(const char *name, size_t size)
{
	const char *colon = memchr(name, ':', size);

	size = colon ? (size_t)(colon - name) : size;
	while (size > 0 && (name[size - 1] == ' ' || name[size - 1] == '.'))
		size--;
	return (size == 4 && strncasecmp(name, ".git", 4) == 0) ||
	       (size == 5 && strncasecmp(name, "git~1", 5) == 0);
}

static bool is_good_name(const char *name, size_t size)
{
	return size > 0 && size <= NAME_MAX && !memchr(name, '/', size) &&
	       !memchr(name, '\\', size) && !(size == 1 && name[0] == '.') &&
	       !(size == 2 && name[0] == '.' && name[1] == '.') && !is_repository_name(name, size);
}

int tree_entry_read(const uint8_t **at, const uint8_t *end, struct tree_entry *ret)
{
	const uint8_t *name, *nul;

	if (*at == end)
		return 0;
	name = **at == '0' ? NULL : read_mode(*at, end, &ret->mode);
	nul = name ? memchr(name, '\0', (size_t)(end - name)) : NULL;
	if (!nul || end - nul <= OBJECT_ID_BYTES || !is_known_mode(ret->mode))
		return -EBADMSG;
	ret->name = (const char *)name;
	ret->name_size = (size_t)(nul - name);
	ret->id = nul + 1;
	*at = nul + 1 + OBJECT_ID_BYTES;
	return is_good_name(ret->name, ret->name_size) ? 1 : -EBADMSG;
}

static unsigned char byte_behind(const struct tree_entry *entry)
{
	return entry->mode == TREE_DIRECTORY ? '/' : '\0';
}

int tree_entry_compare(const struct tree_entry *left, const struct tree_entry *right)
{
	const size_t size = left->name_size < right->name_size ? left->name_size : right->name_size;
	const int order = memcmp(left->name, right->name, size);
	/* The names are terminated in the tree's bytes. */
	const unsigned char a =
		left->name_size > size ? (unsigned char)left->name[size] : byte_behind(left);
	const unsigned char b =
		right->name_size > size ? (unsigned char)right->name[size] : byte_behind(right);

	return order ? order : (int)a - (int)b;
}
