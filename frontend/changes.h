/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader of change records (common/records/changes.h). A workload may have shaped their texts.
 */
#ifndef FRONTEND_CHANGES_H
#define FRONTEND_CHANGES_H

#include <stdbool.h>
#include <stddef.h>

#include "common/records/changes.h"
#include "frontend/quote.h"

/* A record with its texts, in the reader's memory. */
struct change {
	struct change_record is;
	const uint8_t *path, *old_path, *link, *patch;
};

/*
 * The record at the beginning of `size` bytes. Returns how many it takes; 0: more bytes are needed;
 * -EBADMSG: it is none, and nothing behind it can be read.
 */
long changes_read(const uint8_t *bytes, size_t size, struct change *ret);

/* Is it a record of progress, whose texts are empty? */
bool changes_is_progress(const struct change_record *record);

/* Return the act of a stage of progress, such as "comparing files". Static storage. */
const char *changes_stage_text(uint32_t stage);

/* The name of a kind, and its letter. Static storage. */
const char *change_kind_name(uint32_t kind);
char change_kind_letter(uint32_t kind);

/* Append the path, with a slash behind a directory's. */
void change_put_path(struct buffer *text, enum quote_use use, const struct change *change);

/* Append the path, and behind a symbolic link's " -> " and its target. */
void change_put_name(struct buffer *text, enum quote_use use, const struct change *change);

/* Count the lines that a patch adds and removes. */
void change_count_lines(const struct change *change, uint64_t *ret_added, uint64_t *ret_removed);

#endif
