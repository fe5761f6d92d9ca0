/* SPDX-License-Identifier: Apache-2.0 */
#include "places.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fd.h"
#include "common/ipc_factory.h"
#include "common/kernel.h"
#include "common/layer_role.h"
#include "layers.h"
#include "tree.h"

#define OVERLAY (PLACE_ROLE(LAYER_LOWER) | PLACE_ROLE(LAYER_UPPER) | PLACE_ROLE(LAYER_WORK))

int places_add(struct places *places, const struct ipc_sandbox_layer *layer, int *fd)
{
	if (layer->number == 0)
		places_clear(places);
	if (layer->role == 0 || layer->role >= LAYER_ROLE_COUNT ||
	    places->count == PLACES_LAYERS_MAX || layer->number != places->count)
		return -EPROTO;
	places->layers[places->count++] = (struct place_layer){ *fd, layer->mount, layer->role };
	*fd = -1;
	return 0;
}

bool places_fit(struct places *places, uint32_t layers, const struct plan *plan,
		const struct plan_profile *profile)
{
	const struct plan_mount *mounts = plan_mounts(plan, profile);

	if (layers == 0)
		places_clear(places);
	for (uint32_t i = 0; i < places->count; i++) {
		const uint32_t mount = places->layers[i].mount;

		if (mount >= profile->mount_count || !mounts[mount].place)
			return false;
	}
	return places->count == layers;
}

void places_clear(struct places *places)
{
	while (places->count > 0)
		fd_close(&places->layers[--places->count].fd);
}

uint32_t places_roles(const struct places *places, uint32_t mount)
{
	uint32_t roles = 0;

	for (uint32_t i = 0; i < places->count; i++) {
		if (places->layers[i].mount == mount)
			roles |= PLACE_ROLE(places->layers[i].role);
	}
	return roles;
}

/* The kernel knows where the directory lies, by way of the working directory: a name in /proc would
 * stay in memory as long as this process. What is there in this mount namespace must be the same
 * one. */
static int open_here(int host, int fd)
{
	/* It was opened in another mount namespace; getcwd(2). */
	static const char elsewhere[] = "(unreachable)";
	char path[sizeof(elsewhere) + IPC_PATH_MAX];
	const char *name = path;
	struct stat meant;

	if (fchdir(fd) != 0 || fstat(fd, &meant) != 0)
		return -errno;
	/* The library's would take that for no directory. */
	if (syscall(SYS_getcwd, path, sizeof(path)) < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	if (strncmp(path, elsewhere, sizeof(elsewhere) - 1) == 0)
		name += sizeof(elsewhere) - 1;
	return tree_open_meant(host, name, O_PATH | O_DIRECTORY, &meant);
}

int places_mount(const struct places *places, uint32_t mount, uint64_t attributes, int host,
		 const struct mount_layer *below, uint32_t below_count)
{
	static const char *const keys[LAYER_ROLE_COUNT] = {
		[LAYER_LOWER] = "lowerdir+", [LAYER_UPPER] = "upperdir", [LAYER_WORK] = "workdir"
	};
	struct mount_layer layers[PLACES_LAYERS_MAX + PLAN_LAYERS_MAX] = { { 0 } };
	const uint32_t roles = places_roles(places, mount);
	const bool is_host = roles == PLACE_ROLE(LAYER_READ) || roles == PLACE_ROLE(LAYER_WRITE);
	uint32_t count = 0;

	if (!is_host && (roles | (below_count > 0 ? PLACE_ROLE(LAYER_LOWER) : 0)) != OVERLAY)
		return -EINVAL;
	for (uint32_t i = 0; i < places->count; i++) {
		if (places->layers[i].mount == mount)
			layers[count++] =
				(struct mount_layer){ keys[places->layers[i].role],
						      open_here(host, places->layers[i].fd) };
	}
	memcpy(&layers[count], below, below_count * sizeof(*below));
	int result = layers[0].fd;
	/* It is read-only until the tree is complete. */
	if (result >= 0)
		result = is_host ? mount_clone(result, attributes | LAYER_READ_ONLY)
				 : mount_layers(layers, count + below_count, attributes);
	while (count > 0)
		fd_close(&layers[--count].fd);
	return result;
}
