/* SPDX-License-Identifier: Apache-2.0 */
#include "layers/changes/patch.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/records/changes.h"
#include "layers/base/beneath.h"
#include "layers/base/files.h"
#include "layers/changes/gitdiff.h"
#include "layers/reader/refs.h"

/* git's own: a NUL among the first bytes makes a file binary. */
#define BINARY_LOOK_BYTES 8000

/* Beyond it a comparison takes minutes and a gigabyte: lines cost it, not bytes. */
#define LINES_MAX 200000

/* Hex digits of an id in a patch's head. */
#define ID_DIGITS 7

#define FILE_MODE_PLAIN 0100644U
#define FILE_MODE_PROGRAM 0100755U
#define FILE_MODE_LINK 0120000U

/* One side of a change, as git would have it: mode 0, it has none. */
struct blob {
	uint32_t mode;
	const char *path;
	uint8_t *bytes;
	size_t size;
	uint8_t id[OBJECT_ID_BYTES];
};

/* Append bytes. A patch without room for them is LARGE, and its text is dropped in the end. */
static int put_raw(void *context, const char *bytes, size_t size)
{
	struct patch *patch = context;

	if (CHANGE_TEXT_MAX - patch->size < size) {
		patch->flags |= CHANGE_IS_LARGE;
		return -EFBIG;
	}
	memcpy(patch->bytes + patch->size, bytes, size);
	patch->size += size;
	return 0;
}

__attribute__((format(printf, 2, 3))) static void put_format(struct patch *patch,
							     const char *format, ...)
{
	char text[128];
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	(void)put_raw(patch, text, (size_t)size); /* the flag says it */
}

/* A name as git quotes it: a C string where it has bytes that are no plain ASCII. */
static void put_name(struct patch *patch, const char *prefix, const char *name)
{
	static const char letters[] = "abtnvfr"; /* from BEL on */
	bool is_quoted = false;

	for (const char *at = name; *at; at++)
		is_quoted |= *at < ' ' || *at == 0x7f || *at == '"' || *at == '\\';
	put_format(patch, "%s%s", is_quoted ? "\"" : "", prefix);
	for (const char *at = name; *at; at++) {
		const unsigned char byte = (unsigned char)*at;

		if (byte >= '\a' && byte <= '\r')
			put_format(patch, "\\%c", letters[byte - '\a']);
		else if (byte == '"' || byte == '\\')
			put_format(patch, "\\%c", byte);
		else if (byte < ' ' || byte >= 0x7f)
			put_format(patch, "\\%03o", byte);
		else
			(void)put_raw(patch, at, 1); /* the flag says it */
	}
	put_format(patch, "%s", is_quoted ? "\"" : "");
}

/* A line of the head with a name in it; after one with a blank git wants a tab. */
static void put_line(struct patch *patch, const char *start, const char *prefix, const char *name,
		     bool is_tabbed)
{
	put_format(patch, "%s", start);
	put_name(patch, prefix, name);
	put_format(patch, is_tabbed && strchr(name, ' ') ? "\t\n" : "\n");
}

static void put_modes(struct patch *patch, const struct blob *old, const struct blob *now)
{
	if (old->mode == 0)
		put_format(patch, "new file mode %06o\n", now->mode);
	else if (now->mode == 0)
		put_format(patch, "deleted file mode %06o\n", old->mode);
	else if (old->mode != now->mode)
		put_format(patch, "old mode %06o\nnew mode %06o\n", old->mode, now->mode);
}

static void put_index(struct patch *patch, const struct blob *old, const struct blob *now)
{
	char ids[2][HEX_BYTES + 1];

	refs_write_id(old->id, ids[0]);
	refs_write_id(now->id, ids[1]);
	put_format(patch, "index %.*s..%.*s", ID_DIGITS, ids[0], ID_DIGITS, ids[1]);
	if (old->mode == now->mode)
		put_format(patch, " %06o", now->mode);
	put_format(patch, "\n");
}

static int put_hunks(struct patch *patch, const struct blob *old, const struct blob *now)
{
	if (old->size == 0 && now->size == 0)
		return 0;
	if (old->mode)
		put_line(patch, "--- ", "a/", old->path, true);
	else
		put_format(patch, "--- /dev/null\n");
	if (now->mode)
		put_line(patch, "+++ ", "b/", now->path, true);
	else
		put_format(patch, "+++ /dev/null\n");
	return gitdiff_hunks(old->bytes, old->size, now->bytes, now->size, put_raw, patch);
}

static int put_change(struct patch *patch, const struct blob *old, const struct blob *now)
{
	const bool is_same =
		old->mode && now->mode && memcmp(old->id, now->id, sizeof(old->id)) == 0;
	const bool is_renamed = strcmp(old->path, now->path) != 0;

	if (is_same && !is_renamed && old->mode == now->mode)
		return 0; /* permissions that git does not keep */
	put_format(patch, "diff --git ");
	put_name(patch, "a/", old->path);
	put_line(patch, " ", "b/", now->path, false);
	put_modes(patch, old, now);
	if (is_renamed) {
		put_format(patch, "similarity index 100%%\n");
		put_line(patch, "rename from ", "", old->path, false);
		put_line(patch, "rename to ", "", now->path, false);
	}
	if (is_same)
		return 0;
	put_index(patch, old, now);
	return put_hunks(patch, old, now);
}

