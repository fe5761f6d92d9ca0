/* SPDX-License-Identifier: Apache-2.0 */
#include "tree.h"

#include <errno.h>
#include <string.h>

#include "common/fd.h"
#include "common/kernel.h"
#include "common/limits.h"
#include "layers.h"

int tree_open(int root, const char *path, uint64_t flags)
{
	const int fd =
		kernel_openat2(root, LAYER_RESOLVE_PATH(path), flags | O_CLOEXEC, LAYER_RESOLVE);

	return fd < 0 ? -errno : fd;
}

int tree_open_meant(int root, const char *path, uint64_t flags, const struct stat *meant)
{
	struct stat found;
	int fd = kernel_openat2(root, path, flags | O_CLOEXEC, LAYER_RESOLVE_PINNED);

	if (fd < 0) /* a file that is gone is not the one that was meant, and may not be left out */
		return errno == ENOENT ? -ESTALE : -errno;
	if (fstat(fd, &found) == 0 && LAYER_IS_MEANT(&found, meant))
		return fd;
	fd_close(&fd);
	return -ESTALE;
}

static int open_parent(int root, const char *path, size_t size)
{
	struct tree_parent above = TREE_PARENT(root);
	char prefix[IPC_PATH_MAX] = "/";
	const char *name;

	memcpy(prefix, path, size);
	int parent = tree_open(root, prefix, O_PATH);
	if (parent != -ENOENT)
		return parent;
	parent = tree_parent(&above, prefix, &name); /* as deep as what is missing */
	const int error = parent < 0                                            ? parent
			  : mkdirat(parent, name, 0755) == 0 || errno == EEXIST ? 0
										: -errno;
	fd_close(&above.fd);
	return error ? error : tree_open(root, prefix, O_PATH);
}

int tree_parent(struct tree_parent *parent, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	const size_t size = slash ? (size_t)(slash - path) : 0;

	/* The last component is used as it is, not resolved: ".." of the root would be outside. */
	if (!slash || slash[1] == '\0' || size >= IPC_PATH_MAX || strcmp(slash, "/.") == 0 ||
	    strcmp(slash, "/..") == 0)
		return -EINVAL;
	*ret_name = slash + 1;
	if (parent->fd >= 0 && size == parent->size && memcmp(path, parent->path, size) == 0)
		return parent->fd;
	fd_close(&parent->fd);
	parent->path = path;
	parent->size = size;
	parent->fd = open_parent(parent->root, path, size);
	return parent->fd;
}
