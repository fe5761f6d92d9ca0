/* SPDX-License-Identifier: Apache-2.0 */
#include "places.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fd.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/layer_role.h"
#include "common/kernel.h"
#include "common/text/text.h"
#include "layers.h"
#include "tree.h"

#define OVERLAY (PLACE_ROLE(LAYER_LOWER) | PLACE_ROLE(LAYER_UPPER) | PLACE_ROLE(LAYER_WORK))
#define WORKSPACE (PLACE_ROLE(LAYER_LOWER) | PLACE_ROLE(LAYER_READ) | PLACE_ROLE(LAYER_WRITE))

/* The directory in a layer by its role there, and the mode that it is made with; 0: it is not. */
static const struct {
	const char *prefix;
	mode_t mode;
} kinds[LAYER_ROLE_COUNT] = {
	[LAYER_LOWER] = { "", 0 },
	[LAYER_UPPER] = { "", 0755 },
	[LAYER_WORK] = { "work-", 0700 },
};

int places_add(struct places *places, const struct ipc_sandbox_layer *layer)
{
	const bool is_layer = layer->id[0] != '\0';

	if (layer->number == 0)
		places->count = 0;
	if (layer->role >= LAYER_ROLE_COUNT ||
	    !((is_layer ? OVERLAY : WORKSPACE) & PLACE_ROLE(layer->role)) ||
	    (is_layer && strspn(layer->id, IPC_ID_DIGITS) != IPC_ID_MAX - 1) ||
	    places->count == PLACES_LAYERS_MAX || layer->number != places->count)
		return -EPROTO;
	struct place_layer *next = &places->layers[places->count++];

	next->mount = layer->mount;
	next->role = layer->role;
	memcpy(next->id, layer->id, sizeof(next->id));
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
	places->count = 0;
	fd_close_all(places->hosts, 2);
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

/* Open a directory beneath another one; no link and no ".." leads out of that. */
static int open_beneath(int directory, const char *prefix, const char *name, mode_t mode)
{
	struct text path = { .used = 0 };

	if (directory < 0)
		return directory;
	text_add(&path, prefix);
	text_add(&path, name);
	if (mode && mkdirat(directory, path.bytes, mode) != 0 && errno != EEXIST)
		return -errno;
	const int fd = kernel_openat2(directory, path.bytes, O_PATH | O_DIRECTORY | O_CLOEXEC,
				      LAYER_RESOLVE_BENEATH);
	return fd < 0 ? -errno : fd;
}

/* -ENOENT: the layer has no such place, which a profile may have got later. */
static int open_place(int state, const struct place_layer *layer, const char *place)
{
	int directory = open_beneath(state, "layers/", layer->id, 0);
	const int fd = directory < 0 ? -ESTALE
				     : open_beneath(directory, kinds[layer->role].prefix, place,
						    kinds[layer->role].mode);

	fd_close(&directory);
	return fd;
}

int places_mount(const struct places *places, uint32_t mount, const char *place,
		 uint64_t attributes, int host, const char *at, const int *below,
		 uint32_t below_count)
{
	int layers[PLACES_LAYERS_MAX + 1 + PLAN_LAYERS_MAX] = { -ENOENT, -ENOENT, -ENOENT };
	const uint32_t roles = places_roles(places, mount);
	const bool is_host = roles == PLACE_ROLE(LAYER_READ) || roles == PLACE_ROLE(LAYER_WRITE);
	/* Two places have one. */
	const int host_at = places->hosts[place[0] == PLAN_PLACE_GIT[0]];
	uint32_t count = 2;

	if (!is_host && (roles | PLACE_ROLE(LAYER_LOWER)) != OVERLAY)
		return -EINVAL;
	int state = open_here(host, STATE_FD);
	for (uint32_t i = 0; i < places->count; i++) {
		const struct place_layer *layer = &places->layers[i];
		const int fd = layer->mount != mount ? -ENOENT
			       : layer->id[0]        ? open_place(state, layer, place)
						     : open_here(host, host_at);

		if (fd != -ENOENT)
			layers[kinds[layer->role].mode ? layer->role - LAYER_UPPER : count++] = fd;
	}
	/* An overlay needs another layer than its upper. */
	if (count == 2 && below_count == 0)
		layers[count++] = open_beneath(state, "", "empty", 0700);
	memcpy(&layers[count], below, below_count * sizeof(*below));
	int result = layers[2];
	/* It is read-only until the tree is complete. */
	if (result >= 0)
		result = is_host ? mount_clone(result, attributes | LAYER_READ_ONLY)
				 : mount_layers(layers, count + below_count, attributes, host, at);
	while (count > 0)
		fd_close(&layers[--count]);
	fd_close(&state);
	return result;
}
