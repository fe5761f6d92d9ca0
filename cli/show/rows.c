/* SPDX-License-Identifier: Apache-2.0 */
#include "show/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/text/format.h"
#include "lib/heap/memory.h"
#include "show/figures.h"
#include "show/print.h"

void rows_begin(struct rows *rows, const char *key)
{
	if (!rows->now_s)
		rows->now_s = (uint64_t)time(NULL);
	if (!rows->is_json)
		return;
	rows->json = json_begin_object();
	json_open_array(rows->json, key);
}

void rows_next(struct rows *rows)
{
	if (rows->json && rows->count > 0)
		json_close_object(rows->json);
	if (rows->json)
		json_open_object(rows->json, NULL);
	rows->count++;
}

void rows_cell(struct rows *rows, const char *title, const char *text)
{
	if (rows->json || !title)
		return;
	if (rows->count == 1)
		rows->titles[rows->column_count++] = title;
	if (!rows->is_blank)
		buffer_append_text(&rows->cells, text);
	buffer_append(&rows->cells, "", 1);
}

void rows_text(struct rows *rows, const char *title, const char *key, const char *text)
{
	rows_cell(rows, title, text[0] ? text : "-");
	if (rows->json && key)
		json_put_text(rows->json, key, text);
}

/* Give a number whose cell is another text. */
static void put_number(struct rows *rows, const char *title, const char *key, const char *text,
		       uint64_t number)
{
	rows_cell(rows, title, text);
	if (rows->json && key)
		json_put_number(rows->json, key, number);
}

void rows_bytes(struct rows *rows, const char *title, const char *key, uint64_t bytes)
{
	char text[FIGURES_TEXT_MAX];

	put_number(rows, title, key, figures_bytes(bytes, text), bytes);
}

void rows_moment(struct rows *rows, const char *title, const char *key, uint64_t moment_s)
{
	char text[FIGURES_TEXT_MAX];

	put_number(rows, title, key, figures_moment(moment_s, rows->now_s, text), moment_s);
}

void rows_last(struct rows *rows, const char *title, void (*print)(const void *item),
	       const void *item)
{
	if (rows->json)
		return;
	rows_cell(rows, title, "");
	rows->print_last = print;
	rows->items = memory_resize_array(rows->items, rows->count, sizeof(rows->items[0]));
	rows->items[rows->count - 1] = item;
}

void rows_end(struct rows *rows)
{
	if (rows->json && rows->count > 0)
		json_close_object(rows->json);
	if (rows->json)
		json_close_array(rows->json);
	rows->count = rows->json ? 0 : rows->count;
}

static void print_cell(const struct rows *rows, size_t column, const size_t *widths,
		       const char *text)
{
	const bool is_last = column + 1 == rows->column_count;

	(void)printf("%-*s%s", is_last ? 0 : (int)widths[column], text, is_last ? "" : "  ");
}

static void print_table(const struct rows *rows)
{
	size_t widths[ROWS_COLUMNS_MAX];
	const char *at = rows->cells.bytes;

	for (size_t i = 0; i < rows->column_count; i++)
		widths[i] = strlen(rows->titles[i]);
	for (size_t i = 0; i < rows->count * rows->column_count; i++, at += strlen(at) + 1) {
		size_t *width = &widths[i % rows->column_count];

		*width = strlen(at) > *width ? strlen(at) : *width;
	}
	for (size_t i = 0; i < rows->column_count; i++)
		print_cell(rows, i, widths, rows->titles[i]);
	at = rows->cells.bytes;
	for (size_t row = 0; row < rows->count; row++) {
		(void)putchar('\n');
		for (size_t i = 0; i < rows->column_count; i++, at += strlen(at) + 1)
			print_cell(rows, i, widths, at);
		if (rows->print_last)
			rows->print_last(rows->items[row]);
	}
	(void)putchar('\n');
}

int rows_finish(struct rows *rows)
{
	if (rows->json)
		return json_finish();
	if (rows->count > 0)
		print_table(rows);
	buffer_done(&rows->cells);
	free(rows->items);
	return print_flush();
}
