/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of the images (image/store.h), one command at a time. Each is whole or has not happened,
 * also after a kill or a crash of the machine: everything new is written in `incoming`, synced, and
 * renamed; layers that go are renamed into it, and removed there.
 */
#ifndef IMAGE_KEEP_H
#define IMAGE_KEEP_H

#include "image/report.h"
#include "image/store.h"

/* The parts of `incoming`: of msp-image, of that which checks the first, and of a command that
 * pulls. */
#define IMAGE_INCOMING_NEW IMAGE_INCOMING "/new"
#define IMAGE_INCOMING_CHECKED IMAGE_INCOMING "/checked"
#define IMAGE_INCOMING_PULLED IMAGE_INCOMING "/pulled"

/* The store while it is changed. The caller sets all to -1, and closes them. */
struct image_keep {
	int store;
	int lock;
	int incoming;
	int layers; /* O_PATH */
};

/* Lock, and make the directories that are missing. 0; -EWOULDBLOCK: another command changes them,
 * and it was not to be waited for (call it again); or another -errno. */
int image_keep_begin(struct image_keep *keep, bool is_waiting);

/* Move into `incoming` the layers that no image has. 0 or -errno. */
int image_collect(const struct image_keep *keep);

/* Make a new directory in `incoming`, close-on-exec; or -errno. */
int image_make_incoming(const struct image_keep *keep, const char *path);

/* Give the layers and the manifest that msp-image has made their places, if the manifest that it
 * has made again is the same, and its digest that of the JSON file. 0 with *ret read; -EBADMSG: it
 * has not made what it says; -EEXIST: another manifest has the digest; or another -errno. */
int image_commit(const struct image_keep *keep, const struct image_report *report,
		 struct image *ret);

/* Keep an image whose layers are there but for the highest, which msp-image has packed. Sets its
 * digest. 0 or an error as above. */
int image_commit_packed(const struct image_keep *keep, struct image *image);

/* Have a name in its one spelling hold a digest, or remove it. 0 or -errno. */
int image_name_write(const struct image_keep *keep, const char *name, const char *digest);
int image_name_remove(const struct image_keep *keep, const char *name);

/* Have nobody hold an image any more (image_hold()) until the descriptor is closed. It is the
 * caller's, close-on-exec; -EBUSY: somebody holds it; -ENOENT: there is none; or another -errno. */
int image_seize(const struct image_keep *keep, const char *digest);

/* Remove a manifest that was seized, and whose names have gone; its layers are for
 * image_collect(). 0 or -errno. */
int image_discard(const struct image_keep *keep, const char *digest);

/* Return whether `incoming` has nothing in it. */
bool image_keep_is_clean(const struct image_keep *keep);

/* Add up the bytes of all layers of all images, each once. 0 or -errno. */
int image_used(int store, uint64_t *ret_bytes);

#endif
