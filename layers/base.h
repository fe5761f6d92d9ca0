/* SPDX-License-Identifier: Apache-2.0
 *
 * What the host's file was when a layer's copy of it, or its deletion, was made: a file of records
 * in each layer, appended to when an execution has ended. A host's file that changed between the
 * beginning of that execution and the note has no known base, and counts as changed.
 */
#ifndef LAYERS_BASE_H
#define LAYERS_BASE_H

#include "layers/tree.h"

enum base_state {
	BASE_SAME,    /* the host's file is what the sandbox's was made from */
	BASE_CHANGED, /* it is not, or nobody knows */
};

/* Note what is new in the highest layer. `since_us`: when the first execution began that may have
 * made it, by the real clock. 0 or -errno; what was noted stays. */
int base_note(const struct job_directories *directories, uint64_t since_us);

/* Is the host's side of a difference as it was? */
enum base_state base_check(const struct job_directories *directories,
			   const struct difference *difference);

#endif
