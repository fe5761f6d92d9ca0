/* SPDX-License-Identifier: Apache-2.0
 *
 * Which sandboxes there are may be more to tell than a channel holds: a list is told in pieces, as
 * fast as it is read.
 */
#include "handlers_list.h"

#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>

#include "audit.h"
#include "handlers.h"

/* So much of a list may wait for its reader in the channel, which other messages need too; and
 * until it is looked again how much does. */
#define UNREAD_MOST 65536
#define AGAIN_US 1000

/* The first look for what nobody uses any more is after the start of what ends at once. */
#define SWEEP_FIRST_US 1000000
#define SWEEP_US 60000000

static struct store_meta meta; /* of whoever is looked at */

/* One list at a time is told; whose turn it is not yet is in `waiting`, a bit for each frontend. */
static struct {
	const struct frontend *frontend; /* NULL: none is */
	uint32_t number;                 /* of the frontend */
	int error;                       /* what kept it from being whole */
	uint32_t next, count;
	char ids[SANDBOXES_MAX][IPC_ID_MAX];
} list;
static uint64_t waiting;
static uint64_t again_us = UINT64_MAX;
static uint64_t sweep_us;

_Static_assert(FRONTENDS_MAX <= 64, "a bit for each");

int request_finish(const struct frontend *frontend, uint64_t request, int error)
{
	const struct ipc_request_done done = { .request = request };

	return error ? handlers_refuse(frontend, request, REFUSAL_RESOURCES, strerror(-error), 0)
		     : handlers_answer(frontend, IPC_TYPE_request_done, &done);
}

int sight_look(const char *id, struct sight *ret)
{
	const struct sandbox *sandbox = sandbox_find(id);
	int error = 0;

	*ret = (struct sight){ .id = id, .meta = &meta, .sandbox = sandbox };
	if (sandbox) {
		ret->meta = sandbox->meta;
		ret->used_s = store_used_s(sandbox->directory);
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
		info.executions = sandbox_executions(sight->sandbox);
	}
	return handlers_answer(frontend, IPC_TYPE_sandbox_info, &info);
}

static void note_expired(const char id[IPC_ID_MAX])
{
	audit_sandbox_end(id, "expired");
}

int sweep_noted(void)
{
	return store_sweep(note_expired);
}

static int add_id(void *context, const char id[IPC_ID_MAX])
{
	if (list.count < SANDBOXES_MAX)
		memcpy(list.ids[list.count++], id, IPC_ID_MAX);
	return 0;
}

static void begin_list(const struct frontend *frontend)
{
	(void)sweep_noted(); /* what is over and still there is told of */
	list.next = list.count = 0;
	list.frontend = frontend;
	list.number = frontend->number;
	list.error = store_each(add_id, NULL);
}

/* One that is damaged does not say whose it is: the user's own, then. */
static bool is_theirs(const struct sight *sight, const struct ipc_sandbox_list *from)
{
	return from->is_everybody ||
	       strcmp(sight->meta ? sight->meta->owner : "", from->owner) == 0;
}

static bool has_room(const struct frontend *frontend)
{
	int unread = 0;

	return ioctl(frontend->channel.fd, SIOCOUTQ, &unread) != 0 || unread < UNREAD_MOST;
}

/* 0: all were told, or why not is in list.error; -EAGAIN: later; another -errno of the channel. One
 * that went meanwhile is left out. */
static int go_on(const struct frontend *frontend, const struct ipc_sandbox_list *from)
{
	struct sight sight;
	int error = 0;

	for (; list.next < list.count && !list.error && !error; list.next += !error) {
		if (!has_room(frontend))
			return -EAGAIN;
		list.error = sight_look(list.ids[list.next], &sight);
		if (!list.error && is_theirs(&sight, from))
			error = sight_tell(frontend, from->request, &sight);
		else if (list.error == -ENOENT)
			list.error = 0;
	}
	return error;
}

static int list_later(struct frontend *frontend, struct channel_message *message)
{
	waiting |= 1ULL << (frontend - supervisor.frontends);
	again_us = loop_now_us() + AGAIN_US;
	return handlers_later(frontend, message);
}

/* Has the one whose list it was ended meanwhile? */
static void check_list(void)
{
	if (list.frontend &&
	    (list.frontend->state != FRONTEND_OPEN || list.frontend->number != list.number))
		list.frontend = NULL;
}

int handle_sandbox_list(void *context, struct channel_message *message)
{
	const struct ipc_sandbox_list *from = &message->body.sandbox_list;
	struct frontend *frontend = context;
	int error;

	if (from->is_everybody && frontend->is_broker)
		return -EPROTO;
	if (supervisor.stateless[0])
		return handlers_refuse(frontend, from->request, REFUSAL_STATE, supervisor.stateless,
				       0);
	check_list();
	if (list.frontend && list.frontend != frontend)
		return list_later(frontend, message);
	if (!list.frontend)
		begin_list(frontend);
	error = go_on(frontend, from);
	if (error == -EAGAIN)
		return list_later(frontend, message);
	list.frontend = NULL;
	return error ? error : request_finish(frontend, from->request, list.error);
}

void handlers_list_tick(void)
{
	const uint64_t now = loop_now_us();
	uint64_t called = waiting;

	if (sweep_us == 0)
		sweep_us = now + SWEEP_FIRST_US;
	if (sweep_us <= now && !supervisor.stateless[0]) {
		(void)sweep_noted(); /* or the next one does */
		sweep_us = now + SWEEP_US;
	}
	if (again_us > now)
		return;
	again_us = UINT64_MAX;
	waiting = 0;
	for (size_t i = 0; called; i++, called >>= 1) {
		if (called & 1)
			handlers_go_on(&supervisor.frontends[i]);
	}
}

uint64_t handlers_list_deadline_us(void)
{
	if (supervisor.stateless[0] || again_us < sweep_us)
		return again_us;
	return sweep_us;
}
