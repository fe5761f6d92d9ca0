/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/text/format.h"
#include "common/text/text.h"
#include "lib/heap/memory.h"

bool path_is_within(const char *path, const char *folder)
{
	const size_t size = strlen(folder);

	return strcmp(folder, "/") == 0
		       ? path[0] == '/'
		       : strncmp(path, folder, size) == 0 && strchr("/", path[size]);
}

/* Space, tab, newline and backslash come as octal escapes. In place. */
static void unescape_text(char *text)
{
	char *to = text;

	for (const char *from = text; *from != '\0'; to++) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] && from[3]) {
			*to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* id parent device root point options [optional]... - type source options */
static bool parse_line(char *line, struct mount *ret)
{
	char *words[6] = { 0 };
	const char *word;

	for (size_t i = 0; i < 6; i++)
		words[i] = strsep(&line, " ");
	while ((word = strsep(&line, " ")) && strcmp(word, "-") != 0)
		;
	ret->type = strsep(&line, " ");
	if (!ret->type || ret->type[0] == '\0') /* there were fewer words */
		return false;
	ret->device = words[2];
	ret->root = words[3];
	ret->point = words[4];
	unescape_text(words[3]);
	unescape_text(words[4]);
	return true;
}

static size_t count_lines(const char *text)
{
	size_t count = 1;

	for (; *text != '\0'; text++)
		count += *text == '\n';
	return count;
}

/* A line that cannot be read makes the whole table untrusted. */
int mounts_parse(char *text, struct mounts *ret)
{
	struct mounts mounts = { text, memory_get_zeroed(count_lines(text), sizeof(struct mount)),
				 0 };

	while (text && *text != '\0') {
		if (!parse_line(strsep(&text, "\n"), &mounts.list[mounts.count])) {
			mounts_done(&mounts);
			return -EBADMSG;
		}
		mounts.count++;
	}
	*ret = mounts;
	return 0;
}

int mounts_read(struct mounts *ret)
{
	size_t room = 16384;

	for (;; room *= 2) {
		char *text = memory_get(room);
		const int size = text_read_file(AT_FDCWD, "/proc/self/mountinfo", text, room);

		if (size >= 0 && (size_t)size < room - 2)
			return mounts_parse(text, ret);
		free(text);
		if (size < 0)
			return size;
		if (room > ((size_t)64 << 20))
			return -EFBIG;
	}
}

void mounts_done(struct mounts *mounts)
{
	free(mounts->list);
	free(mounts->text);
	memset(mounts, 0, sizeof(*mounts));
}

const char *mounts_inside(const struct mounts *mounts, const char *path)
{
	for (size_t i = 0; i < mounts->count; i++) {
		const char *point = mounts->list[i].point;

		if (strcmp(point, path) != 0 && path_is_within(point, path))
			return point;
	}
	return NULL;
}

/* The mount that a path is on: the longest mount point that it is within, the last of equals. */
static const struct mount *mount_of(const struct mounts *mounts, const char *path)
{
	const struct mount *best = NULL;

	for (size_t i = 0; i < mounts->count; i++) {
		const struct mount *mount = &mounts->list[i];

		if (path_is_within(path, mount->point) &&
		    (!best || strlen(mount->point) >= strlen(best->point)))
			best = mount;
	}
	return best;
}

void path_move(const char *path, const char *from, const char *to, char *ret, size_t room)
{
	const char *rest = strcmp(from, "/") == 0 ? path : path + strlen(from);

	format_text(ret, room, "%s%s", strcmp(to, "/") == 0 ? "" : to,
		    strcmp(rest, "/") == 0 ? "" : rest);
	if (ret[0] == '\0')
		format_text(ret, room, "/");
}

bool mounts_other_name(const struct mounts *mounts, size_t index, const char *path, char *ret,
		       size_t room)
{
	const struct mount *own = mount_of(mounts, path);
	const struct mount *other = &mounts->list[index];
	char within[8192]; /* the path inside the file system */

	if (!own || other == own || strcmp(own->device, other->device) != 0 ||
	    strlen(own->root) + strlen(path) >= sizeof(within))
		return false;
	path_move(path, own->point, own->root, within, sizeof(within));
	if (!path_is_within(within, other->root) || strlen(other->point) + strlen(within) >= room)
		return false;
	path_move(within, other->root, other->point, ret, room);
	return strcmp(ret, path) != 0;
}
