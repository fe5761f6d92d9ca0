/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tools/sandbox_view.h"

#include <inttypes.h>
#include <string.h>

#include "common/ipc_persistent.h"
#include "common/workspace_mode.h"
#include "io/clock.h"
#include "io/text.h"

#define MINUTE_S UINT64_C(60)
#define HOUR_S (60 * MINUTE_S)
#define DAY_S (24 * HOUR_S)

static const char *const mode_names[WORKSPACE_MODE_COUNT] = {
	[WORKSPACE_NONE] = "none",
	[WORKSPACE_COPY] = "copy-on-write",
	[WORKSPACE_READ] = "read-only",
	[WORKSPACE_WRITE] = "read-write",
};

const char *sandbox_mode_name(uint32_t mode)
{
	return mode_names[mode < WORKSPACE_MODE_COUNT ? mode : WORKSPACE_NONE];
}

const char *sandbox_handle(const struct ipc_sandbox_info *info)
{
	return info->name[0] ? info->name : info->id;
}

static const char *state_of(const struct ipc_sandbox_info *info)
{
	if (info->is_damaged)
		return "damaged";
	if (info->is_elsewhere)
		return "elsewhere";
	return info->is_live ? "live" : "cold";
}

static void put_date(struct json_writer *writer, const char *key, uint64_t seconds)
{
	struct buffer date = { 0 };

	/* a sandbox with damaged files may have any time */
	if (seconds == 0 || seconds > UINT64_C(253402300799))
		return;
	clock_append_date(&date, (int64_t)seconds * 1000);
	json_put_string(writer, key, date.bytes, date.size);
	buffer_done(&date);
}

void sandbox_put(struct json_writer *writer, const struct ipc_sandbox_info *info)
{
	json_put_text(writer, "id", info->id);
	if (info->name[0])
		json_put_text(writer, "name", info->name);
	json_put_text(writer, "profile", info->profile);
	json_put_text(writer, "state", state_of(info));
	if (info->workspace[0])
		json_put_text(writer, "workspace", info->workspace);
	json_put_text(writer, "workspace_mode", sandbox_mode_name(info->workspace_mode));
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
	buffer_append_text(text, "/workspace is ");
	text_quote(text, info->workspace, strlen(info->workspace), IPC_PATH_MAX);
	if (info->workspace_mode == WORKSPACE_COPY)
		buffer_append_text(
			text,
			", copy-on-write: changes stay in the sandbox until they are applied");
	else if (info->workspace_mode == WORKSPACE_READ)
		buffer_append_text(text, ", read-only");
	else
		buffer_append_text(text, " itself: changes reach the host at once");
}
