/* SPDX-License-Identifier: Apache-2.0
 *
 * The JSON of an image: index, manifest and configuration of an OCI layout, or those of a
 * docker-archive. Each is found by a digest that it is checked with, except the first.
 */
#ifndef IMAGE_DESCRIPTION_H
#define IMAGE_DESCRIPTION_H

#include "image/input.h"
#include "image/manifest.h"

#define DESCRIPTION_PATH_MAX 512

/* An archive of a layer, as it is in the image. */
struct layer_source {
	char path[DESCRIPTION_PATH_MAX];
	char digest[IMAGE_DIGEST_MAX]; /* empty: nobody says it */
	char diff_id[IMAGE_DIGEST_MAX];
};

struct description {
	struct image image;                                                /* without layers */
	char manifest[DESCRIPTION_PATH_MAX], config[DESCRIPTION_PATH_MAX]; /* or empty */
	uint32_t layer_count;
	struct layer_source layers[IMAGE_LAYERS_MAX]; /* the lowest first; one may be there twice */
};

/* Read the description of the one image for linux/amd64, and add its names to the report. 0, or -1
 * with the reason kept. */
int description_read(const struct input *input, struct description *ret);

/* Read what an import has left (image/report.h), and no more: names and archives of layers are not
 * in it. 0 or -1. */
int description_read_again(const struct input *input, struct description *ret);

#endif
