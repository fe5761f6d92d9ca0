/* SPDX-License-Identifier: Apache-2.0 */
#include "show/sandbox_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc_persistent.h"
#include "common/text/format.h"
#include "frontend/words/words.h"
#include "lib/heap/memory.h"

#include "show/quote.h"

const char *sandbox_state(const struct ipc_sandbox_info *info, char text[IPC_NAME_MAX])
{
	if (info->executions == 0 || info->is_damaged || info->is_elsewhere)
		return sandbox_state_name(info->is_damaged, info->is_elsewhere, info->is_live);
	format_text(text, IPC_NAME_MAX, "running %u", info->executions);
	return text;
}

void sandbox_list_add(struct sandbox_list *list, const struct ipc_sandbox_info *info)
{
	list->infos = memory_grow_list(list->infos, &list->room, list->count + 1, sizeof(*info));
	list->infos[list->count++] = *info;
}

static int compare_use(const void *one, const void *other)
{
	const struct ipc_sandbox_info *a = one;
	const struct ipc_sandbox_info *b = other;

	if (a->used_s != b->used_s)
		return a->used_s < b->used_s ? 1 : -1;
	return strcmp(a->id, b->id);
}

static void print_workspace(const void *item)
{
	const struct ipc_sandbox_info *info = item;

	if (!info->workspace[0]) {
		(void)putchar('-');
		return;
	}
	quote_print_text(info->workspace, strlen(info->workspace), true);
	if (info->workspace_mode != WORKSPACE_COPY)
		(void)printf(" (%s)", workspace_mode_name(info->workspace_mode));
}

static void put_sandbox(struct rows *rows, const struct ipc_sandbox_info *info, bool has_owner)
{
	char text[IPC_NAME_MAX];

	rows_text(rows, "ID", "id", info->id);
	rows_text(rows, "NAME", "name", info->name);
	rows_text(rows, has_owner ? "OWNER" : NULL, "owner", info->owner);
	rows->is_blank = info->is_damaged; /* most of it is not known */
	rows_text(rows, "PROFILE", "profile", info->profile);
	rows->is_blank = false;
	rows_cell(rows, "STATE", sandbox_state(info, text));
	rows->is_blank = info->is_damaged;
	rows_bytes(rows, "DISK", "disk_bytes", info->disk_bytes);
	rows_moment(rows, "USED", "used_s", info->used_s);
	rows_moment(rows, "EXPIRES", "expires_s", info->expires_s);
	rows->is_blank = false;
	rows_last(rows, "WORKSPACE", print_workspace, info);
	if (!rows->json)
		return;
	json_put_text_or_null(rows->json, "workspace", info->workspace);
	json_put_text(rows->json, "mode", workspace_mode_name(info->workspace_mode));
	json_put_bool(rows->json, "live", info->is_live != 0);
	json_put_bool(rows->json, "elsewhere", info->is_elsewhere != 0);
	json_put_bool(rows->json, "damaged", info->is_damaged != 0);
	json_put_number(rows->json, "executions", info->executions);
	json_put_number(rows->json, "checkpoints", info->checkpoints);
	json_put_number(rows->json, "created_s", info->created_s);
}

void sandbox_write(struct json_writer *json, const struct ipc_sandbox_info *info)
{
	struct rows rows = { .json = json };

	put_sandbox(&rows, info, false);
}

int sandbox_list_print(struct sandbox_list *list, struct rows *rows, bool has_owner)
{
	rows_begin(rows, "sandboxes");
	if (!rows->json && list->count > 0)
		qsort(list->infos, list->count, sizeof(list->infos[0]), compare_use);
	for (size_t i = 0; i < list->count; i++) {
		rows_next(rows);
		put_sandbox(rows, &list->infos[i], has_owner);
	}
	rows_end(rows);
	return rows_finish(rows);
}
