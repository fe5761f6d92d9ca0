/* SPDX-License-Identifier: Apache-2.0
 *
 * The protected set: what no --ro may show to a sandbox. Keys, tokens, histories and the kernel's
 * own file systems. Compared by (device, inode) of opened files, never by the text of a path.
 */
#ifndef CLI_PROTECTED_H
#define CLI_PROTECTED_H

#include <stddef.h>
#include <sys/types.h>

#include "mounts.h"

enum protected_verdict {
	PROTECTED_FREE,     /* does not meet the set */
	PROTECTED_IS,       /* is the protected path */
	PROTECTED_INSIDE,   /* lies inside it */
	PROTECTED_CONTAINS, /* contains it, or would contain it if it existed */
	PROTECTED_ERROR,    /* could not be compared: to be refused too */
};

struct protected_answer {
	enum protected_verdict verdict;
	int error;       /* errno of PROTECTED_ERROR */
	char path[4096]; /* the protected path that it meets */
};

/* Home directories whose contents count, absolute paths; NULL entries are left out. */
#define PROTECTED_HOMES_MAX 4

/*
 * Compare the opened (O_PATH) file or folder `fd`, whose canonical path is `path`, with every
 * protected path of the system and of `homes`.
 */
struct protected_answer protected_check(int fd, const char *path, const struct mounts *mounts,
					const char *const homes[PROTECTED_HOMES_MAX]);

#endif
