/* SPDX-License-Identifier: Apache-2.0 */
#include "common/confine/landlock.h"

#include <errno.h>
#include <sys/stat.h>

/* Rights that apply to a file; the others belong to directories (landlock(7)). */
#define FILE_RIGHTS                                                                                \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE |                              \
	 LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |                              \
	 LANDLOCK_ACCESS_FS_IOCTL_DEV)

int landlock_abi(void)
{
	const long abi =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi < 0 ? 0 : (int)abi;
}

/* Every bit that we know, with the ABI that brought it. */
static const struct right {
	struct kernel_landlock_ruleset is; /* this one bit */
	int abi;
	const char *name;
} known[] = {
#define LANDLOCK(set_, right_, abi_, name_) { { .set_ = (right_) }, (abi_), (name_) },
#include "common/confine/landlock.def"
#undef LANDLOCK
};
#define KNOWN_COUNT (sizeof(known) / sizeof(known[0]))

struct kernel_landlock_ruleset landlock_fit(struct kernel_landlock_ruleset attr, int abi)
{
	for (size_t i = 0; i < KNOWN_COUNT; i++) {
		if (known[i].abi <= abi)
			continue;
		attr.handled_access_fs &= ~known[i].is.handled_access_fs;
		attr.handled_access_net &= ~known[i].is.handled_access_net;
		attr.scoped &= ~known[i].is.scoped;
	}
	return attr;
}

const char *landlock_lost(int abi, size_t index)
{
	for (size_t i = 0; i < KNOWN_COUNT; i++) {
		if (known[i].abi > abi && index-- == 0)
			return known[i].name;
	}
	return NULL;
}

int landlock_create(const struct kernel_landlock_ruleset *attr)
{
	/* A kernel refuses a struct longer than it knows unless the rest is zero (6.7, 6.12): the
	 * whole struct may always be passed once landlock_fit() was applied. */
	const long fd = syscall(SYS_landlock_create_ruleset, attr, sizeof(*attr), 0);

	return fd < 0 ? -errno : (int)fd;
}

int landlock_allow(int ruleset, const struct kernel_landlock_ruleset *attr, int path,
		   uint64_t rights)
{
	struct landlock_path_beneath_attr rule = { .parent_fd = path };
	struct stat status;

	if (fstat(path, &status) != 0)
		return -errno;
	rights &= attr->handled_access_fs;
	if (!S_ISDIR(status.st_mode))
		rights &= FILE_RIGHTS;
	if (rights == 0)
		return 0;
	rule.allowed_access = rights;
	const long result =
		syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);

	return result == 0 ? 0 : -errno;
}

int landlock_enter(int ruleset)
{
	return syscall(SYS_landlock_restrict_self, ruleset, 0) == 0 ? 0 : -errno;
}
