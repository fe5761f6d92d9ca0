/* SPDX-License-Identifier: Apache-2.0 */
#include "common/confine/mount.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "common/fd.h"
#include "common/kernel.h"
#include "common/text/text.h"

int mount_new(const char *type, const char *options, uint32_t size, uint64_t attributes)
{
	const char *end = options + size;
	int context = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
	bool is_done = context >= 0;
	int mount = -1;

	while (options < end && is_done) {
		const char *value = options + strlen(options) + 1;

		is_done =
			syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, options, value, 0) == 0;
		options = value + strlen(value) + 1;
	}
	if (is_done && syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		mount = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, attributes);
	if (mount < 0)
		mount = -errno;
	fd_close(&context);
	return mount;
}

/* fsconfig(2) takes 255 bytes for all lower layers before Linux 6.8, and FSCONFIG_SET_FD (6.13)
 * would tell where each lies on the host. mount(2) takes a page. With userxattr no attribute of a
 * file in a layer leads to another file's content or place (redirects and metadata-only copies are
 * off). */
int mount_layers(const int *layers, uint32_t count, uint64_t attributes, int host,
		 const char *place)
{
	static const char *const keys[] = { "userxattr,upperdir=", ",workdir=", ",lowerdir=", ":" };
	struct text options = { .used = 0 };

	for (uint32_t i = 0; i < count; i++) {
		if (layers[i] < 0)
			return layers[i];
		text_add(&options, keys[i < 3 ? i : 3]);
		text_add_number(&options, (uint64_t)layers[i]);
	}
	if (fchdir(host) != 0 || chdir("proc/self/fd") != 0 ||
	    mount("overlay", place, "overlay", attributes, options.bytes) != 0)
		return -errno;
	const int fd = open(place, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int mount_clone(int source, uint64_t attributes)
{
	int clone = kernel_open_tree(
		source, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
	int error = clone < 0 ? -errno : mount_set_attributes(clone, attributes);

	return fd_unless(error, clone);
}

int mount_overlay(int *layers, uint32_t count, int host, const char *place, const char *options,
		  uint32_t size, uint64_t attributes)
{
	static const char *const made[] = { "upper", "work" };
	int memory = mount_new("tmpfs", options, size, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	int result = memory;

	if (memory >= 0 && kernel_move_mount(memory, AT_FDCWD, place, MOVE_MOUNT_F_EMPTY_PATH) != 0)
		result = -errno;
	for (uint32_t i = 0; i < 2; i++) {
		(void)mkdirat(memory, made[i], 0755); /* if it fails, openat() does, too */
		layers[i] = openat(memory, made[i], O_PATH | O_CLOEXEC);
	}
	if (result >= 0)
		result = mount_layers(layers, count, attributes, host, place);
	fd_close(&layers[0]);
	fd_close(&layers[1]);
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