static uint32_t git_mode(const struct stat *status)
{
	if (S_ISLNK(status->st_mode))
		return FILE_MODE_LINK;
	if (!S_ISREG(status->st_mode))
		return 0;
	return status->st_mode & S_IXUSR ? FILE_MODE_PROGRAM : FILE_MODE_PLAIN;
}

int patch_read(int file, uint8_t **ret, size_t *ret_size)
{
	struct stat status;
	ssize_t size;
	size_t room = CHANGE_TEXT_MAX + 1;

	if (fstat(file, &status) != 0)
		return -errno;
	if (status.st_size < (off_t)room)
		room = (size_t)status.st_size;
	*ret = malloc(room + 1);
	if (!*ret)
		return -ENOMEM;
	size = beneath_read(file, *ret, room, 0);
	*ret_size = size < 0 ? 0 : (size_t)size;
	return size < 0 ? (int)size : 0;
}

static int read_link(const struct job_directories *directories, const struct difference *difference,
		     bool is_old, struct blob *ret)
{
	char target[IPC_PATH_MAX];
	const int size = tree_link(directories, difference, is_old, target);

	if (size < 0)
		return size;
	ret->bytes = malloc((size_t)size + 1);
	if (!ret->bytes)
		return -ENOMEM;
	memcpy(ret->bytes, target, (size_t)size + 1);
	ret->size = (size_t)size;
	return 0;
}

static int read_blob(const struct job_directories *directories, const struct difference *difference,
		     bool is_old, struct blob *ret)
{
	int file, error;

	if (ret->mode == 0)
		return 0;
	if (ret->mode == FILE_MODE_LINK) {
		error = read_link(directories, difference, is_old, ret);
	} else {
		file = tree_open(directories, difference, is_old);
		error = file < 0 ? file : patch_read(file, &ret->bytes, &ret->size);
		fd_close(&file);
	}
	if (!error)
		error = library_hash(OBJECT_BLOB, ret->bytes, ret->size, ret->id) ? -ENOMEM : 0;
	return error;
}

uint32_t patch_judge(const uint8_t *bytes, size_t size)
{
	size_t lines = 0;

	if (size > 0 && memchr(bytes, 0, size < BINARY_LOOK_BYTES ? size : BINARY_LOOK_BYTES))
		return CHANGE_IS_BINARY;
	for (size_t i = 0; i < size; i++)
		lines += bytes[i] == '\n';
	return size > CHANGE_TEXT_MAX || lines > LINES_MAX ? CHANGE_IS_LARGE : 0;
}

/* For git a thing that becomes one of another type goes, and another one comes. */
static int put_sections(struct patch *patch, const struct blob *old, const struct blob *now)
{
	const struct blob none_old = { .path = now->path }, none_now = { .path = old->path };
	const bool is_other = old->mode && now->mode &&
			      (old->mode == FILE_MODE_LINK) != (now->mode == FILE_MODE_LINK);
	int error;

	if (!old->mode && !now->mode)
		return 0;
	if (!is_other)
		return put_change(patch, old, now);
	error = put_change(patch, old, &none_now);
	return error ? error : put_change(patch, &none_old, now);
}

/* A renamed file's content is one: it may be of any kind and size. */
static int put_all(const struct job_directories *directories, const struct difference *difference,
		   struct patch *patch, struct blob *old, struct blob *now)
{
	int error;

	if (difference->kind != CHANGE_RENAMED && difference->kind != CHANGE_MODE) {
		error = read_blob(directories, difference, true, old);
		if (!error)
			error = read_blob(directories, difference, false, now);
		if (error)
			return error;
		patch->has_hash = now->mode && now->size <= CHANGE_TEXT_MAX;
		if (patch->has_hash)
			files_hash(now->bytes, now->size, patch->hash);
		patch->flags |=
			patch_judge(old->bytes, old->size) | patch_judge(now->bytes, now->size);
	}
	return patch->flags ? 0 : put_sections(patch, old, now);
}

int patch_make(const struct job_directories *directories, const struct difference *difference,
	       struct patch *ret)
{
	struct blob old = { .mode = git_mode(&difference->old) };
	struct blob now = { .mode = git_mode(&difference->now), .path = difference->path };
	int error;

	ret->size = 0;
	ret->has_hash = false;
	ret->flags = difference->flags & CHANGE_IS_UNREADABLE;
	if (!ret->bytes)
		ret->bytes = malloc(CHANGE_TEXT_MAX);
	if (!ret->bytes)
		return -ENOMEM;
	old.path = difference->old_path[0] ? difference->old_path : difference->path;
	error = put_all(directories, difference, ret, &old, &now);
	if (error == -EACCES || error == -ESTALE || error == -ENOENT || error == -EIO)
		ret->flags |= CHANGE_IS_UNREADABLE;
	else if (error == -ENOMEM)
		ret->flags |= CHANGE_IS_LARGE;
	else if (error == -EFBIG)
		error = 0;
	if (ret->flags)
		ret->size = 0;
	free(old.bytes);
	free(now.bytes);
	return ret->flags ? 0 : error;
}

void patch_free(struct patch *patch)
{
	free(patch->bytes);
	memset(patch, 0, sizeof(*patch));
}
