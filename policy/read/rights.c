/* SPDX-License-Identifier: Apache-2.0
 *
 * The words for rights of Landlock.
 */
#include "policy/read/profile.h"

#include "common/confine/landlock.h"

#include <string.h>

struct right {
	const char *word;
	uint64_t rights;
};

static const struct right rights[] = {
	{ "list", LANDLOCK_ACCESS_FS_READ_DIR },
	{ "read", LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR },
	{ "execute", LANDLOCK_ACCESS_FS_EXECUTE },
	{ "write", LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE },
	{ "create", LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |
			    LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_MAKE_FIFO |
			    LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_REMOVE_FILE |
			    LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REFER },
	{ "ioctl", LANDLOCK_ACCESS_FS_IOCTL_DEV },
};

uint64_t profile_right(const char *word)
{
	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		if (strcmp(rights[i].word, word) == 0)
			return rights[i].rights;
	}
	return 0;
}

const char *profile_right_name(uint32_t index)
{
	return index < sizeof(rights) / sizeof(rights[0]) ? rights[index].word : NULL;
}
