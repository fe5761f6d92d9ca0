/* SPDX-License-Identifier: Apache-2.0
 *
 * The recorded hash proves that a file says nothing of this machine: every machine with the package
 * has the same bytes. A file of the administrator's, a changed one and one that a package generates
 * have no such proof, and stay out.
 */
#include "policy/packages/packages.h"

#include "common/fd.h"
#include "common/kernel.h"
#include "common/limits.h"
#include "common/text/format.h"
#include "lib/heap/grow.h"
#include "lib/heap/memory.h"
#include "policy/packages/md5.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ETC "/etc/"
#define STATUS "/var/lib/dpkg/status"
#define UCF "/var/lib/ucf/hashfile"

/* Files and links, bytes of one file, and bytes of all; the rest is left out. */
#define FILES_MAX 8192U
#define FILE_BYTES_MAX (1U << 20)
#define ALL_BYTES_MAX (32U << 20)

struct reader {
	struct packages *packages;
	char root[IPC_PATH_MAX]; /* "" but in a test */
	int etc;
	uid_t owner; /* the user that /etc belongs to */
	size_t bytes;
	size_t last; /* the offset of the last watched path */
};

static const char *const refused[] = {
#define GENERATED(pattern, reason)
#define OUT(pattern, reason) pattern,
#include "common/plan/packages.def"
#undef OUT
#undef GENERATED
};

static const char *const generated[] = {
#define GENERATED(pattern, reason) pattern,
#define OUT(pattern, reason)
#include "common/plan/packages.def"
#undef OUT
#undef GENERATED
};

/* --- the list --------------------------------------------------------------------------------- */

bool packages_have(const struct packages *packages, const char *path, bool is_file)
{
	const size_t size = strlen(path);

	for (size_t i = 0; i < packages->count; i++) {
		const struct packages_file *file = &packages->files[i];

		if (strncmp(file->path, path, size) == 0 && !(is_file && file->link != NULL) &&
		    (file->path[size] == '\0' || file->path[size] == '/'))
			return true;
	}
	return false;
}

static struct packages_file *add_file(struct packages *packages, const char *path)
{
	struct packages_file *file =
		grow_text(&packages->files, &packages->room, &packages->count, sizeof(*file), path);

	if (file == NULL)
		give_up("memory");
	return file;
}

static bool is_among(const char *const *patterns, size_t count, const char *path, int flags)
{
	for (size_t i = 0; i < count; i++) {
		if (fnmatch(patterns[i], path, FNM_PATHNAME | flags) == 0)
			return true;
	}
	return false;
}

static bool is_refused(const char *path)
{
	return is_among(refused, sizeof(refused) / sizeof(refused[0]), path, FNM_LEADING_DIR);
}

static bool is_generated(const char *path)
{
	return is_among(generated, sizeof(generated) / sizeof(generated[0]), path, FNM_PERIOD);
}

/* --- files ------------------------------------------------------------------------------------ */

/* Return whether the path has neither an empty component, nor "..", nor a control character. */
static bool is_plain(const char *path)
{
	for (const char *next = path; *next != '\0'; next++) {
		if ((unsigned char)*next < ' ')
			return false;
	}
	return path[0] != '/' && strstr(path, "//") == NULL && strstr(path, "./") == NULL &&
	       strcmp(path, "..") != 0;
}

static bool may_be_added(const struct reader *reader, const char *path)
{
	return is_plain(path) && !is_refused(path) && reader->packages->count < FILES_MAX &&
	       !packages_have(reader->packages, path, false);
}

/* Read a regular file of /etc's owner that everybody may read and only some may write. */
static bool read_shared(struct reader *reader, const char *path, struct buffer *ret)
{
	int fd FD_OWNED =
		kernel_openat2(reader->etc, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
			       RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH);
	char piece[8192];
	struct stat status;
	ssize_t size;

	if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) ||
	    status.st_uid != reader->owner || (status.st_mode & (S_IROTH | S_IWOTH)) != S_IROTH)
		return false;
	while ((size = read(fd, piece, sizeof(piece))) > 0 && ret->size <= FILE_BYTES_MAX)
		buffer_append(ret, piece, (size_t)size);
	reader->bytes += ret->size;
	return size == 0 && reader->bytes <= ALL_BYTES_MAX;
}

/* A generated file has no proof, so a word of this kind keeps it out. */
static bool has_secret(const struct buffer *content)
{
	static const char *const words[] = { "passw", "pwd", "secret", "token" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && content->size > 0; i++) {
		if (strcasestr(content->bytes, words[i]) != NULL)
			return true;
	}
	return false;
}

/* Take the file if its content has the recorded hash; NULL: a package generates it. */
static void accept_file(struct reader *reader, const char *path, const char *hash)
{
	struct buffer content = { .bytes = NULL };
	char found[MD5_DIGITS + 1];

	if (may_be_added(reader, path) && read_shared(reader, path, &content)) {
		md5_print(content.bytes, content.size, found);
		if (hash != NULL ? strcmp(found, hash) == 0 : !has_secret(&content)) {
			add_file(reader->packages, path)->content = content;
			return;
		}
	}
	buffer_done(&content);
}

/* Read a line of dpkg's, " /etc/PATH HASH" and words such as "obsolete"; of ucf's,
 * "HASH  /etc/PATH". A path with a space has another form, and stays out. */
