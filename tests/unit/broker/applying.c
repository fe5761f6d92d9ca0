/* SPDX-License-Identifier: Apache-2.0 */
#include "applying.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/ipc/ipc_persistent.h"

struct rig applying_rig;

const struct found applying_plain[] = { { "main.c", 0, "@@ -1 +1 @@\n-a\n+b\n" },
					{ "notes", CHANGE_IS_BINARY, NULL },
					{ NULL, 0, NULL } };
const struct found applying_held[] = { { "main.c", 0, "@@ -1 +1 @@\n-a\n+b\n" },
				       { ".git/hooks/pre-commit", CHANGE_IS_HELD, NULL },
				       { NULL, 0, NULL } };
void applying_open(enum plan_apply apply, const char *capabilities)
{
	char line[256];

	rig_open(&applying_rig, false);
	applying_rig.apply = apply;
	rig_welcome(&applying_rig);
	(void)snprintf(line, sizeof(line),
		       "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"method\":\"initialize\",\"params\":"
		       "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{%s}}}",
		       capabilities);
	expect_part(rig_ask(&applying_rig, line), "\"result\":");
}

void applying_close(void)
{
	rig_close(&applying_rig);
}

void applying_say(const char *arguments)
{
	char all[1024];

	(void)snprintf(all, sizeof(all), "\"sandbox\":\"build\"%s", arguments);
	persistent_say(&applying_rig, "apply_changes", all);
}

void applying_say_preview(const char *arguments)
{
	char all[1024];

	(void)snprintf(all, sizeof(all), "\"sandbox\":\"build\"%s", arguments);
	persistent_say(&applying_rig, "preview_changes", all);
}

void applying_find(void)
{
	const struct ipc_sandbox_info info = persistent_info(BOX_ID, "build");

	(void)persistent_answer_list(&applying_rig, &info);
}

struct ipc_changes_start applying_take(uint32_t operation, const char *chosen)
{
	struct channel_message *message = rig_take(&applying_rig, IPC_TYPE_changes_start);
	struct ipc_changes_start start = *ipc_body(message, changes_start);

	cr_assert_eq(start.operation, operation);
	cr_assert_str_eq(start.sandbox, BOX_ID);
	cr_assert_str_eq(persistent_chosen(message), chosen);
	channel_message_done(message);
	cr_assert(start.flags & CHANGES_UMASK); /* this process's, which no test is about */
	start.flags &= ~(CHANGES_UMASK | CHANGES_UMASK_BITS);
	return start;
}

static const uint8_t no_digest[IPC_DIGEST_BYTES];

void applying_preview(const struct found *found)
{
	const struct ipc_changes_start start = applying_take(CHANGES_PREVIEW, "");
	struct ipc_changes_done done = { .request = start.request };
	const int records = persistent_changes(&applying_rig, start.request);

	cr_assert_eq(start.flags, CHANGES_TEXT);
	cr_assert_arr_eq(start.expected, no_digest, sizeof(no_digest));
	memset(done.digest, DIGEST, sizeof(done.digest));
	for (; found->path; found++, done.total++)
		persistent_tell(&applying_rig, records, CHANGE_MODIFIED, found->flags, found->path,
				found->patch);
	persistent_changes_done(&applying_rig, records, &done);
}

struct ipc_changes_start applying_apply(const struct found *found, bool is_held_too)
{
	const struct ipc_changes_start start = applying_take(CHANGES_APPLY, "");
	struct ipc_changes_done done = { .request = start.request };
	const int records = persistent_changes(&applying_rig, start.request);
	uint8_t digest[IPC_DIGEST_BYTES];

	cr_assert_eq(start.flags, is_held_too ? CHANGES_HELD_TOO : 0);
	memset(digest, DIGEST, sizeof(digest));
	cr_assert_arr_eq(start.expected, digest, sizeof(digest));
	for (; found->path; found++, done.total++) {
		const bool stays = (found->flags & CHANGE_IS_HELD) != 0 && !is_held_too;

		persistent_tell(&applying_rig, records, CHANGE_MODIFIED,
				found->flags | (stays ? 0U : CHANGE_IS_APPLIED), found->path, NULL);
		done.held += stays;
		done.applied += !stays;
	}
	persistent_changes_done(&applying_rig, records, &done);
	return start;
}

void applying_respond(const char *member)
{
	char id[32] = "", line[1024];
	const char *at = strstr(applying_rig.line, "\"id\":\"msp-");

	cr_assert_not_null(at, "%s", applying_rig.line);
	(void)sscanf(at, "\"id\":\"%31[^\"]", id);
	(void)snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",%s}", id, member);
	rig_say(&applying_rig, line);
}

void applying_refused(const char *part)
{
	expect_part(rig_hear(&applying_rig), part);
	expect_part(applying_rig.line, "Nothing was applied.");
	expect_part(applying_rig.line, "`msp apply " BOX_ID "`");
	expect_part(applying_rig.line, "\"isError\":true");
	rig_take_nothing(&applying_rig);
}
