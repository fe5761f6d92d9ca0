/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of the progress of this process's job (common/records/changes.h), between those of
 * changes.
 */
#ifndef LAYERS_BASE_PROGRESS_H
#define LAYERS_BASE_PROGRESS_H

#include <stdint.h>

#include "common/records/changes.h"

/* Begin to tell on this pipe; -1: nobody reads. */
void progress_begin(int pipe);

/* Tell that a stage has done so many files of `total` (0: unknown), a few times a second. It never
 * waits: what a full pipe does not take is left out. */
void progress_note(enum change_stage stage, uint64_t done, uint64_t total);

#endif
