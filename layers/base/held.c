/* SPDX-License-Identifier: Apache-2.0
 *
 * Names are compared as a file system that does not tell upper from lower case would (ext4 with
 * casefold, or another machine's after a push): in lower case, without characters that such a file
 * system ignores.
 */
#include "layers/base/held.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

static const char *const patterns[] = {
#define HELD(pattern, reason) pattern,
#include "layers/base/held.def"
#undef HELD
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Characters without a shape (Unicode: Default_Ignorable_Code_Point), as they are in UTF-8: first
 * and last of a range, of the same length. */
static const struct {
	uint32_t first, last;
} ignored[] = {
	{ 0x00ad, 0x00ad },   { 0x034f, 0x034f }, { 0x061c, 0x061c },   { 0x115f, 0x1160 },
	{ 0x17b4, 0x17b5 },   { 0x180b, 0x180f }, { 0x200b, 0x200f },   { 0x202a, 0x202e },
	{ 0x2060, 0x206f },   { 0x3164, 0x3164 }, { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },
	{ 0xffa0, 0xffa0 },   { 0xfff0, 0xfff8 }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
	{ 0xe0000, 0xe0fff },
};

static bool is_ignored(uint32_t character)
{
	for (size_t i = 0; i < COUNT(ignored); i++) {
		if (character >= ignored[i].first && character <= ignored[i].last)
			return true;
	}
	return false;
}

/* The character at the beginning of UTF-8; what is none is a byte by itself. Returns its size. */
static size_t decode_char(const unsigned char *bytes, uint32_t *ret)
{
	static const struct {
		unsigned char mask, mark;
	} heads[] = { { 0x80, 0 }, { 0xe0, 0xc0 }, { 0xf0, 0xe0 }, { 0xf8, 0xf0 } };

	*ret = bytes[0];
	for (size_t size = 2; size <= COUNT(heads); size++) {
		uint32_t character = bytes[0] & (unsigned char)~heads[size - 1].mask;

		if ((bytes[0] & heads[size - 1].mask) != heads[size - 1].mark)
			continue;
		for (size_t i = 1; i < size; i++) {
			if ((bytes[i] & 0xc0) != 0x80) /* the NUL at the end, too */
				return 1;
			character = (character << 6) | (bytes[i] & 0x3f);
		}
		*ret = character;
		return size;
	}
	return 1;
}

/* Characters outside of ASCII that fold into it (Unicode: CaseFolding, C and F, and Kelvin's sign),
 * none into more bytes than it has. */
static const struct {
	uint32_t character;
	const char *folded;
} folds[] = {
	{ 0x00df, "ss" },  { 0x017f, "s" },  { 0x1e9e, "ss" }, { 0x212a, "k" },
	{ 0xfb00, "ff" },  { 0xfb01, "fi" }, { 0xfb02, "fl" }, { 0xfb03, "ffi" },
	{ 0xfb04, "ffl" }, { 0xfb05, "st" }, { 0xfb06, "st" },
};

static const char *fold_character(uint32_t character)
{
	for (size_t i = 0; i < COUNT(folds); i++) {
		if (folds[i].character == character)
			return folds[i].folded;
	}
	return NULL;
}

/* It becomes no longer. */
void held_fold(const char *path, char ret[IPC_PATH_MAX])
{
	const unsigned char *bytes = (const unsigned char *)path;
	size_t used = 0;

	while (*bytes) {
		uint32_t character;
		const size_t size = decode_char(bytes, &character);
		const char *folded = size > 1 ? fold_character(character) : NULL;

		if (used + size >= IPC_PATH_MAX)
			break;
		if (size == 1)
			ret[used++] = (char)tolower(bytes[0]);
		else if (folded)
			used = (size_t)(stpcpy(ret + used, folded) - ret);
		else if (!is_ignored(character))
			used = (size_t)((char *)mempcpy(ret + used, bytes, size) - ret);
		bytes += size;
	}
	ret[used] = '\0';
}

/* Nearly never, so that the rest is rarely done. */
static bool may_match(const char *pattern, const char *path)
{
	return pattern[0] == path[0] || strchr("*?[\\", pattern[0]);
}

/* As match_beginning(), for a pattern whose first character may match. */
static const char *match_part(const char *pattern, const char *path)
{
	static char part[IPC_PATH_MAX]; /* static: others are cleared each time */
	const char *end = path + strcspn(path, "/");
	size_t size;

	for (const char *slash = strchr(pattern, '/'); slash; slash = strchr(slash + 1, '/')) {
		if (*end == '\0')
			return NULL; /* fewer names than the pattern has */
		end += 1 + strcspn(end + 1, "/");
	}
	size = (size_t)(end - path);
	memcpy(part, path, size);
	part[size] = '\0';
	return fnmatch(pattern, part, FNM_PATHNAME) == 0 ? end : NULL;
}

/* Does the pattern describe the beginning of `path`, up to a "/" or all of it? Returns where the
 * rest begins; NULL: it does not. */
static const char *match_beginning(const char *pattern, const char *path)
{
	return may_match(pattern, path) ? match_part(pattern, path) : NULL;
}

/* Do the first names of the pattern, not all, describe the whole of `path`? */
static bool is_above(const char *pattern, const char *path)
{
	const char *slash = strchr(pattern, '/');
	const char *end;

	if (!slash || !may_match(pattern, path))
		return false;
	for (; slash; slash = strchr(slash + 1, '/')) {
		char part[IPC_PATH_MAX];

		memcpy(part, pattern, (size_t)(slash - pattern));
		part[slash - pattern] = '\0';
		end = match_part(part, path);
		if (end && *end == '\0')
			return true;
	}
	return false;
}

static bool matches_pattern(const char *pattern, const char *path, bool is_below)
{
	return is_below ? is_above(pattern, path) : match_beginning(pattern, path) != NULL;
}

/* The operator's: with a "/" it is about the whole path, or after two stars about its end; without,
 * about each name. `is_below`: is it about something below the path? */
static bool is_pattern_of(const char *pattern, const char *path, bool is_below)
{
	const bool is_anywhere = strncmp(pattern, "**/", 3) == 0 || !strchr(pattern, '/');
	const char *plain = strncmp(pattern, "**/", 3) == 0 ? pattern + 3 : pattern;
	char folded[IPC_PATH_MAX];

	held_fold(plain, folded);
	for (size_t size = strlen(folded); size > 1 && folded[size - 1] == '/'; size--)
		folded[size - 1] = '\0';
	for (const char *name = path; name; name = strchr(name, '/')) {
		name += *name == '/';
		if (matches_pattern(folded, name, is_below))
			return true;
		if (!is_anywhere)
			return false;
	}
	return false;
}

bool held_matches_any(const char *const *any, size_t count, const char *path, bool is_below)
{
	char folded[IPC_PATH_MAX];

	held_fold(path, folded);
	for (const char *name = folded; name; name = strchr(name, '/')) {
		name += *name == '/';
		for (size_t i = 0; i < count; i++) {
			if (matches_pattern(any[i], name, is_below))
				return true;
		}
	}
	return false;
}

bool held_is_operators(const char *path, const char *operators, size_t size, bool is_below)
{
	char folded[IPC_PATH_MAX];

	held_fold(path, folded);
	for (size_t at = 0; at < size; at += strlen(operators + at) + 1) {
		if (is_pattern_of(operators + at, folded, is_below))
			return true;
	}
	return false;
}

bool held_is_called(const char *name, size_t size, const char *wanted)
{
	char part[IPC_PATH_MAX], folded[IPC_PATH_MAX];

	if (size >= sizeof(part))
		return false;
	memcpy(part, name, size);
	part[size] = '\0';
	held_fold(part, folded);
	return strcmp(folded, wanted) == 0;
}

bool held_is_below(const char *pattern, const char *path)
{
	char folded[IPC_PATH_MAX];

	held_fold(path, folded);
	return match_beginning(pattern, folded) != NULL;
}

bool held_is_path(const char *path, const char *operators, size_t size, bool is_below)
{
	return held_matches_any(patterns, COUNT(patterns), path, is_below) ||
	       held_is_operators(path, operators, size, is_below);
}
