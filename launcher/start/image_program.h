/* SPDX-License-Identifier: Apache-2.0
 *
 * Running msp-image, the only program that reads images, and skopeo, which fetches them.
 */
#ifndef LAUNCHER_START_IMAGE_PROGRAM_H
#define LAUNCHER_START_IMAGE_PROGRAM_H

#include "common/plan/plan.h"
#include "image/keep.h"

struct kept_layers;

/* The line where msp-image and what it leaves are at odds. */
#define IMAGE_PROGRAM_LIES "msp-image has not made what it says"

/* Import what `input` is, with at most `most` bytes of new layers. 0 with the report read, or the
 * exit code after a line. */
int image_program_import(const struct image_keep *keep, int input, uint64_t most,
			 struct image_report *ret);

/* Have another msp-image make the manifest again, of the JSON files that the import has left. 0, or
 * the exit code after a line. */
int image_program_check(const struct image_keep *keep);

#define IMAGE_LEFT_OUT_MAX (PLAN_MOUNTS_MAX + 1)

/* Make one layer of a place in a sandbox's layers, with at most `most` bytes. `left_out` has paths
 * in it, NULL behind the last one. 0 with the report read, or the exit code after a line. */
int image_program_pack(const struct image_keep *keep, const struct kept_layers *layers,
		       const char *place, char *const left_out[], uint64_t most,
		       struct image_report *ret);

/* Remove everything in `incoming`. 0, or the exit code after a line. */
int image_program_clean(const struct image_keep *keep);

/* Have skopeo copy an image of a registry, whose name is in its one spelling, into a new directory
 * as an OCI layout. 0 with the manifest's digest, or the exit code after a line. */
int image_program_fetch(const char *reference, const char *directory, char ret[IMAGE_DIGEST_MAX]);

#endif
