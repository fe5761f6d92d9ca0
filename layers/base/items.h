/* SPDX-License-Identifier: Apache-2.0
 *
 * The differences of a job in memory, each as long as its path: all are known before the first is
 * told of, because a file that is gone may be one that is new under another name.
 */
#ifndef LAYERS_BASE_ITEMS_H
#define LAYERS_BASE_ITEMS_H

#include "common/sha256.h"
#include "layers/base/tree.h"

struct item {
	uint32_t kind, flags; /* kind CHANGE_NONE after items_pair(): told of by another */
	int16_t layer, old_layer;
	uint32_t base; /* enum base_state */
	uint32_t unmerged;
	bool is_hashed, is_hashing_tried;
	uint8_t hash[SHA256_BYTES];
	const struct item *from; /* RENAMED */
	struct stat old, now;
	char path[];
};

struct items {
	struct item **all;
	size_t count, room;
};

/* A new one with this path, all else zero; NULL: no memory. */
struct item *items_add(struct items *items, const char *path);
void items_sort(struct items *items);
void items_free(struct items *items);

/* Find deleted and added files of the same content, one of each. 0 or -errno. */
int items_pair(struct items *items, const struct job_directories *directories);

void items_show(const struct item *item, struct difference *ret);

/* Open the sandbox's content of a file, or the target of a link: a descriptor; -EBADMSG: it is
 * neither, or is merged; another -errno. */
int items_open(const struct job_directories *directories, const struct item *item);

#endif
