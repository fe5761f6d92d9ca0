/* SPDX-License-Identifier: Apache-2.0 */
#include "image/room.h"

#include <string.h>

#include "image/refuse.h"

/* xfs has the largest inodes, mkfs.xfs(8); ext4's have 256 bytes, mke2fs.conf(5). */
#define INODE_BYTES 512U

/* struct ext4_dir_entry_2 without its name. Blocks of a directory that was split are half full. */
#define NAME_BYTES(name) (2 * (strlen(name) + 8))

int room_refuse(const char *who, uint64_t most_bytes)
{
	return refuse("%s more than the %llu MiB that are left for images: 'msp image remove' "
		      "makes room, or images.disk of the configuration",
		      who, (unsigned long long)(most_bytes >> 20));
}

int room_take_entry(struct room *room)
{
	return ++room->entries > ROOM_ENTRIES_MAX
		       ? refuse("the layers have more than %u entries", ROOM_ENTRIES_MAX)
		       : 0;
}

int room_take_bytes(struct room *room, uint64_t bytes)
{
	if (bytes > room->most_bytes - room->bytes)
		return room_refuse("the layers take", room->most_bytes);
	room->bytes += bytes;
	return 0;
}

int room_take_name(struct room *room, const char *name, uint64_t bytes)
{
	return room_take_bytes(room, INODE_BYTES + NAME_BYTES(name) + bytes);
}
