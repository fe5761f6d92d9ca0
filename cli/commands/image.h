/* SPDX-License-Identifier: Apache-2.0
 *
 * The actions of `msp image`.
 */
#ifndef CLI_COMMANDS_IMAGE_H
#define CLI_COMMANDS_IMAGE_H

#include "common/limits.h"
#include "image/keep.h"
#include "launcher/start/config.h"

struct image_options {
	const char *config;
	const char *run_as;
	uint64_t disk; /* bytes that all layers may take */
	bool is_json;
	bool is_roots; /* root started msp */
};

/* Read the configuration. 0, or the exit code after a line. */
int image_read_config(const struct image_options *options, struct config *ret);

/* Take the operator's limit, which the option may lower. 0, or the exit code after a line. */
int image_set_limit(struct image_options *options);

/* Open, lock, and remove what an earlier command has left. 0, or the exit code after a line; the
 * keep is ended in both cases. */
int image_begin_change(struct image_keep *keep);

/* Remove what the change has left over, unlock and close. Returns `code`, or another one if that
 * fails. */
int image_end_change(struct image_keep *keep, int code);

/* A new image, and the name that a person gives it. */
struct image_arrival {
	struct image_report report;
	struct image image;
	const char *name;              /* in its one spelling; NULL: those of the image */
	char digest[IMAGE_DIGEST_MAX]; /* which it must have; empty: nobody says it */
};

/* Read a person's name of an image; find how many bytes new layers may take. 0, or the exit code
 * after a line. */
int image_read_name(const char *word, char ret[IMAGE_NAME_MAX]);
int image_find_room(const struct image_keep *keep, uint64_t disk, uint64_t *ret);

/* Say why image_commit() or image_commit_packed() has not kept an image. Returns the exit code. */
int image_tell_unkept(int error, const char *digest);

/* Say what an image that is kept has lost, how large it is, and give it its names. 0, or the exit
 * code after a line. */
int image_name_arrival(const struct image_keep *keep, const struct image_arrival *arrival);

/* Actions of image_import.c and image_remove.c: the exit code. `words` has those behind the action.
 */
int image_run_import(const struct image_options *options, char *const words[]);
int image_run_pull(const struct image_options *options, char *const words[]);
int image_run_remove(const struct image_options *options, char *const words[]);
int image_run_prune(const struct image_options *options, char *const words[]);

/* The names of one image. */
struct image_names {
	const char *digest;
	char (*list)[IMAGE_NAME_MAX]; /* the caller frees it */
	size_t count, room;
};

/* List the names that hold a digest, sorted. 0 or -errno. */
int image_list_names(int store, const char *digest, struct image_names *ret);

/* Say why an image was not found, as image_find() has put it. Returns the exit code. */
int image_tell_unfound(int error, const char *text);

#endif
