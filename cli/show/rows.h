/* SPDX-License-Identifier: Apache-2.0
 *
 * A list as a table for people or as JSON: each value of a row is given once.
 */
#ifndef CLI_SHOW_ROWS_H
#define CLI_SHOW_ROWS_H

#include <stdbool.h>

#include "show/json.h"

#define ROWS_COLUMNS_MAX 12

/* All-zero, but for `is_json`: a table without rows. */
struct rows {
	bool is_json;
	struct json_writer *json; /* a row's; NULL: it is a table */
	uint64_t now_s;           /* for moments; 0: now */
	size_t count, column_count;
	const char *titles[ROWS_COLUMNS_MAX];
	struct buffer cells; /* row by row, with a NUL behind each */
	bool is_blank;       /* cells to come stay empty */
	void (*print_last)(const void *item);
	const void **items;
};

/* Begin, in JSON with an object whose member `key` is the list. */
void rows_begin(struct rows *rows, const char *key);

/* Begin a row. Each row has the same values in the same order. */
void rows_next(struct rows *rows);

/* Give a value: a cell of the column `title` (NULL: none), or the member `key` (NULL: none). An
 * empty text is "-" in a cell. */
void rows_cell(struct rows *rows, const char *title, const char *text);
void rows_text(struct rows *rows, const char *title, const char *key, const char *text);
void rows_bytes(struct rows *rows, const char *title, const char *key, uint64_t bytes);
void rows_moment(struct rows *rows, const char *title, const char *key, uint64_t moment_s);

/* Have the last cell printed: `item` outlives the rows. */
void rows_last(struct rows *rows, const char *title, void (*print)(const void *item),
	       const void *item);

/* End the list; in JSON further members may follow. */
void rows_end(struct rows *rows);

/* Print the table, if it has a row, or the rest of the JSON. 0 or -errno. */
int rows_finish(struct rows *rows);

#endif
