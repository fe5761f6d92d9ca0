/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fd.h"
#include "common/kernel.h"
#include "common/limits.h"

#ifdef MSP_WITHOUT_RESOLVE
#define RESOLVE_TREE 0
#else
#define RESOLVE_TREE (RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS)
#endif

int tree_open(int root, const char *path)
{
	const int fd = kernel_openat2(root, path, O_PATH | O_CLOEXEC, RESOLVE_TREE);

	return fd < 0 ? -errno : fd;
}

static int open_directory(int root, const char *path)
{
	const int fd = kernel_openat2(root, path, O_PATH | O_DIRECTORY | O_CLOEXEC, RESOLVE_TREE);

	return fd < 0 ? -errno : fd;
}

/* mkdir of the last component, once its parent is there. */
static int make_last(int root, const char *path, uint32_t mode)
{
	const char *name;
	int parent = tree_parent(root, path, &name);
	int error = 0;

	if (parent < 0)
		return parent;
	if (mkdirat(parent, name, mode) != 0)
		error = -errno;
	fd_close(&parent);
	return error;
}

int tree_parent(int root, const char *path, const char **ret_name)
{
	char prefix[IPC_PATH_MAX];
	const char *slash = strrchr(path, '/');
	const size_t size = slash ? (size_t)(slash - path) : 0;
	int parent;

	if (!slash || slash[1] == '\0' || size >= sizeof(prefix))
		return -EINVAL;
	memcpy(prefix, path, size);
	prefix[size] = '\0';
	*ret_name = slash + 1;
	/* Paths have few components, and the recursion is as deep as what is missing. */
	parent = open_directory(root, size == 0 ? "/" : prefix);
	if (parent != -ENOENT)
		return parent;
	return tree_make_directory(root, prefix, 0755);
}

int tree_make_directory(int root, const char *path, uint32_t mode)
{
	int fd = open_directory(root, path);
	int error;

	if (fd != -ENOENT)
		return fd;
	error = make_last(root, path, mode);
	return error ? error : open_directory(root, path);
}

int tree_create_file(int root, const char *path, uint32_t mode)
{
	const char *name;
	int parent = tree_parent(root, path, &name);
	int fd;

	if (parent < 0)
		return parent;
	fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		fd = -errno;
	fd_close(&parent);
	return fd;
}

int tree_make_file(int root, const char *path)
{
	int fd = tree_open(root, path);
	int file;

	if (fd != -ENOENT)
		return fd;
	file = tree_create_file(root, path, 0444);
	fd = file < 0 ? file : tree_open(root, path);
	fd_close(&file);
	return fd;
}
