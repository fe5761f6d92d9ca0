/* SPDX-License-Identifier: Apache-2.0
 *
 * Paths of the host that a sandbox may be shown or work on. Not the protected set: keys, tokens,
 * histories, the kernel's own file systems, the hidden files of a home, and what the operator adds
 * (common/plan/protected.def). Where the operator names workspaces, nothing outside of them either.
 * What is written to the host is never where the host starts programs from. Compared by (device,
 * inode) of opened files, never by the text of a path.
 */
#ifndef LAUNCHER_HOST_PROTECTED_H
#define LAUNCHER_HOST_PROTECTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/plan/plan.h"
#include "launcher/host/mounts.h"

enum protected_verdict {
	PROTECTED_FREE,     /* does not meet the set */
	PROTECTED_IS,       /* is the protected path */
	PROTECTED_INSIDE,   /* lies inside it */
	PROTECTED_CONTAINS, /* contains it, or would contain it if it existed */
	PROTECTED_OUTSIDE,  /* lies in no workspace */
	PROTECTED_ERROR,    /* could not be compared: to be refused too */
};

/* The use of a path: read only, or written to at once or by a later apply. */
enum protected_use {
	PROTECTED_READ,
	PROTECTED_WRITTEN,
};

/* Why a path is protected. */
enum protected_rule {
	PROTECTED_SECRET,   /* credentials, histories, the system's state; never excepted */
	PROTECTED_HOME,     /* a home; not what is in it */
	PROTECTED_SHARED,   /* a directory of everybody's temporary files; not what is in it */
	PROTECTED_HIDDEN,   /* in a home, with a '.'; or a directory of the XDG specification */
	PROTECTED_STARTED,  /* the host starts programs from there; may be read */
	PROTECTED_SEARCHED, /* in PATH; may be read, and what contains it be written */
};

struct protected_answer {
	enum protected_verdict verdict;
	enum protected_rule rule; /* IS, INSIDE or CONTAINS */
	int error;                /* errno of PROTECTED_ERROR */
	char path[4096];          /* the protected path that it meets */
};

/* Home directories whose contents count, absolute paths; NULL entries are left out. */
#define PROTECTED_HOMES_MAX 4

/* Directories that count as hidden wherever they are; absolute paths, NULL entries left out. */
#define PROTECTED_HIDDEN_MAX 5

/* Protected paths beside those of every system. Lists are paths with a NUL after each. */
struct protected_set {
	const char *homes[PROTECTED_HOMES_MAX];
	const char *protect;
	uint32_t protect_size;
	const char *unprotect; /* hidden files here are as others */
	uint32_t unprotect_size;
	const char *hidden[PROTECTED_HIDDEN_MAX];
	const char *search;     /* as PATH; NULL: nothing */
	const char *temporary;  /* as TMPDIR; NULL: nowhere */
	const char *state;      /* msp's own: persistent sandboxes, the audit log; NULL: none */
	const char *workspaces; /* none: anything that is not protected may be shown */
	uint32_t workspaces_size;
};

/* Return the plan's and the environment's sets, and the home directories of the environment, of the
 * account that this runs as, and of the user of sudo. They are in static storage; the lists are
 * the plan's. */
struct protected_set protected_set_of(const struct plan *plan);

/*
 * Compare the opened (O_PATH) file or folder `fd`, whose canonical path is `path`, with every
 * protected path of the system and of `set`, and with the workspaces.
 */
struct protected_answer protected_check(int fd, const char *path, enum protected_use use,
					const struct mounts *mounts,
					const struct protected_set *set);

/* Is the opened directory one of these, or does it lie in one, by its own name? */
bool protected_lies_in(int fd, const int *directories, size_t count);

#define PROTECTED_TEXT_MAX 1024

/* One line for a person on why `path` may not be shown, with what helps. Not for PROTECTED_FREE. */
void protected_describe(const struct protected_answer *answer, const char *path,
			const struct protected_set *set, char text[PROTECTED_TEXT_MAX]);

#endif
