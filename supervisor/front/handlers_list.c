/* SPDX-License-Identifier: Apache-2.0
 *
 * Which sandboxes there are may be more to tell than a channel holds: a list is told in pieces, and
 * who has read one asks for the next.
 */
#include "front/handlers_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/audit.h"
#include "base/reply.h"
#include "base/store_client.h"
#include "common/ipc/ipc_persistent.h"
#include "persistent/layers_job.h"
#include "run/execution.h"

/* So many are looked at for a piece. What is told of them leaves room in the channel for other
 * messages. */
#define PIECE 8

/* The first sweep of unused sandboxes comes after the start, so that short runs do without it. */
#define SWEEP_FIRST_US 1000000
#define SWEEP_US 60000000

static struct store_meta meta; /* scratch: of the sandbox that is looked at */

static uint64_t sweep_us;

int sight_look(const char *id, struct sight *ret)
{
	const struct sandbox *sandbox = sandbox_find(NULL, id);
	int error = 0;

	*ret = (struct sight){ .id = id, .meta = &meta, .sandbox = sandbox };
	if (sandbox) {
		ret->meta = sandbox->persistent.meta;
		ret->used_s = store_used_s(sandbox->persistent.directory);
	} else {
		error = store_look(id, &meta, &ret->used_s, &ret->is_taken);
	}
	if (error == -EBADMSG)
		ret->meta = NULL;
	return error == -EBADMSG ? 0 : error;
}

int sight_tell(const struct frontend *frontend, uint64_t request, const struct sight *sight)
{
	const struct store_meta *of = sight->meta;
	static struct ipc_sandbox_info info;

	memset(&info, 0, sizeof(info));
	info.request = request;
	memcpy(info.id, sight->id, sizeof(info.id));
	info.used_s = sight->used_s;
	info.is_damaged = !of;
	info.is_elsewhere = sight->is_taken;
	if (of) {
		memcpy(info.name, of->name, sizeof(info.name));
		memcpy(info.owner, of->owner, sizeof(info.owner));
		memcpy(info.profile, of->profile, sizeof(info.profile));
		memcpy(info.workspace, of->workspace, sizeof(info.workspace));
		info.workspace_mode = of->workspace_mode;
		info.checkpoints = of->checkpoint_count;
		info.created_s = of->created_s;
		info.expires_s = sight->used_s + of->ttl_s;
		info.disk_bytes = of->disk_bytes;
	}
	if (sight->sandbox) {
		info.is_live = sight->sandbox->state == SANDBOX_LIVE;
		info.executions = execution_count(sight->sandbox);
	}
	return reply_send(frontend, IPC_TYPE_sandbox_info, &info);
}

enum refusal sight_no_checkpoint(const struct store_meta *of, char detail[IPC_LIST_MAX])
{
	size_t used = 0;

	detail[0] = '\0';
	for (uint32_t i = 0; i < of->checkpoint_count && used < IPC_LIST_MAX; i++) {
		const struct store_checkpoint *at = &of->checkpoints[i];

		used += (size_t)snprintf(detail + used, IPC_LIST_MAX - used, "%s%u%s%s%s",
					 i > 0 ? ", " : "", at->number, at->name[0] ? " (" : "",
					 at->name, at->name[0] ? ")" : "");
	}
	return REFUSAL_CHECKPOINT_UNKNOWN;
}

static int note_expired(void *context, const char id[IPC_ID_MAX])
{
	audit_sandbox_end(id, "expired");
	return 0;
}

static int pass_over(void *context, const char id[IPC_ID_MAX])
{
	return 0;
}

int sweep_expired(void)
{
	return store_list(note_expired, pass_over, NULL);
}

struct piece {
	const char *after;
	uint32_t count;
	char ids[PIECE][IPC_ID_MAX];
};

/* Keeps those that come next behind `after`, in order. */
static int add_id(void *context, const char id[IPC_ID_MAX])
{
	struct piece *piece = context;
	uint32_t at = piece->count;

	while (at > 0 && strcmp(id, piece->ids[at - 1]) < 0)
		at--;
	if (at == PIECE || strcmp(id, piece->after) <= 0)
		return 0;
	piece->count += piece->count < PIECE;
	memmove(piece->ids[at + 1], piece->ids[at],
		(piece->count - at - 1) * sizeof(piece->ids[0]));
	memcpy(piece->ids[at], id, sizeof(piece->ids[at]));
	return 0;
}

/* Leave out a sandbox that went meanwhile. A failed look goes to *ret_error; returns 0 or -errno of
 * the channel. */
static int send_piece(const struct frontend *frontend, const struct ipc_sandbox_list *from,
		      const struct piece *piece, int *ret_error)
{
	struct sight sight;
	int told = 0;

	for (uint32_t i = 0; i < piece->count && !told && !*ret_error; i++) {
		*ret_error = sight_look(piece->ids[i], &sight);
		/* A damaged sandbox does not say its owner: it counts as the user's own. */
		if (!*ret_error && (from->is_everybody ||
				    strcmp(sight.meta ? sight.meta->owner : "", from->owner) == 0))
			told = sight_tell(frontend, from->request, &sight);
		else if (*ret_error == -ENOENT)
			*ret_error = 0;
	}
	return told;
}

/* Answer for a sandbox that went meanwhile as for one that never was. */
static int send_called(const struct frontend *frontend, const struct ipc_sandbox_list *from)
{
	char id[IPC_ID_MAX];
	struct sight sight;
	const int error =
		sandbox_look_up(from->owner, from->sandbox, id) ? sight_look(id, &sight) : -ENOENT;
	const int told = error ? 0 : sight_tell(frontend, from->request, &sight);

	return told ? told : reply_done(frontend, from->request, error == -ENOENT ? 0 : error);
}

int handle_sandbox_list(void *context, struct channel_message *message)
{
	const struct ipc_sandbox_list *from = ipc_body(message, sandbox_list);
	struct ipc_sandbox_more more = { .head = from->head, .is_everybody = from->is_everybody };
	struct piece piece = { .after = from->after };
	const struct frontend *frontend = context;
	int error, told;

	if (from->is_everybody && (frontend->is_broker || from->sandbox[0]))
		return -EPROTO;
	if (supervisor.stateless[0])
		return reply_refuse(frontend, from->request, REFUSAL_STATE, supervisor.stateless,
				    0);
	if (from->sandbox[0])
		return send_called(frontend, from);
	error = store_list(from->after[0] ? NULL : note_expired, add_id, &piece);
	error = error < 0 ? error : 0;
	told = send_piece(frontend, from, &piece, &error);
	if (told)
		return told;
	if (error || piece.count < PIECE)
		return reply_done(frontend, from->request, error);
	memcpy(more.after, piece.ids[PIECE - 1], sizeof(more.after));
	return reply_send(frontend, IPC_TYPE_sandbox_more, &more);
}

void handlers_list_tick(void)
{
	const uint64_t now = clock_now_us();

	if (sweep_us == 0)
		sweep_us = now + SWEEP_FIRST_US;
	if (sweep_us > now || supervisor.stateless[0])
		return;
	(void)sweep_expired(); /* or the next one does */
	layers_job_empty_trash();
	sweep_us = now + SWEEP_US;
}

uint64_t handlers_list_deadline_us(void)
{
	return supervisor.stateless[0] ? UINT64_MAX : sweep_us;
}
