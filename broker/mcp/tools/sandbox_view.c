/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tools/sandbox_view.h"

#include <inttypes.h>
#include <string.h>

#include "common/ipc/ipc_persistent.h"
#include "frontend/words/words.h"
#include "io/clock.h"
#include "io/text.h"
#include "mcp/resources/resources.h"

#define MINUTE_S UINT64_C(60)
#define HOUR_S (60 * MINUTE_S)
#define DAY_S (24 * HOUR_S)

const char *sandbox_handle(const struct ipc_sandbox_info *info)
{
	return info->name[0] ? info->name : info->id;
}

static void put_date(struct json_writer *writer, const char *key, uint64_t seconds)
{
	/* a sandbox with damaged files may have any time */
	if (seconds > 0 && seconds <= UINT64_C(253402300799))
		clock_put_date(writer, key, (int64_t)seconds * 1000);
}

void sandbox_put(struct json_writer *writer, const struct ipc_sandbox_info *info)
{
	json_put_text(writer, "id", info->id);
	if (info->name[0])
		json_put_text(writer, "name", info->name);
	json_put_text(writer, "profile", info->profile);
	json_put_text(writer, "state",
		      sandbox_state_name(info->is_damaged, info->is_elsewhere, info->is_live));
	if (info->workspace[0])
		json_put_text(writer, "workspace", info->workspace);
	json_put_text(writer, "workspace_mode", workspace_mode_name(info->workspace_mode));
	json_put_number(writer, "checkpoints", info->checkpoints);
	json_put_number(writer, "disk_bytes", info->disk_bytes);
	put_date(writer, "created", info->created_s);
	put_date(writer, "expires", info->expires_s);
}

void sandbox_put_span(struct buffer *text, uint64_t seconds)
{
	if (seconds >= DAY_S && seconds % DAY_S < HOUR_S)
		buffer_format(text, "%" PRIu64 " d", seconds / DAY_S);
	else if (seconds >= 2 * HOUR_S)
		buffer_format(text, "%" PRIu64 " h", seconds / HOUR_S);
	else if (seconds >= 2 * MINUTE_S)
		buffer_format(text, "%" PRIu64 " min", seconds / MINUTE_S);
	else
		buffer_format(text, "%" PRIu64 " s", seconds);
}

void sandbox_put_workspace(struct buffer *text, const struct ipc_sandbox_info *info)
{
	if (info->workspace_mode == WORKSPACE_NONE) {
		buffer_append_text(text, "/workspace begins empty");
		return;
	}
	buffer_format(text, "/workspace is %s",
		      text_quoted(info->workspace, strlen(info->workspace), IPC_PATH_MAX));
	if (info->workspace_mode == WORKSPACE_COPY)
		buffer_append_text(
			text,
			", copy-on-write: changes stay in the sandbox until they are applied");
	else if (info->workspace_mode == WORKSPACE_READ)
		buffer_append_text(text, ", read-only");
	else
		buffer_append_text(text, " itself: changes reach the host at once");
}

/* --- room for a new one --------------------------------------------------------------------- */

static uint64_t now_s(void)
{
	return (uint64_t)clock_date_ms() / 1000;
}

static void copy_sandbox(struct room_sandbox *ret, const struct ipc_sandbox_info *info)
{
	ret->used_s = info->used_s;
	memcpy(ret->id, info->id, sizeof(ret->id));
	memcpy(ret->name, info->name, sizeof(ret->name));
}

/* Keep the sandbox in its place by time. With a full table the most recently used one is dropped.
 */
static void add_tried(struct sandbox_room *room, const struct ipc_sandbox_info *info)
{
	size_t at = room->count;

	while (at > 0 && room->tried[at - 1].used_s > info->used_s)
		at--;
	if (at == ROOM_TRIED_MAX)
		return;
	room->count += room->count < ROOM_TRIED_MAX;
	memmove(&room->tried[at + 1], &room->tried[at],
		(room->count - at - 1) * sizeof(room->tried[0]));
	copy_sandbox(&room->tried[at], info);
}

static void consider_sandbox(struct sandbox_room *room, const struct ipc_sandbox_info *info)
{
	if (info->is_live || info->is_elsewhere || info->executions > 0)
		return;
	if (!room->oldest.id[0] || info->used_s < room->oldest.used_s)
		copy_sandbox(&room->oldest, info);
	if (!info->is_damaged && info->checkpoints == 0 && info->used_s + ROOM_UNUSED_S <= now_s())
		add_tried(room, info);
}

enum room_step sandbox_room_begin(struct sandbox_room *room, struct errand *errand)
{
	struct ipc_sandbox_list wanted = { .request = 0 };

	*room = (struct sandbox_room){ .is_listed = false };
	errand_ask(errand, sandbox_list, NULL, &wanted, -1);
	return ROOM_WAITS;
}

/* Ask for the removal of the next sandbox; the supervisor removes it only if it has no files. */
static enum room_step try_next(struct sandbox_room *room, struct errand *errand)
{
	struct ipc_sandbox_end wanted = { .how = SANDBOX_END_EMPTY };

	if (room->next == room->count)
		return ROOM_NONE;
	errand_ask(errand, sandbox_end, room->tried[room->next++].id, &wanted, -1);
	return ROOM_WAITS;
}

enum room_step sandbox_room_take(struct sandbox_room *room, struct errand *errand,
				 const struct supervisor_answer *answer)
{
	if (answer && answer->kind == ANSWER_SANDBOX) {
		consider_sandbox(room, answer->sandbox);
		return ROOM_WAITS;
	}
	if (!answer || !room->is_listed) {
		room->is_listed = true;
		return try_next(room, errand);
	}
	room->removed = room->tried[room->next - 1];
	resource_diff_forget(errand->call->session, room->removed.id);
	return ROOM_MADE;
}

static const char *quoted_name(const struct room_sandbox *sandbox)
{
	const char *name = sandbox->name[0] ? sandbox->name : sandbox->id;

	return text_quoted(name, strlen(name), IPC_NAME_MAX);
}

void sandbox_room_put_removed(const struct sandbox_room *room, struct buffer *text)
{
	if (!room->removed.id[0])
		return;
	buffer_format(text,
		      " To make room, your sandbox \"%s\" was removed: it had no files and was "
		      "unused for ",
		      quoted_name(&room->removed));
	sandbox_put_span(text, now_s() - room->removed.used_s);
	buffer_append_text(text, ".");
}

void sandbox_room_put_oldest(const struct sandbox_room *room, struct buffer *text)
{
	if (!room->oldest.id[0] || strcmp(room->oldest.id, room->removed.id) == 0)
		return;
	buffer_format(
		text,
		" Unused for longest is \"%s\"; the user can remove it with `msp destroy %s`.",
		quoted_name(&room->oldest), room->oldest.id);
}