static void read_line(struct reader *reader, const char *line, bool is_ucf)
{
	char path[IPC_PATH_MAX], hash[MD5_DIGITS + 1];
	int end = 0;

	_Static_assert(MD5_DIGITS == 32 && IPC_PATH_MAX > 1000, "as the formats say");
	if (is_ucf)
		(void)sscanf(line, "%32[0-9a-f]  " ETC "%1000[^ \n]%n", hash, path, &end);
	else if (strncmp(line, " " ETC, sizeof(" " ETC) - 1) == 0)
		(void)sscanf(line, " " ETC "%1000[^ \n] %32[0-9a-f]%n", path, hash, &end);
	if (end > 0 && strlen(hash) == MD5_DIGITS && (line[end] == '\n' || line[end] == ' '))
		accept_file(reader, path, hash);
}

/* Have a path below /etc compared by later starts, unless it was the last one. */
static void watch_path(struct reader *reader, const char *path, size_t size)
{
	struct buffer *watched = &reader->packages->watched;
	char text[2 * IPC_PATH_MAX];

	format_text(text, sizeof(text), "%s" ETC "%.*s", reader->root, (int)size, path);
	if (strcmp(text, watched->bytes + reader->last) == 0)
		return;
	reader->last = watched->size;
	buffer_append(watched, text, strlen(text) + 1);
}

static void read_database(struct reader *reader, const char *name, bool is_ucf)
{
	char path[2 * IPC_PATH_MAX], *line = NULL;
	size_t room = 0;
	FILE *file;

	format_text(path, sizeof(path), "%s%s", reader->root, name);
	buffer_append(&reader->packages->watched, path, strlen(path) + 1);
	file = fopen(path, "re");
	while (file != NULL && getline(&line, &room, file) > 0)
		read_line(reader, line, is_ucf);
	free(line);
	if (file != NULL)
		(void)fclose(file);
}

/* --- links and generated files ---------------------------------------------------------------- */

static bool begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Return whether a link may be shown: it is at the top or in a directory at the top that has
 * packages' files, and leads to a program's files in /usr or to a file of the list. */
static bool is_shared(const struct reader *reader, const FTSENT *entry, const char *path)
{
	const size_t skip = strlen(reader->root);
	char top[IPC_PATH_MAX];
	char *target = realpath(entry->fts_accpath, NULL);
	bool result = false;

	format_text(top, sizeof(top), "%.*s", (int)strcspn(path, "/"), path);
	if (target != NULL && begins_with(target, reader->root) && begins_with(target + skip, ETC))
		result = packages_have(reader->packages, target + skip + sizeof(ETC) - 1, true);
	else if (target != NULL)
		result = begins_with(target, "/usr/") && !begins_with(target, "/usr/local/");
	free(target);
	return result && (strchr(path, '/') == NULL || packages_have(reader->packages, top, true));
}

static void accept_link(struct reader *reader, const FTSENT *entry, const char *path)
{
	char text[IPC_PATH_MAX];
	const ssize_t size = readlink(entry->fts_accpath, text, sizeof(text));

	if (size <= 0 || (size_t)size == sizeof(text) || !may_be_added(reader, path) ||
	    !is_shared(reader, entry, path))
		return;
	add_file(reader->packages, path)->link = memory_text(text, (size_t)size);
	if (strchr(path, '/') != NULL)
		watch_path(reader, path, (size_t)(strrchr(path, '/') - path));
}

/* Take the generated files of all /etc, or the links. */
static void walk_etc(struct reader *reader, int kind)
{
	char folder[IPC_PATH_MAX + sizeof(ETC)];
	char *const roots[] = { folder, NULL };
	FTS *walk;
	FTSENT *entry;

	format_text(folder, sizeof(folder), "%s" ETC, reader->root);
	walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	while (walk != NULL && (entry = fts_read(walk)) != NULL) {
		const char *path = entry->fts_path + strlen(folder);

		if (entry->fts_info == FTS_D && entry->fts_level > 0 && is_refused(path)) {
			(void)fts_set(walk, entry, FTS_SKIP);
		} else if (entry->fts_info == kind && kind == FTS_SL) {
			accept_link(reader, entry, path);
		} else if (entry->fts_info == kind && is_generated(path)) {
			watch_path(reader, path, strlen(path));
			accept_file(reader, path, NULL);
		}
	}
	if (walk != NULL)
		(void)fts_close(walk);
}

void packages_read(struct packages *packages, const char *root)
{
	struct reader reader = { .packages = packages, .etc = -1 };
	struct stat status;

	format_text(reader.root, sizeof(reader.root), "%s" ETC, root);
	reader.etc = open(reader.root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	reader.root[strlen(root)] = '\0';
	if (reader.etc < 0 || fstat(reader.etc, &status) != 0)
		return;
	reader.owner = status.st_uid;
	read_database(&reader, STATUS, false);
	read_database(&reader, UCF, true);
	walk_etc(&reader, FTS_F);
	walk_etc(&reader, FTS_SL);
	fd_close(&reader.etc);
	list_sort(packages->files, packages->count, sizeof(*packages->files));
}

void packages_done(struct packages *packages)
{
	for (size_t i = 0; i < packages->count; i++) {
		free(packages->files[i].link);
		buffer_done(&packages->files[i].content);
	}
	list_free(packages->files, packages->count, sizeof(*packages->files));
	free(packages->tree);
	buffer_done(&packages->watched);
	*packages = (struct packages){ .count = 0 };
}
