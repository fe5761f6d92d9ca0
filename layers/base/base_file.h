/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of all layers in memory, found by path, and adding to the highest layer's file.
 */
#ifndef LAYERS_BASE_BASE_FILE_H
#define LAYERS_BASE_BASE_FILE_H

#include "layers/base/base.h"

struct base_slot {
	const uint8_t *bytes;  /* the record that counts; NULL: free */
	const uint8_t *before; /* the one that it replaced; NULL: it is the first */
};

struct base_table {
	uint8_t **files; /* records of each layer */
	size_t file_count;
	struct base_slot *slots; /* open addressing */
	size_t slot_count, used;
	char *added; /* records to be written */
	size_t added_size, added_room;
	uint8_t **added_blocks; /* that the slots point into */
	size_t added_block_count, added_block_room;
};

/* Read the bases of all layers. 0 or -errno; -EBADMSG: one is damaged. */
int base_table_read(struct base_table *table, const struct job_directories *directories);
void base_table_free(struct base_table *table);

/* Find the record of this path, or of an absent one above it; false: there is none. */
bool base_table_find(const struct base_table *table, const char *path, size_t path_size,
		     struct base_record *ret);

/* Find the record of this path itself, and the one before it was renewed, with kind 0 if there was
 * none; false: there is no record. */
bool base_table_history(const struct base_table *table, const char *path, struct base_record *ret,
			struct base_record *ret_before);

/* Add a record, whose size and check are set here, to table and file-to-be. 0 or -errno. */
int base_table_add(struct base_table *table, struct base_record *record, const char *path);

/* Write what was added to the end of a layer's file, and see to it that it is on disk. */
int base_table_write(struct base_table *table, int layer);

#endif
