/* SPDX-License-Identifier: Apache-2.0
 *
 * A host's directory and layers over it, as overlayfs leaves them, made by hand.
 */
#ifndef UNIT_LAYERS_SCENE_H
#define UNIT_LAYERS_SCENE_H

#include "layers/base/tree.h"

/* Room for what a comparison tells. */
#define SCENE_TEXT_MAX 65536

struct scene {
	char root[64];
	struct job_directories directories;
	int uppers[LAYERS_MAX]; /* the workspace in each layer */
	char text[SCENE_TEXT_MAX];
	size_t text_size;
};

/* Make one with so many layers; and remove it with all that is in it. */
void scene_begin(struct scene *scene, uint32_t layers);
void scene_end(struct scene *scene);

/* One of `layers` becomes one of `since` too. */
void scene_since(struct scene *scene, uint32_t layer);

/* Make what overlayfs makes; folders above it are made too. Any failure ends the test. */
void put_file(int directory, const char *path, const char *content);
void put_folder(int directory, const char *path);
void put_link(int directory, const char *path, const char *target);
void put_fifo(int directory, const char *path);
void put_socket(int directory, const char *path);
void put_whiteout(int directory, const char *path);
void put_mark(int directory, const char *path, const char *name, const char *value);
void put_mode(int directory, const char *path, mode_t mode);

/* Write a git index of this version, with ids of so many bytes, that names these files; NULL behind
 * the last. Returns its size. */
size_t scene_index(uint8_t *ret, uint32_t version, size_t id_bytes, const char *const *names);

/* What a comparison tells: a line each, "kind path", "/" behind a directory, then "<- old path",
 * and the names of flags. */
const char *scene_compare(struct scene *scene);
const char *scene_walk(struct scene *scene);

#endif
