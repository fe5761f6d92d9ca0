/* SPDX-License-Identifier: Apache-2.0
 *
 * The images that profiles name: each is looked up once, and its tree is asked for programs. A file
 * of a tree is that of the highest layer that has it, by the rules of overlayfs.
 */
#ifndef POLICY_READ_IMAGES_H
#define POLICY_READ_IMAGES_H

#include "image/store.h"

#include <limits.h>
#include <sys/types.h>

struct images;

/* One image, with the directories of its layers. */
struct images_entry {
	char *wanted; /* as the profile names it */
	struct image *image;
	char layers[IMAGE_LAYERS_MAX][PATH_MAX]; /* absolute paths, the highest first */
	uint32_t count;
};

/* Look in the directory of images at this absolute path. */
struct images *images_new(const char *directory);
struct images *images_free(struct images *images);

/* Find an image, which belongs to `images` (NULL: nobody said where they are). NULL, with the cause
 * and the remedy in `text`. */
const struct images_entry *images_find(struct images *images, const char *wanted,
				       char text[IMAGE_TEXT_MAX]);

/* Find a file of the image's tree by its absolute path, and follow links. Return its type and
 * permissions, or 0: there is none; the path on the host is in `ret`. */
mode_t images_look(const struct images_entry *entry, const char *path, char ret[PATH_MAX]);

/* Find it without following a link at the end of the path. */
mode_t images_look_itself(const struct images_entry *entry, const char *path);

/* Call `take` for each name in the image's root, in no order, until it returns something else than
 * 0, which is returned. `mode` is the type and permissions of the name itself. */
int images_each_top(const struct images_entry *entry,
		    int (*take)(void *context, const char *name, mode_t mode), void *context);

#endif
