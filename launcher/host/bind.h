/* SPDX-License-Identifier: Apache-2.0
 *
 * The operator's read-only binds: `--ro HOST[:INSIDE]`, opened once and checked.
 */
#ifndef LAUNCHER_HOST_BIND_H
#define LAUNCHER_HOST_BIND_H

#include <stdint.h>

#include "common/limits.h"
#include "launcher/host/protected.h"

/* The --ro values as they were given. */
struct bind_words {
	uint32_t count;
	const char *words[BINDS_MAX];
};

struct bind {
	int fd;                  /* O_PATH */
	char host[IPC_PATH_MAX]; /* canonical */
	char inside[IPC_PATH_MAX];
};

struct binds {
	uint32_t count;
	struct bind list[BINDS_MAX];
};

#define BIND_TEXT_MAX 1088

/*
 * Split one word at its last ":/". `inside` is empty when the word names none. NULL, or the rule
 * that it breaks.
 */
const char *bind_split(const char *word, char host[IPC_PATH_MAX], char inside[IPC_PATH_MAX]);

/* May something be put there? NULL, or the rule that the path breaks. */
const char *bind_check_inside(const char *inside);

/*
 * Open and check every word. `set` as for protected_check(). 0 with the descriptors in *ret,
 * which are the caller's; -1 with one line for the person in `text`.
 */
int binds_open(const struct bind_words *words, const struct protected_set *set, struct binds *ret,
	       char text[BIND_TEXT_MAX]);

#endif
