/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of changes that a person looks at before an apply, by kind.
 */
#ifndef CLI_SHOW_HELD_NAMES_H
#define CLI_SHOW_HELD_NAMES_H

#include <stdint.h>

#include "frontend/changes.h"
#include "frontend/words/changes.h"
#include "lib/heap/buffer.h"

struct held_names {
	struct {
		struct buffer names; /* to be shown, with a NUL behind each */
		uint64_t count;
	} kinds[NAMED_KINDS];
};

/* Keep the name of a change that is held, or may run; of another do nothing. */
void held_names_keep(struct held_names *held, const struct change *change);

/* Print a list for each kind that has names, with its head. */
void held_names_print(const struct held_names *held);

void held_names_done(struct held_names *held);

#endif
