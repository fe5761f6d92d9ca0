/* SPDX-License-Identifier: Apache-2.0
 *
 * The layers that the places of a persistent sandbox are made of, as its start needs them.
 */
#include "run/sandbox_layers.h"

#include <string.h>

#include "common/ipc_factory.h"
#include "common/layer_role.h"
#include "common/workspace_mode.h"
#include "run/sandbox.h"
#include "stewards/store/store.h"

/* As the next one; *number counts them. `layer` NULL: the workspace. There may be many, and the
 * factory always reads. */
static int send_layer(uint32_t *number, uint32_t mount, uint32_t role,
		      const struct store_layer *layer)
{
	struct ipc_sandbox_layer message = { (*number)++, mount, role, "" };

	if (layer)
		store_id_text(layer->id, message.id);
	return channel_send(&supervisor.factory, IPC_TYPE_sandbox_layer, &message, NULL, 0);
}

static int send_workspace(const struct persistent *own, uint32_t *number, uint32_t mount,
			  uint32_t role)
{
	static const struct ipc_sandbox_workspace message;
	const int error = channel_send(&supervisor.factory, IPC_TYPE_sandbox_workspace, &message,
				       &own->workspace, 0);

	return error ? error : send_layer(number, mount, role, NULL);
}

static int send_place(const struct persistent *own, uint32_t *number, uint32_t mount,
		      const char *place)
{
	const struct store_meta *meta = own->meta;
	const struct store_layer *upper = &meta->layers[meta->upper];
	const uint32_t mode = strcmp(place, PLAN_PLACE_WORKSPACE) == 0 ? meta->workspace_mode
								       : (uint32_t)WORKSPACE_NONE;
	int error = 0;

	if (mode == WORKSPACE_READ || mode == WORKSPACE_WRITE)
		return send_workspace(own, number, mount,
				      mode == WORKSPACE_READ ? LAYER_READ : LAYER_WRITE);
	for (uint32_t layer = upper->parent; layer != STORE_NO_LAYER && !error;
	     layer = meta->layers[layer].parent)
		error = send_layer(number, mount, LAYER_LOWER, &meta->layers[layer]);
	if (!error && mode == WORKSPACE_COPY)
		error = send_workspace(own, number, mount, LAYER_LOWER);
	if (!error)
		error = send_layer(number, mount, LAYER_UPPER, upper);
	return error ? error : send_layer(number, mount, LAYER_WORK, upper);
}

int sandbox_send_layers(const struct sandbox *sandbox, uint32_t *ret_count)
{
	const struct plan *plan = &supervisor.plan;
	const struct plan_profile *profile = plan_profile(plan, sandbox->profile);
	const struct plan_mount *mounts = plan_mounts(plan, profile);
	int error = 0;

	*ret_count = 0;
	for (uint32_t i = 0; i < profile->mount_count && !error; i++) {
		if (mounts[i].place)
			error = send_place(&sandbox->persistent, ret_count, i,
					   plan_string(plan, mounts[i].place));
	}
	return error;
}
