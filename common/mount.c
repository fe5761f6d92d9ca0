/* SPDX-License-Identifier: Apache-2.0 */
#include "common/mount.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fd.h"
#include "common/kernel.h"

/* An empty value is that of a key that takes none. */
static int set_option(int context, const char *key, const char *value)
{
	const bool is_flag = strlen(value) == 0;

	return syscall(SYS_fsconfig, context, is_flag ? FSCONFIG_SET_FLAG : FSCONFIG_SET_STRING,
		       key, is_flag ? NULL : value, 0) == 0
		       ? 0
		       : -errno;
}

/* Takes the context. */
static int new_mount(int context, int error, uint64_t attributes)
{
	int mount = -1;

	if (!error && syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
		error = -errno;
	if (!error) {
		mount = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, attributes);
		error = mount < 0 ? -errno : 0;
	}
	fd_close(&context);
	return error ? error : mount;
}

int mount_new(const char *type, const char *options, uint32_t size, uint64_t attributes)
{
	const char *end = options + size;
	const int context = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
	int error = context < 0 ? -errno : 0;

	while (options < end && !error) {
		const char *value = options + strlen(options) + 1;

		error = set_option(context, options, value);
		options = value + strlen(value) + 1;
	}
	return new_mount(context, error, attributes);
}

/* With a descriptor in place of a name (Linux 6.13) the mount would say where each lies on the
 * host; "/proc/self/fd/N" needs a /proc. */
int mount_layers(const struct mount_layer *layers, uint32_t count, uint64_t attributes)
{
	const int context = (int)syscall(SYS_fsopen, "overlay", FSOPEN_CLOEXEC);
	int error = context < 0 ? -errno : set_option(context, "userxattr", "");

	for (uint32_t i = 0; i < count && !error; i++)
		error = fchdir(layers[i].fd) == 0 ? set_option(context, layers[i].key, ".")
						  : -errno;
	return new_mount(context, error, attributes);
}

int mount_clone(int source, uint64_t attributes)
{
	int clone = kernel_open_tree(
		source, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
	int error = clone < 0 ? -errno : mount_set_attributes(clone, attributes);

	if (!error)
		return clone;
	fd_close(&clone);
	return error;
}

/* On the tmpfs, as the working directory: `lower`, and two directories of the overlay's own. */
static int make_layers(int layers, int lower, int place)
{
	struct stat status;

	if (fstat(lower, &status) != 0 ||
	    kernel_move_mount(layers, place, "",
			      MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) != 0 ||
	    fchdir(layers) != 0 || mkdir("lower", 0700) != 0 || mkdir("work", 0700) != 0 ||
	    mkdir("upper", (status.st_mode & 0777) | 0700) != 0 ||
	    kernel_move_mount(lower, AT_FDCWD, "lower", MOVE_MOUNT_F_EMPTY_PATH) != 0)
		return -errno;
	return 0;
}

int mount_overlay(int lower, int place, const char *options, uint32_t size, uint64_t attributes)
{
	/* With userxattr no attribute of a file in `lower` leads to another file's content or place
	 * (redirects and metadata-only copies are off). */
	static const char layers_options[] = "lowerdir\0"
					     "lower\0"
					     "upperdir\0"
					     "upper\0"
					     "workdir\0"
					     "work\0"
					     "userxattr\0";
	const uint64_t inner = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	int copy = mount_clone(lower, inner | MOUNT_ATTR_RDONLY);
	int layers = copy < 0 ? copy : mount_new("tmpfs", options, size, inner);
	int result = layers < 0 ? layers : make_layers(layers, copy, place);

	fd_close(&copy);
	fd_close(&layers);
	return result < 0
		       ? result
		       : mount_new("overlay", layers_options, sizeof(layers_options), attributes);
}

int mount_set_attributes(int mount, uint64_t attributes)
{
	struct mount_attr attr = { .attr_set = attributes };
	const long result = syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH | AT_RECURSIVE,
				    &attr, sizeof(attr));

	return result == 0 ? 0 : -errno;
}

int mount_make_writable(int mount)
{
	struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };
	const long result =
		syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH, &attr, sizeof(attr));

	return result == 0 ? 0 : -errno;
}
