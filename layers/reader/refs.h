/* SPDX-License-Identifier: Apache-2.0
 *
 * The texts that name commits: a loose ref, HEAD, and packed-refs.
 */
#ifndef LAYERS_READER_REFS_H
#define LAYERS_READER_REFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "library.h"

/* The digits of an id. */
#define HEX_BYTES ((size_t)2 * OBJECT_ID_BYTES)

/* A larger packed-refs is refused. */
#define REFS_PACKED_MAX ((size_t)64 << 20)

/* Return whether git accepts the text as a ref's name, as git-check-ref-format(1) says, and it is a
 * branch or a tag that git itself would make: neither "HEAD" nor like an option. */
bool refs_is_name(const char *name);

/* Parse "WORDID" and a newline at *at, where the word ends with a blank, and move on. */
bool refs_take_line(const char **at, const char *word, uint8_t ret[OBJECT_ID_BYTES]);

/* Write the digits of an id, terminated. */
void refs_write_id(const uint8_t id[OBJECT_ID_BYTES], char ret[HEX_BYTES + 1]);

/* Parse the content of a loose ref or of HEAD. 0; -ENOTSUP: it names another ref, or its id is not
 * a SHA-1; -EBADMSG. */
int refs_parse(const char *text, size_t size, uint8_t ret[OBJECT_ID_BYTES]);

/* Parse such a file of at most `most` bytes. 0, or -errno as of beneath_text() or refs_parse(). */
int refs_read(int root, const char *path, size_t most, uint8_t ret[OBJECT_ID_BYTES]);

/* Find a branch or tag in a file packed-refs. 0; -ENOENT: it has none; another -errno. */
int refs_find_packed(int root, const char *path, const char *name, uint8_t ret[OBJECT_ID_BYTES]);

/* Read the next branch or tag of packed-refs at *at and move on. The name is terminated in place.
 * True: there is one. Lines of any other form are passed over. */
bool refs_next(char **at, char *end, const char **ret_name, uint8_t ret_id[OBJECT_ID_BYTES]);

#endif
