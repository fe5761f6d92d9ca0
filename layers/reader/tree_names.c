/* SPDX-License-Identifier: Apache-2.0 */
#include "tree_names.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "ids.h"

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

/* Characters that HFS+ ignores (U+200C to 200F, 202A to 202E, 206A to 206F, FEFF), in UTF-8. */
static bool is_ignored(const unsigned char *bytes)
{
	if (bytes[0] == 0xe2 && bytes[1] == 0x80)
		return (bytes[2] >= 0x8c && bytes[2] <= 0x8f) ||
		       (bytes[2] >= 0xaa && bytes[2] <= 0xae);
	if (bytes[0] == 0xe2 && bytes[1] == 0x81)
		return bytes[2] >= 0xaa && bytes[2] <= 0xaf;
	return bytes[0] == 0xef && bytes[1] == 0xbb && bytes[2] == 0xbf;
}

/* Write a name as the least careful file system has it. NTFS drops blanks and dots at the end and
 * has streams behind ":". */
static void fold_name(const char *name, size_t size, char ret[NAME_MAX + 1])
{
	size_t used = 0;

	for (size_t i = 0; i < size && name[i] != ':'; i++) {
		if (size - i >= 3 && is_ignored((const unsigned char *)name + i))
			i += 2;
		else
			ret[used++] = (char)tolower((unsigned char)name[i]);
	}
	while (used > 0 && (ret[used - 1] == ' ' || ret[used - 1] == '.'))
		used--;
	ret[used] = '\0';
}

/* Return whether NTFS could have made the name for ".git" or a special file: "git~1", "gitmod~1",
 * "gi7eba~1". */
static bool is_short_name(const char *folded)
{
	const char *tilde = strchr(folded, '~');

	return tilde && tilde - folded <= 6 && strncmp(folded, "gi", 2) == 0 &&
	       isdigit((unsigned char)tilde[1]);
}

static bool is_good_name(const char *name, size_t size, uint32_t mode, enum tree_special *ret)
{
	static const char *const specials[] = {
		[TREE_MODULES] = ".gitmodules", [TREE_ATTRIBUTES] = ".gitattributes"
	};
	char folded[NAME_MAX + 1];

	*ret = TREE_PLAIN;
	if (size == 0 || size > NAME_MAX || memchr(name, '/', size) || memchr(name, '\\', size) ||
	    (size == 1 && name[0] == '.') || (size == 2 && name[0] == '.' && name[1] == '.'))
		return false;
	fold_name(name, size, folded);
	for (enum tree_special i = TREE_MODULES; i <= TREE_ATTRIBUTES; i++) {
		if (strcmp(folded, specials[i]) != 0)
			continue;
		*ret = i;
		return strlen(folded) == size && strncmp(name, folded, size) == 0 &&
		       (S_ISREG(mode) || (i == TREE_ATTRIBUTES && mode == TREE_LINK));
	}
	return strcmp(folded, ".git") != 0 && !is_short_name(folded);
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
	return is_good_name(ret->name, ret->name_size, ret->mode, &ret->special) &&
			       !ids_is_zero(ret->id)
		       ? 1
		       : -EBADMSG;
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
