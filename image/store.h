/* SPDX-License-Identifier: Apache-2.0
 *
 * The images of a user, in the directory `images` of the state directory:
 *
 *   layers/DIFF_ID/    a layer, ready as the lower directory of an overlay with `userxattr`
 *   manifests/DIGEST   an image (image/manifest.h)
 *   names/NAME         the digest of an image; NAME has '%' for '/'
 *   incoming/          parts of the image that a command brings, which are renamed once complete
 *   lock               held by the one command that changes them
 *
 * `store` is a descriptor of that directory. An import renames layers first, then the manifest,
 * then the name, so a manifest has all of its layers and a name its manifest. Removing goes the
 * other way round.
 */
#ifndef IMAGE_STORE_H
#define IMAGE_STORE_H

#include <dirent.h>
#include <sys/types.h>

#include "image/manifest.h"
#include "image/name.h"

#define IMAGE_TEXT_MAX 512

/* The bytes that all layers may take unless the configuration says it. */
#define IMAGE_DISK_DEFAULT ((uint64_t)20 << 30)

/* The parts of the directory. */
#define IMAGE_LAYERS "layers"
#define IMAGE_MANIFESTS "manifests"
#define IMAGE_NAMES "names"
#define IMAGE_INCOMING "incoming"
#define IMAGE_LOCK "lock"

/* The path of a layer beneath the directory, with a NUL. */
#define IMAGE_LAYER_PATH_MAX (sizeof(IMAGE_LAYERS "/") - 1 + IMAGE_DIGEST_MAX)

/*
 * Find an image by a name, by "sha256:" and a digest or the beginning of one, or by four or more
 * digits of a digest alone that are no name. Its layers are there. 0, -ENOENT: there is none;
 * -ENOTUNIQ: several digests begin so; -EINVAL: no name; or another -errno; with a line in `text`.
 */
int image_find(int store, const char *wanted, struct image *ret, char text[IMAGE_TEXT_MAX]);

/* Find the digest of an image so, which may be damaged. */
int image_resolve(int store, const char *wanted, char ret[IMAGE_DIGEST_MAX],
		  char text[IMAGE_TEXT_MAX]);

/* Read the image with this digest. 0; -EBADMSG: its file is not one of ours, or is that of `msp
 * commit` and does not have this digest; or another -errno. */
int image_read(int store, const char *digest, struct image *ret);

/* Read a regular file that may be longer than `room` bytes: the size of what was read, or -errno.
 */
ssize_t image_read_file(int store, const char *path, void *ret, size_t room);

/* Open a directory to list it. NULL with *ret_error: -errno. */
DIR *image_open_list(int parent, const char *path, int *ret_error);

/* Return the next entry of a directory, or NULL at its end; also after an error, with *ret_error
 * set to -errno. An entry that was overlooked would be taken for one that is not needed. */
const struct dirent *image_next_file(DIR *list, int *ret_error);

/* Open the file of an image: a close-on-exec descriptor, which is the caller's, or -errno. */
int image_open(int store, const char *digest);

/* Write the path of a layer beneath the directory. */
void image_layer_path(const struct image_layer *layer, char ret[IMAGE_LAYER_PATH_MAX]);

/*
 * Keep an image and its layers from being removed, until the descriptor and its copies in other
 * processes are closed. A close-on-exec descriptor, which is the caller's, or -errno; -ENOENT: it
 * has been removed meanwhile.
 */
int image_hold(int store, const char *digest);

/* A name and the digest that it holds. */
struct image_entry {
	char name[IMAGE_NAME_MAX];
	char digest[IMAGE_DIGEST_MAX];
};

/* Return the digest that a name in its one spelling holds: 0 or -errno. */
int image_name_digest(int store, const char *name, char ret[IMAGE_DIGEST_MAX]);

/* Call `take` with each name (its digest), or each digest of an image (as both), in no order,
 * until it returns something else than 0, which is returned. 0, or -errno. */
typedef int image_take(void *context, const struct image_entry *entry);
int image_each_name(int store, image_take *take, void *context);
int image_each_digest(int store, image_take *take, void *context);

#endif
