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
 * host; "/proc/self/fd/N" needs a /proc. With userxattr no attribute of a file in a layer leads to
 * another file's content or place (redirects and metadata-only copies are off). */
int mount_layers(const struct mount_layer *layers, uint32_t count, uint64_t attributes)
{
	const int context = (int)syscall(SYS_fsopen, "overlay", FSOPEN_CLOEXEC);
	int error = context < 0 ? -errno : set_option(context, "userxattr", "");

	for (uint32_t i = 0; i < count && !error; i++) {
		error = layers[i].fd < 0            ? layers[i].fd
			: fchdir(layers[i].fd) == 0 ? set_option(context, layers[i].key, ".")
						    : -errno;
	}
	return new_mount(context, error, attributes);
}

int mount_clone(int source, uint64_t attributes)
{
	int clone = kernel_open_tree(
		source, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
	int error = clone < 0 ? -errno : mount_set_attributes(clone, attributes);

	return fd_unless(error, clone);
}

int mount_overlay(struct mount_layer *layers, uint32_t count, const char *place,
		  const char *options, uint32_t size, uint64_t attributes)
{
	static const char *const made[2][2] = { { "upperdir", "upper" }, { "workdir", "work" } };
	int memory = mount_new("tmpfs", options, size, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	int result = memory;

	if (memory >= 0 && kernel_move_mount(memory, AT_FDCWD, place, MOVE_MOUNT_F_EMPTY_PATH) != 0)
		result = -errno;
	for (uint32_t i = 0; i < 2; i++) {
		(void)mkdirat(memory, made[i][1], 0755); /* if it fails, openat() does, too */
		layers[count + i].key = made[i][0];
		layers[count + i].fd = openat(memory, made[i][1], O_PATH | O_CLOEXEC);
	}
	if (result >= 0)
		result = mount_layers(layers, count + 2, attributes);
	fd_close(&layers[count].fd);
	fd_close(&layers[count + 1].fd);
	fd_close(&memory);
	return result;
}

static int change_mount(int mount, unsigned int flags, const struct mount_attr *attr)
{
	return syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH | flags, attr, sizeof(*attr)) ==
			       0
		       ? 0
		       : -errno;
}

int mount_set_attributes(int mount, uint64_t attributes)
{
	return change_mount(mount, AT_RECURSIVE, &(struct mount_attr){ .attr_set = attributes });
}

int mount_make_writable(int mount)
{
	return change_mount(mount, 0, &(struct mount_attr){ .attr_clr = MOUNT_ATTR_RDONLY });
}
