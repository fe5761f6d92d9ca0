/* SPDX-License-Identifier: Apache-2.0
 *
 * libgit2, for one thing: the hunks that git would print for two texts. It is loaded by the jobs
 * that print them and by no other: one that writes never has it, nor what it brings along, in its
 * memory (docs/decisions/0043-changes-and-apply.md).
 */
#ifndef LAYERS_CHANGES_GITDIFF_H
#define LAYERS_CHANGES_GITDIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Load and start it; before the confinement. 0 or -errno. */
int gitdiff_load(void);

/* Hand the hunks on in pieces until `put` returns other than 0, which is returned; 0 or -errno. */
int gitdiff_hunks(const uint8_t *old, size_t old_size, const uint8_t *now, size_t now_size,
		  int (*put)(void *context, const char *bytes, size_t size), void *context);

#endif
