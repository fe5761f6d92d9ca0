/* SPDX-License-Identifier: Apache-2.0 */
#include "common/mount.h"

#include <errno.h>
#include <string.h>

#include "common/fd.h"
#include "common/kernel.h"

int mount_new(const char *type, const char *options, uint32_t size, uint64_t attributes)
{
	const char *end = options + size;
	int mount = -1;
	int context = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
	int error = context < 0 ? -errno : 0;

	while (options < end && !error) {
		const char *value = options + strlen(options) + 1;

		if (syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, options, value, 0) != 0)
			error = -errno;
		options = value + strlen(value) + 1;
	}
	if (!error && syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) != 0)
		error = -errno;
	if (!error) {
		mount = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, attributes);
		error = mount < 0 ? -errno : 0;
	}
	fd_close(&context);
	return error ? error : mount;
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

int mount_set_attributes(int mount, uint64_t attributes)
{
	struct mount_attr attr = { .attr_set = attributes };

	if (syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr,
		    sizeof(attr)) != 0)
		return -errno;
	return 0;
}
