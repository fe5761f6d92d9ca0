/* SPDX-License-Identifier: Apache-2.0
 *
 * The directories that the places of a persistent sandbox are made of, as its start needs them.
 */
#include <errno.h>
#include <string.h>

#include "base/events.h"
#include "common/fd.h"
#include "common/ipc_factory.h"
#include "common/layer_role.h"
#include "common/workspace_mode.h"
#include "run/sandbox.h"
#include "store/store.h"

/* As the next one; *number counts them. */
static int send_layer(uint32_t *number, uint32_t mount, uint32_t role, int fd)
{
	const struct ipc_sandbox_layer message = { *number, mount, role };

	if (fd < 0)
		return fd; /* else it may be many, and the factory always reads */
	(*number)++;
	return channel_send(&supervisor.factory, IPC_TYPE_sandbox_layer, &message, &fd, 0);
}

static int pass_layer(uint32_t *number, uint32_t mount, uint32_t role, int fd)
{
	const int error = send_layer(number, mount, role, fd);

	fd_close(&fd);
	return error;
}

static int send_lowers(const struct store_meta *meta, uint32_t *number, uint32_t mount,
		       const char *place)
{
	int error = 0;

	for (uint32_t layer = meta->layers[meta->upper].parent; layer != STORE_NO_LAYER && !error;
	     layer = meta->layers[layer].parent) {
		const int fd = store_layer(meta, layer, place, false);

		if (fd != -ENOENT)
			error = pass_layer(number, mount, LAYER_LOWER, fd);
	}
	return error;
}

static int send_place(const struct persistent *own, uint32_t *number, uint32_t mount,
		      bool has_source, const char *place)
{
	const struct store_meta *meta = own->meta;
	const uint32_t mode = strcmp(place, PLAN_PLACE_WORKSPACE) == 0 ? meta->workspace_mode
								       : (uint32_t)WORKSPACE_NONE;
	const uint32_t before = *number;
	int error;

	if (mode == WORKSPACE_READ || mode == WORKSPACE_WRITE)
		return send_layer(number, mount, mode == WORKSPACE_READ ? LAYER_READ : LAYER_WRITE,
				  own->workspace);
	error = send_lowers(meta, number, mount, place);
	if (!error && mode == WORKSPACE_COPY)
		error = send_layer(number, mount, LAYER_LOWER, own->workspace);
	else if (!error && *number == before && !has_source)
		error = pass_layer(number, mount, LAYER_LOWER, store_empty());
	if (!error)
		error = pass_layer(number, mount, LAYER_UPPER,
				   store_layer(meta, meta->upper, place, true));
	return error ? error : pass_layer(number, mount, LAYER_WORK, store_work(meta, place));
}

int event_sandbox_launched(const struct sandbox *sandbox, uint32_t *ret_count)
{
	const struct plan *plan = &supervisor.plan;
	const struct plan_profile *profile = plan_profile(plan, sandbox->profile);
	const struct plan_mount *mounts = plan_mounts(plan, profile);
	int error = 0;

	*ret_count = 0;
	for (uint32_t i = 0; i < profile->mount_count && !error; i++) {
		if (mounts[i].place)
			error = send_place(&sandbox->persistent, ret_count, i,
					   mounts[i].kind == PLAN_BIND,
					   plan_string(plan, mounts[i].place));
	}
	return error;
}
