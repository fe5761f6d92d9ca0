/* SPDX-License-Identifier: Apache-2.0
 *
 * Archives in memory, and an import of one into directories of the target's own, for the targets
 * about images.
 */
#ifndef TESTS_FUZZ_IMAGE_ARCHIVE_H
#define TESTS_FUZZ_IMAGE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/heap/buffer.h"

/* An entry of a tar archive; its name and link are cut to 100 bytes. */
struct archive_member {
	const char *name, *link;
	size_t name_size, link_size;
	char type;
	unsigned int mode, device;
};

/* Append an entry with content, with a right checksum. */
void archive_add(struct buffer *archive, const struct archive_member *member, const void *content,
		 size_t size);

/* Append a file of this name. */
void archive_add_file(struct buffer *archive, const char *name, const void *content, size_t size);

/* Append the end of an archive. */
void archive_end(struct buffer *archive);

/* Make and open a directory of the target's own, which goes with it. */
int archive_directory(const char *name);

/* A claim: such a directory has nothing that a new layer must not have. */
void archive_check_layers(const char *name);

/* Import an archive of an image. Whatever came of it: nothing has changed beside the directory for
 * new layers, in that is nothing that a layer must not have, and it can be emptied. Returns whether
 * the image was taken. */
bool archive_import(const struct buffer *archive);

#endif
