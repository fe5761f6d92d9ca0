/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/kept_layers.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/sha256.h"
#include "common/text/format.h"
#include "launcher/host/state_place.h"
#include "stewards/store/store.h"

/* The part of the state directory with a directory for each layer. */
#define LAYERS "layers"

/* Is it what msp-store has written for this sandbox? */
static bool is_whole(const struct store_meta *meta, const char *id)
{
	uint8_t hash[SHA256_BYTES];
	char text[IPC_ID_MAX];

	sha256(meta, offsetof(struct store_meta, hash), hash);
	store_id_text(meta->id, text);
	return memcmp(hash, meta->hash, sizeof(hash)) == 0 && store_is_sound(meta) &&
	       strcmp(text, id) == 0;
}

static int read_layers(const char *id, struct kept_layers *ret)
{
	static struct store_meta meta;
	int fd FD_OWNED = openat(ret->lock, "meta", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	const ssize_t size = fd < 0 ? -1 : read(fd, &meta, sizeof(meta));

	if (size < 0)
		return -errno;
	if (size != (ssize_t)sizeof(meta) || !is_whole(&meta, id))
		return -EBADMSG;
	for (uint32_t layer = meta.upper; layer != STORE_NO_LAYER;
	     layer = meta.layers[layer].parent) {
		if (ret->count == LAYERS_DEEP_MAX)
			return -EBADMSG;
		store_id_text(meta.layers[layer].id, ret->ids[ret->count++]);
	}
	return 0;
}

static int open_below(int state, const char *path, int flags)
{
	return fd_result(openat(state, path, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

int kept_layers_open(const char *id, struct kept_layers *ret)
{
	char path[IPC_PATH_MAX], text[STATE_PLACE_TEXT_MAX];
	int state FD_OWNED = -ENOENT;

	*ret = (struct kept_layers){ .lock = -1, .directory = -1 };
	if (!store_is_id(id))
		return -ENOENT;
	if (state_place_find(STATE_PLACE_ALL, path, text))
		state = open_below(AT_FDCWD, path, O_PATH);
	if (state < 0)
		return state;
	ret->directory = open_below(state, LAYERS, O_PATH);
	format_text(path, sizeof(path), "sandboxes/%s", id);
	ret->lock = open_below(state, path, O_RDONLY);
	if (ret->lock < 0 || ret->directory < 0)
		return ret->lock < 0 ? ret->lock : ret->directory;
	if (flock(ret->lock, LOCK_SH | LOCK_NB) != 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	return read_layers(id, ret);
}

void kept_layers_close(struct kept_layers *layers)
{
	fd_close(&layers->directory);
	fd_close(&layers->lock);
}
