/* SPDX-License-Identifier: Apache-2.0
 *
 * The room for new layers: what takes an inode or a block is counted before it is made.
 */
#ifndef IMAGE_ROOM_H
#define IMAGE_ROOM_H

#include <stdint.h>

/* A file system's block, as ext4, xfs and btrfs have it. */
#define ROOM_BLOCK 4096U

/* Entries in the new layers of an image, and directories that have none. Large images of
 * distributions have some hundred thousand. */
#define ROOM_ENTRIES_MAX 1000000U

struct room {
	uint64_t bytes, entries; /* of new layers; counted as in struct image_layer */
	uint64_t most_bytes;
};

/* Count an entry. 0, or -1 with the reason kept, as below. */
int room_take_entry(struct room *room);

/* Count bytes. */
int room_take_bytes(struct room *room, uint64_t bytes);

/* Count a name in a directory with its inode, and more bytes that are its own. */
int room_take_name(struct room *room, const char *name, uint64_t bytes);

/* Refuse `who` ("it takes"), which has not enough room in so many bytes. -1. */
int room_refuse(const char *who, uint64_t most_bytes);

#endif
