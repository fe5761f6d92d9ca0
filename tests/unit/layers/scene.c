/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/fd.h"
#include "frontend/changes.h"
#include "layers/base/beneath.h"

static int open_folder(int directory, const char *path)
{
	int fd;

	put_folder(directory, path);
	fd = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert(fd >= 0, "%s: %m", path);
	return fd;
}

void scene_begin(struct scene *scene, uint32_t layers)
{
	int root;

	memset(scene, 0, sizeof(*scene));
	(void)umask(022);
	(void)snprintf(scene->root, sizeof(scene->root), "/tmp/msp-layers-XXXXXX");
	cr_assert_not_null(mkdtemp(scene->root));
	root = open(scene->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert(root >= 0);
	scene->directories.host = open_folder(root, "host");
	scene->directories.journal = scene->directories.target = -1;
	scene->directories.layer_count = layers;
	for (uint32_t i = 0; i < layers; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "layer%u", i);
		scene->directories.layers[i] = open_folder(root, name);
		scene->uppers[i] = open_folder(scene->directories.layers[i], WORKSPACE_NAME);
	}
	fd_close(&root);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
	(void)status;
	(void)type;
	(void)ftw;
	return remove(path);
}

static unsigned int opened; /* directories, in one walk */

static int open_up(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
	(void)ftw;
	if ((type != FTW_DNR && type != FTW_D) || (status->st_mode & 0700) == 0700)
		return 0;
	if (chmod(path, status->st_mode | 0700) != 0)
		return -1;
	opened++;
	return 0;
}

void scene_end(struct scene *scene)
{
	do { /* a directory that could not be read may hold such again */
		opened = 0;
		(void)nftw(scene->root, open_up, 16, FTW_PHYS);
	} while (opened > 0);
	cr_assert(nftw(scene->root, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0, "%m");
	fd_close(&scene->directories.host);
	fd_close_all(scene->directories.layers, scene->directories.layer_count);
	fd_close_all(scene->uppers, scene->directories.layer_count);
}

void scene_since(struct scene *scene, uint32_t layer)
{
	scene->directories.since[scene->directories.since_count++] =
		scene->directories.layers[layer];
}

static void make_folders_above(int directory, const char *path)
{
	char above[IPC_PATH_MAX];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		(void)snprintf(above, sizeof(above), "%.*s", (int)(slash - path), path);
		(void)mkdirat(directory, above, 0755); /* it may be there */
	}
}

void put_folder(int directory, const char *path)
{
	make_folders_above(directory, path);
	(void)mkdirat(directory, path, 0755); /* it may be there */
}

void put_file(int directory, const char *path, const char *content)
{
	int file;

	make_folders_above(directory, path);
	file = openat(directory, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	cr_assert(file >= 0, "%s: %m", path);
	cr_assert_eq(fd_write_all(file, content, strlen(content)), 0);
	fd_close(&file);
}

void put_link(int directory, const char *path, const char *target)
{
	make_folders_above(directory, path);
	cr_assert_eq(symlinkat(target, directory, path), 0, "%s: %m", path);
}

void put_fifo(int directory, const char *path)
{
	make_folders_above(directory, path);
	cr_assert_eq(mkfifoat(directory, path, 0644), 0, "%s: %m", path);
}

void put_socket(int directory, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	make_folders_above(directory, path);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", directory,
		       path);
	cr_assert_eq(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0, "%s: %m",
		     path);
	fd_close(&fd);
}

void put_whiteout(int directory, const char *path)
{
	make_folders_above(directory, path);
	cr_assert_eq(mknodat(directory, path, S_IFCHR, 0), 0, "%s: %m", path);
}

void put_mark(int directory, const char *path, const char *name, const char *value)
{
	int file = openat(directory, path, O_RDONLY | O_CLOEXEC);

	cr_assert(file >= 0, "%s: %m", path);
	cr_assert_eq(fsetxattr(file, name, value, strlen(value), 0), 0, "%s: %m", path);
	fd_close(&file);
}

void put_mode(int directory, const char *path, mode_t mode)
{
	cr_assert_eq(fchmodat(directory, path, mode, 0), 0, "%s: %m", path);
}

static int tell(void *context, const struct difference *difference)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} flags[] = { { CHANGE_IS_STRIPPED, " stripped" },
		      { CHANGE_IS_REFUSED, " refused" },
		      { CHANGE_IS_UNREADABLE, " unreadable" } };
	struct scene *scene = context;
	char *text = scene->text + scene->text_size;
	const size_t room = sizeof(scene->text) - scene->text_size;
	int size = snprintf(text, room, "%s %s%s%s%s", change_kind_name(difference->kind),
			    difference->path, difference->flags & CHANGE_IS_DIRECTORY ? "/" : "",
			    difference->old_path[0] ? " <- " : "", difference->old_path);

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (difference->flags & flags[i].flag)
			size += snprintf(text + size, room - (size_t)size, "%s", flags[i].name);
	}
	size += snprintf(text + size, room - (size_t)size, "\n");
	cr_assert((size_t)size < room);
	scene->text_size += (size_t)size;
	return 0;
}

const char *scene_compare(struct scene *scene)
{
	int status;

	scene->text_size = 0;
	scene->text[0] = '\0';
	status = tree_compare(&scene->directories, tell, scene);
	if (status != 0)
		(void)snprintf(scene->text, sizeof(scene->text), "error %d\n", status);
	return scene->text;
}

const char *scene_walk(struct scene *scene)
{
	scene->text_size = 0;
	scene->text[0] = '\0';
	cr_assert_eq(tree_walk(&scene->directories, tell, scene), 0);
	return scene->text;
}

/* Version 4: all of the last name is taken off, or what the two do not have in common. */
static uint8_t *put_name(uint8_t *at, uint32_t version, const char *last, const char *name)
{
	size_t common = 0;

	if (version == 4) {
		while (last[common] && last[common] == name[common])
			common++;
		*at++ = (uint8_t)(strlen(last) - common);
	}
	return (uint8_t *)stpcpy((char *)at, name + common) + 1;
}

size_t scene_index(uint8_t *ret, uint32_t version, size_t id_bytes, const char *const *names)
{
	const char *last = "";
	uint8_t *at = ret + 12;
	uint8_t count = 0;

	memcpy(ret, "DIRC\0\0\0\0\0\0\0", 12);
	for (; names[count]; last = names[count++]) {
		uint8_t *begin = at;

		memset(at, 0x11, 40 + id_bytes);
		at += 40 + id_bytes;
		*at++ = version > 2 ? 0x40 : 0; /* two more bytes of flags */
		*at++ = (uint8_t)strlen(names[count]);
		if (version > 2) {
			memset(at, 0, 2);
			at += 2;
		}
		at = put_name(at, version, last, names[count]);
		for (; version < 4 && (at - begin) % 8 != 0; at++)
			*at = 0;
	}
	ret[7] = (uint8_t)version;
	ret[11] = count;
	memset(at, 0x22, id_bytes);
	return (size_t)(at - ret) + id_bytes;
}
