/* SPDX-License-Identifier: Apache-2.0 */
#include "places.h"

#include <errno.h>
#include <sys/stat.h>

#include "common/fd.h"
#include "common/kernel.h"
#include "common/mount.h"
#include "common/text.h"
#include "layers.h"
#include "mounts.h"
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

/* The kernel knows where the directory lies; what is there in this mount namespace must be the
 * same one. */
static int open_here(int host, int fd)
{
	struct text link = { .used = 0 };
	char path[IPC_PATH_MAX];
	struct stat meant;
	ssize_t size;

	text_add(&link, "/" STAGING_HOST "/proc/self/fd/");
	text_add_number(&link, (uint64_t)fd);
	size = readlink(link.bytes, path, sizeof(path) - 1);
	if (size < 0 || fstat(fd, &meant) != 0)
		return -errno;
	path[size] = '\0';
	return tree_open_meant(host, path, O_PATH | O_DIRECTORY, &meant);
}

int places_mount(const struct places *places, uint32_t mount, uint64_t attributes, int host,
		 int below)
{
	static const char *const keys[LAYER_ROLE_COUNT] = {
		[LAYER_LOWER] = "lowerdir+", [LAYER_UPPER] = "upperdir", [LAYER_WORK] = "workdir"
	};
	struct mount_layer layers[PLACES_LAYERS_MAX + 1];
	const uint32_t roles = places_roles(places, mount);
	const bool is_host = roles == PLACE_ROLE(LAYER_READ) || roles == PLACE_ROLE(LAYER_WRITE);
	uint32_t count = 0;
	int result = 0;

	if (!is_host && (roles | (below < 0 ? 0 : PLACE_ROLE(LAYER_LOWER))) != OVERLAY)
		return -EINVAL;
	for (uint32_t i = 0; i < places->count && result >= 0; i++) {
		if (places->layers[i].mount != mount)
			continue;
		result = open_here(host, places->layers[i].fd);
		layers[count++] = (struct mount_layer){ keys[places->layers[i].role], result };
	}
	layers[count] = (struct mount_layer){ "lowerdir+", below };
	/* Nothing writes to the host through it until the tree is complete. */
	if (result >= 0 && is_host)
		result = mount_clone(layers[0].fd, attributes | LAYER_READ_ONLY);
	else if (result >= 0)
		result = mount_layers(layers, count + (below >= 0), attributes);
	while (count > 0)
		fd_close(&layers[--count].fd);
	return result;
}
