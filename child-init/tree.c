/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fd.h"
#include "common/kernel.h"
#include "common/limits.h"
#include "layers.h"

int tree_open(int root, const char *path)
{
	const int fd =
		kernel_openat2(root, LAYER_RESOLVE_PATH(path), O_PATH | O_CLOEXEC, LAYER_RESOLVE);

	return fd < 0 ? -errno : fd;
}

int tree_open_meant(int root, const char *path, uint64_t flags, const struct stat *meant)
{
	struct stat found;
	int fd = kernel_openat2(root, path, flags | O_CLOEXEC, LAYER_RESOLVE_PINNED);

	if (fd < 0) /* what is gone is not what was meant, and nothing to be left out */
		return errno == ENOENT ? -ESTALE : -errno;
	if (fstat(fd, &found) == 0 && LAYER_IS_MEANT(&found, meant))
		return fd;
	fd_close(&fd);
	return -ESTALE;
}

int tree_parent(int root, const char *path, const char **ret_name)
{
	char prefix[IPC_PATH_MAX] = "/";
	const char *slash = strrchr(path, '/');
	const size_t size = slash ? (size_t)(slash - path) : 0;
	int parent;
	int error;

	if (!slash || slash[1] == '\0' || size >= sizeof(prefix))
		return -EINVAL;
	/* The last component is used as it is, not resolved: ".." of the root would be outside. */
	if (strcmp(slash, "/.") == 0 || strcmp(slash, "/..") == 0)
		return -EINVAL;
	memcpy(prefix, path, size);
	*ret_name = slash + 1;
	parent = tree_open(root, prefix);
	if (parent != -ENOENT)
		return parent;
	error = tree_make_directory(root, prefix, 0755); /* as deep as what is missing */
	return error ? error : tree_open(root, prefix);
}

int tree_make_directory(int root, const char *path, uint32_t mode)
{
	const char *name;
	int parent = tree_parent(root, path, &name);
	int error = 0;

	if (parent < 0)
		return parent;
	if (mkdirat(parent, name, mode) != 0 && errno != EEXIST)
		error = -errno;
	fd_close(&parent);
	return error;
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
