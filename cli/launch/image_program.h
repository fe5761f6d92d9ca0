/* SPDX-License-Identifier: Apache-2.0
 *
 * Running msp-image, the only program that reads images, and skopeo, which fetches them.
 */
#ifndef CLI_LAUNCH_IMAGE_PROGRAM_H
#define CLI_LAUNCH_IMAGE_PROGRAM_H

#include "image/keep.h"

/* Import what `input` is, with at most `most` bytes of new layers. 0 with the report read, or the
 * exit code after a line. */
int image_program_import(const struct image_keep *keep, int input, uint64_t most,
			 struct image_report *ret);

/* Remove everything in `incoming`. 0, or the exit code after a line. */
int image_program_clean(const struct image_keep *keep);

/* Have skopeo copy an image of a registry, whose name is in its one spelling, into a new directory
 * as an OCI layout. 0, or the exit code after a line. */
int image_program_fetch(const char *reference, const char *directory);

#endif
