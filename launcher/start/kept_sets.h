/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of kept binds. A file is the profile, and host and place of each bind in turn, with a
 * NUL after each. It is complete when it has its name.
 */
#ifndef LAUNCHER_START_KEPT_SETS_H
#define LAUNCHER_START_KEPT_SETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launcher/host/state_place.h"
#include "launcher/start/kept_binds.h"

/* Random bytes. */
#define KEPT_SUFFIX_BYTES 6
#define KEPT_SUFFIX_MAX (2 * KEPT_SUFFIX_BYTES + 1)

#define KEPT_BYTES_MAX 65536

struct kept_sets {
	int directory;
	uint32_t count;
	char suffixes[KEPT_BINDS_MAX][KEPT_SUFFIX_MAX];
};

struct kept_content {
	size_t size;
	char bytes[KEPT_BYTES_MAX];
};

/* List the sets; 0 or -errno. The directory is the caller's. */
int kept_sets_list(struct kept_sets *ret, bool is_made, char text[STATE_PLACE_TEXT_MAX]);

/* Read a set; false: there is none. */
bool kept_sets_read(const struct kept_sets *sets, const char *suffix, struct kept_content *ret);

#endif
