/* SPDX-License-Identifier: Apache-2.0 */
#include "image/pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/xattr.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/kernel.h"
#include "image/digest.h"
#include "image/entry.h"
#include "image/refuse.h"
#include "image/room.h"
#include "image/store.h"
#include "image/target.h"
#include "lib/heap/memory.h"

#define BLOCK_BYTES ((size_t)256 << 10)

/* The names of overlayfs' own attributes begin with it. */
#define OVERLAY "user.overlay."

/* A file with several names, and the first of them. */
struct link {
	dev_t device;
	ino_t inode;
	char *path;
};

/* A name in a directory, with the number of a layer that has it. */
struct name {
	char *text;
	uint32_t layer;
};

struct names {
	struct name *list;
	size_t count, room;
};

struct pack {
	const struct pack_source *source;
	struct archive *archive;
	struct archive_entry *entry;
	int to;
	uint64_t most, left; /* bytes that may be written */
	uint64_t entries;
	EVP_MD_CTX *digest;
	void *links; /* of tsearch(3) */
	char path[PATH_MAX];
	size_t length;
	char block[BLOCK_BYTES];
};

/* A callback of libarchive. */
static la_ssize_t write_archive(struct archive *archive, void *context, const void *bytes,
				size_t size)
{
	struct pack *pack = context;
	int error;

	if (size > pack->left)
		return room_refuse("it takes", pack->most);
	error = fd_write_all(pack->to, bytes, size);
	if (error)
		return refuse_call("writing the layer's archive", error);
	pack->left -= size;
	digest_add(pack->digest, bytes, size);
	return (la_ssize_t)size;
}

/* Open the present path in a layer. */
static int open_path(const struct pack *pack, uint32_t layer, uint64_t flags)
{
	return fd_result(kernel_openat2(pack->source->layers[layer],
					pack->length ? pack->path : ".",
					flags | O_NOFOLLOW | O_CLOEXEC,
					RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV));
}

static int refuse_opening(int error)
{
	return error == -EACCES ? refuse("its permissions do not let it be read: 'chmod u+r' in "
					 "the sandbox, for a directory 'chmod u+rx'")
				: refuse_call("opening it", error);
}

/* --- entries ---------------------------------------------------------------------------------- */

/* Begin an entry for the present path. */
static void begin_entry(struct pack *pack, const struct stat *status, mode_t type)
{
	archive_entry_clear(pack->entry);
	archive_entry_set_pathname(pack->entry, pack->path);
	archive_entry_set_filetype(pack->entry, type);
	archive_entry_set_perm(pack->entry, status->st_mode & 07777);
	archive_entry_set_mtime(pack->entry, status->st_mtim.tv_sec, 0);
	archive_entry_set_size(pack->entry, 0);
}

static int write_header(struct pack *pack)
{
	pack->entries++;
	return archive_write_header(pack->archive, pack->entry) == ARCHIVE_OK
		       ? 0
		       : refuse_archive("it cannot be written", pack->archive);
}

/* Write a mark beside the present path, or in it: `at` is where its own name begins. */
static int write_mark(struct pack *pack, size_t at, const char *mark, const char *name)
{
	static const struct stat none = { .st_mode = S_IRUSR };
	char path[PATH_MAX + sizeof(ENTRY_OPAQUE_NAME)];

	(void)snprintf(path, sizeof(path), "%.*s%s%s", (int)at, pack->path, mark, name);
	begin_entry(pack, &none, AE_IFREG);
	archive_entry_set_pathname(pack->entry, path);
	return write_header(pack);
}

static int compare_links(const void *left, const void *right)
{
	const struct link *one = left, *other = right;

	if (one->device != other->device)
		return one->device < other->device ? -1 : 1;
	return one->inode < other->inode ? -1 : one->inode > other->inode;
}

static void free_link(void *kept)
{
	free(((struct link *)kept)->path);
	free(kept);
}

/* Return the name that a file has in the archive, or NULL after keeping the present one. */
static const char *find_link(struct pack *pack, const struct stat *status)
{
	struct link *kept, **found;

	if (status->st_nlink < 2)
		return NULL;
	kept = memory_get(sizeof(*kept));
	*kept = (struct link){ status->st_dev, status->st_ino,
			       memory_text(pack->path, pack->length) };
	found = tsearch(kept, &pack->links, compare_links);
	if (!found)
		give_up("memory for hard links");
	if (*found == kept)
		return NULL;
	free_link(kept);
	return (*found)->path;
}

static int write_content(struct pack *pack, int fd)
{
	ssize_t size;

	while ((size = read(fd, pack->block, sizeof(pack->block))) > 0) {
		if (archive_write_data(pack->archive, pack->block, (size_t)size) != size)
			return refuse_archive("it cannot be written", pack->archive);
	}
	return size < 0 ? refuse_call("reading it", errno) : 0;
}

