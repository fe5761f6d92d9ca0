/* SPDX-License-Identifier: Apache-2.0 */
#include "show/sandbox_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/format.h"
#include "common/ipc_persistent.h"
#include "common/log.h"
#include "frontend/words/words.h"
#include "lib/heap/memory.h"
#include "show/figures.h"
#include "show/quote.h"

struct sandbox_table {
	bool has_owner;
	size_t count, room;
	struct ipc_sandbox_info *list;
};

const char *sandbox_state(const struct ipc_sandbox_info *info, char text[IPC_NAME_MAX])
{
	if (info->executions == 0 || info->is_damaged || info->is_elsewhere)
		return sandbox_state_name(info->is_damaged, info->is_elsewhere, info->is_live);
	format_text(text, IPC_NAME_MAX, "running %u", info->executions);
	return text;
}

void sandbox_write(struct json_writer *json, const struct ipc_sandbox_info *info)
{
	json_put_text(json, "id", info->id);
	json_put_text(json, "name", info->name);
	json_put_text(json, "owner", info->owner);
	json_put_text(json, "profile", info->profile);
	if (info->workspace[0])
		json_put_text(json, "workspace", info->workspace);
	else
		json_put_null(json, "workspace");
	json_put_text(json, "mode", workspace_mode_name(info->workspace_mode));
	json_put_bool(json, "live", info->is_live != 0);
	json_put_bool(json, "elsewhere", info->is_elsewhere != 0);
	json_put_bool(json, "damaged", info->is_damaged != 0);
	json_put_number(json, "executions", info->executions);
	json_put_number(json, "checkpoints", info->checkpoints);
	json_put_number(json, "created_s", info->created_s);
	json_put_number(json, "used_s", info->used_s);
	json_put_number(json, "expires_s", info->expires_s);
	json_put_number(json, "disk_bytes", info->disk_bytes);
}

struct sandbox_table *sandbox_table_new(bool has_owner)
{
	struct sandbox_table *table = memory_get_zeroed(1, sizeof(*table));

	table->has_owner = has_owner;
	return table;
}

void sandbox_table_add(struct sandbox_table *table, const struct ipc_sandbox_info *info)
{
	if (table->count == table->room) {
		table->room = table->room ? 2 * table->room : 16;
		table->list = memory_resize_array(table->list, table->room, sizeof(table->list[0]));
	}
	table->list[table->count++] = *info;
}

static int compare_use(const void *one, const void *other)
{
	const struct ipc_sandbox_info *a = one;
	const struct ipc_sandbox_info *b = other;

	if (a->used_s != b->used_s)
		return a->used_s < b->used_s ? 1 : -1;
	return strcmp(a->id, b->id);
}

enum column {
	COLUMN_ID,
	COLUMN_NAME,
	COLUMN_OWNER,
	COLUMN_PROFILE,
	COLUMN_STATE,
	COLUMN_DISK,
	COLUMN_USED,
	COLUMN_EXPIRES,
	COLUMN_WORKSPACE,
	COLUMN_COUNT,
};

static const char *const titles[COLUMN_COUNT] = { "ID",   "NAME", "OWNER",   "PROFILE",  "STATE",
						  "DISK", "USED", "EXPIRES", "WORKSPACE" };

struct line {
	char texts[COLUMN_COUNT - 1][IPC_NAME_MAX];
};

static void fill_line(const struct ipc_sandbox_info *info, uint64_t now_s, struct line *ret)
{
	char text[IPC_NAME_MAX];
	char figure[FIGURES_TEXT_MAX];

	memset(ret, 0, sizeof(*ret));
	format_text(ret->texts[COLUMN_ID], IPC_NAME_MAX, "%s", info->id);
	format_text(ret->texts[COLUMN_NAME], IPC_NAME_MAX, "%s", info->name[0] ? info->name : "-");
	format_text(ret->texts[COLUMN_OWNER], IPC_NAME_MAX, "%s",
		    info->owner[0] ? info->owner : "-");
	format_text(ret->texts[COLUMN_STATE], IPC_NAME_MAX, "%s", sandbox_state(info, text));
	if (info->is_damaged)
		return; /* the rest is not known */
	format_text(ret->texts[COLUMN_PROFILE], IPC_NAME_MAX, "%s", info->profile);
	format_text(ret->texts[COLUMN_DISK], IPC_NAME_MAX, "%s",
		    figures_bytes(info->disk_bytes, figure));
	format_text(ret->texts[COLUMN_USED], IPC_NAME_MAX, "%s",
		    figures_moment(info->used_s, now_s, figure));
	format_text(ret->texts[COLUMN_EXPIRES], IPC_NAME_MAX, "%s",
		    figures_moment(info->expires_s, now_s, figure));
}

static bool is_shown(const struct sandbox_table *table, int column)
{
	return column != COLUMN_OWNER || table->has_owner;
}

static void print_line(const struct sandbox_table *table, const struct line *line,
		       const size_t widths[COLUMN_COUNT])
{
	for (int column = 0; column < COLUMN_WORKSPACE; column++) {
		if (is_shown(table, column))
			(void)printf("%-*s  ", (int)widths[column], line->texts[column]);
	}
}

static void print_workspace(const struct ipc_sandbox_info *info)
{
	if (!info->workspace[0]) {
		(void)puts("-");
		return;
	}
	quote_print_text(info->workspace, strlen(info->workspace), true);
	if (info->workspace_mode != WORKSPACE_COPY)
		(void)printf(" (%s)", workspace_mode_name(info->workspace_mode));
	(void)putchar('\n');
}

void sandbox_table_print(struct sandbox_table *table, uint64_t now_s)
{
	size_t widths[COLUMN_COUNT] = { 0 };
	struct line head = { 0 };
	struct line line;

	for (int column = 0; column < COLUMN_WORKSPACE; column++) {
		widths[column] = strlen(titles[column]);
		format_text(head.texts[column], IPC_NAME_MAX, "%s", titles[column]);
	}
	if (table->count > 0)
		qsort(table->list, table->count, sizeof(table->list[0]), compare_use);
	for (size_t i = 0; i < table->count; i++) {
		fill_line(&table->list[i], now_s, &line);
		for (int column = 0; column < COLUMN_WORKSPACE; column++) {
			if (strlen(line.texts[column]) > widths[column])
				widths[column] = strlen(line.texts[column]);
		}
	}
	print_line(table, &head, widths);
	(void)puts(titles[COLUMN_WORKSPACE]);
	for (size_t i = 0; i < table->count; i++) {
		fill_line(&table->list[i], now_s, &line);
		print_line(table, &line, widths);
		print_workspace(&table->list[i]);
	}
	free(table->list);
	free(table);
}
