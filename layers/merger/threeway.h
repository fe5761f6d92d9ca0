/* SPDX-License-Identifier: Apache-2.0
 *
 * Three-way merges of files that host and sandbox have both changed, for jobs with CONFLICT_MERGE.
 * The job reads the two sides; the reader of repositories finds the base and merges, because the
 * sandbox's side and its repository are a workload's. docs/decisions/0043-changes-and-apply.md
 */
#ifndef LAYERS_MERGER_THREEWAY_H
#define LAYERS_MERGER_THREEWAY_H

#include "common/sha256.h"
#include "layers/base/job.h"

/* Judge a difference in conflict. Return CHANGE_IS_MERGED, maybe with CHANGE_HAS_MARKERS, if its
 * merge can be applied; else CHANGE_IS_CONFLICT, and *ret_unmerged says why it cannot (enum
 * change_unmerged). The caller looks at commits.error: the reader may have ended. */
uint32_t threeway_judge(const struct job *job, const struct difference *difference,
			uint32_t *ret_unmerged);

/* Show in a preview whether a change in conflict would be merged. */
void threeway_preview(struct job *job, struct difference *shown);

/* Open the merged content of a difference: a memfd or -errno. -ESTALE: the host's file is not the
 * one with this hash any more (files_hash()). -EOWNERDEAD: the reader has ended. */
int threeway_open(const struct job *job, const struct difference *difference,
		  const uint8_t host_hash[SHA256_BYTES]);

#endif