/* Return whether a file has attributes of its own: not overlayfs', nor a label of the host. */
static bool has_attributes(int fd)
{
	static char list[XATTR_LIST_MAX];
	const ssize_t size = flistxattr(fd, list, sizeof(list));
	ssize_t at = 0;

	while (at < size && (strncmp(list + at, OVERLAY, strlen(OVERLAY)) == 0 ||
			     strcmp(list + at, XATTR_NAME_SELINUX) == 0))
		at += (ssize_t)strlen(list + at) + 1;
	return at < size;
}

/* Refuse what overlayfs would read in another place than this, and count what is packed without its
 * attributes. */
static int check_attributes(int fd, bool is_packed)
{
	static const char *const names[] = { OVERLAY "redirect", OVERLAY "metacopy",
					     OVERLAY "whiteout" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (fgetxattr(fd, names[i], NULL, 0) >= 0)
			return refuse("it has the attribute %s, which no layer of msp has",
				      names[i]);
	}
	report.attributes += is_packed && has_attributes(fd);
	return 0;
}

static int pack_file(struct pack *pack, uint32_t layer, const struct stat *status)
{
	const char *first = find_link(pack, status);
	int fd FD_OWNED = -1;

	begin_entry(pack, status, AE_IFREG);
	if (first) {
		archive_entry_set_hardlink(pack->entry, first);
		return write_header(pack);
	}
	fd = open_path(pack, layer, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return refuse_opening(fd);
	archive_entry_set_size(pack->entry, status->st_size);
	return check_attributes(fd, true) == 0 && write_header(pack) == 0 &&
			       write_content(pack, fd) == 0
		       ? 0
		       : -1;
}

static int pack_symlink(struct pack *pack, int fd, const struct stat *status)
{
	const char *first = find_link(pack, status);
	char text[PATH_MAX];
	const ssize_t size = readlinkat(fd, "", text, sizeof(text) - 1);

	if (size < 0)
		return refuse_call("reading the link", errno);
	text[size] = '\0';
	begin_entry(pack, status, AE_IFLNK);
	if (first)
		archive_entry_set_hardlink(pack->entry, first);
	else
		archive_entry_set_symlink(pack->entry, text);
	return write_header(pack);
}

/* --- directories ------------------------------------------------------------------------------ */

/* Does an open directory hide those of lower layers? 1, 0 or -1. */
static int is_opaque(int fd, bool is_packed)
{
	char value[2];
	const ssize_t size = fgetxattr(fd, TARGET_OPAQUE_NAME, value, sizeof(value));

	if (check_attributes(fd, is_packed) < 0)
		return -1;
	if (size < 0 && errno != ERANGE)
		return errno == ENODATA || errno == EOPNOTSUPP
			       ? 0
			       : refuse_call("looking at its attributes", errno);
	return size == 1 && value[0] == TARGET_OPAQUE_VALUE[0]
		       ? 1
		       : refuse("its attribute " TARGET_OPAQUE_NAME
				" must be " TARGET_OPAQUE_VALUE);
}

/* Find the layers whose directories show through at the present path, `top` the first of them. 1:
 * those below all layers do not; 0: they do; or -1. */
static int find_shown(const struct pack *pack, uint32_t among, uint32_t top, uint32_t *ret)
{
	int hides = 0;

	*ret = 0;
	for (uint32_t i = top; i < PACK_LAYERS_MAX && hides == 0; i++) {
		int fd FD_OWNED =
			among & 1U << i ? open_path(pack, i, O_RDONLY | O_DIRECTORY) : -ENOENT;

		if (fd == -ENOENT)
			continue;
		if (fd == -ENOTDIR || fd == -ELOOP)
			return 1;
		if (fd < 0)
			return refuse_opening(fd);
		hides = is_opaque(fd, i == top);
		*ret |= 1U << i;
	}
	return hides;
}

static int add_names(const struct pack *pack, uint32_t layer, struct names *names)
{
	int fd = open_path(pack, layer, O_RDONLY | O_DIRECTORY);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int error = list ? 0 : -errno;

	if (fd < 0)
		return refuse_opening(fd);
	while (!error && (entry = image_next_file(list, &error))) {
		names->list = memory_grow_list(names->list, &names->room, names->count + 1,
					       sizeof(*names->list));
		names->list[names->count++] =
			(struct name){ memory_text(entry->d_name, strlen(entry->d_name)), layer };
	}
	if (list)
		(void)closedir(list); /* it was only read */
	else
		fd_close(&fd);
	return error ? refuse_call("reading its names", error) : 0;
}

static int compare_names(const void *left, const void *right)
{
	const struct name *one = left, *other = right;
	const int order = strcmp(one->text, other->text);

	return order ? order : one->layer < other->layer ? -1 : one->layer > other->layer;
}

static int pack_directory(struct pack *pack, uint32_t shown);

static int pack_subdirectory(struct pack *pack, uint32_t among, uint32_t top,
			     const struct stat *status)
{
	uint32_t shown;
	const int hides = find_shown(pack, among, top, &shown);

	if (hides < 0)
		return -1;
	begin_entry(pack, status, AE_IFDIR);
	if (write_header(pack) < 0 ||
	    (hides && write_mark(pack, pack->length, "/", ENTRY_OPAQUE_NAME) < 0))
		return -1;
	return pack_directory(pack, shown);
}

/* Write what the layers `among` show at the present path, whose own name begins at `at`. */
static int pack_path(struct pack *pack, uint32_t among, const struct name *name, size_t at)
{
	struct stat status;
	int fd FD_OWNED = -1;

	if (strncmp(name->text, ENTRY_MARK, strlen(ENTRY_MARK)) == 0)
		return refuse("no name can begin with " ENTRY_MARK
			      ", which marks removed files in images: rename it in the sandbox");
	fd = open_path(pack, name->layer, O_PATH);
	if (fd < 0)
		return refuse_opening(fd);
	if (fstat(fd, &status) != 0)
		return refuse_call("looking at it", errno);
	if (S_ISREG(status.st_mode))
		return pack_file(pack, name->layer, &status);
	if (S_ISLNK(status.st_mode))
		return pack_symlink(pack, fd, &status);
	if (S_ISDIR(status.st_mode)) {
		fd_close(&fd); /* directories may be deep */
		return pack_subdirectory(pack, among, name->layer, &status);
	}
	/* A special file is left out, and what it hides stays hidden. */
	report.special_files += !S_ISCHR(status.st_mode) || status.st_rdev != 0;
	return write_mark(pack, at, ENTRY_MARK, name->text);
}

static bool is_left_out(const struct pack *pack)
{
	char *const *path = pack->source->left_out;

	while (*path && strcmp(*path, pack->path) != 0)
		path++;
	return *path != NULL;
}

static int pack_name(struct pack *pack, uint32_t among, const struct name *name)
{
	const size_t before = pack->length, at = before + (before > 0), size = strlen(name->text);
	int result;

	if (at + size + sizeof(ENTRY_OPAQUE_NAME) >= sizeof(pack->path))
		return refuse("'%s' in it: no path can have more than 4,080 bytes", name->text);
	if (before > 0)
		pack->path[before] = '/';
	memcpy(pack->path + at, name->text, size + 1);
	pack->length = at + size;
	refuse_in_entry(pack->path);
	result = is_left_out(pack) ? 0 : pack_path(pack, among, name, at);
	if (result == 0) {
		pack->length = before;
		pack->path[before] = '\0';
	}
	return result;
}

/* Write all that is in the directory of the present path in these layers. */
static int pack_directory(struct pack *pack, uint32_t shown)
{
	struct names names = { 0 };
	int result = 0;

	for (uint32_t i = 0; i < PACK_LAYERS_MAX && result == 0; i++) {
		if (shown & 1U << i)
			result = add_names(pack, i, &names);
	}
	if (names.count > 0)
		qsort(names.list, names.count, sizeof(names.list[0]), compare_names);
	for (size_t i = 0; i < names.count && result == 0; i++) {
		if (i == 0 || strcmp(names.list[i].text, names.list[i - 1].text) != 0)
			result = pack_name(pack, shown, &names.list[i]);
	}
	for (size_t i = 0; i < names.count; i++)
		free(names.list[i].text);
	free(names.list);
	return result;
}

/* --- all -------------------------------------------------------------------------------------- */

int pack_layers(const struct pack_source *source, int to, uint64_t most,
		char ret_digest[IMAGE_DIGEST_MAX], uint64_t *ret_entries)
{
	static struct pack pack;
	int result = 0;

	pack = (struct pack){ .source = source,
			      .archive = archive_write_new(),
			      .entry = archive_entry_new(),
			      .to = to,
			      .most = most,
			      .left = most,
			      .digest = digest_begin() };
	if (!pack.archive || !pack.entry ||
	    archive_write_set_format_pax_restricted(pack.archive) != ARCHIVE_OK ||
	    archive_write_set_bytes_in_last_block(pack.archive, 1) != ARCHIVE_OK ||
	    archive_write_open(pack.archive, &pack, NULL, write_archive, NULL) != ARCHIVE_OK)
		result = refuse("the library libarchive cannot write tar archives");
	if (result == 0 && source->count > 0)
		result = pack_directory(&pack, UINT32_MAX >> (PACK_LAYERS_MAX - source->count));
	refuse_in_entry(NULL);
	if (result == 0 && archive_write_close(pack.archive) != ARCHIVE_OK)
		result = refuse_archive("the archive cannot be ended", pack.archive);
	if (result < 0 && pack.archive)
		(void)archive_write_fail(pack.archive); /* nothing more is written */
	*ret_entries = pack.entries;
	tdestroy(pack.links, free_link);
	archive_entry_free(pack.entry);
	(void)archive_write_free(pack.archive); /* it was closed, or is not kept */
	digest_end(pack.digest, ret_digest);
	return result;
}
