/* SPDX-License-Identifier: Apache-2.0
 *
 * The content of a meta: ids, names, layers, checkpoints, and whether all of it is possible. A meta
 * comes from a disk, where a crash, another version of msp or the user may have left anything, and
 * a walk along its layers must end. A parent's index is smaller than that of its child, so there
 * are no circles.
 */
#include <string.h>
#include <sys/stat.h>

#include "common/ipc/workspace_mode.h"
#include "inner.h"

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/* 128 bits in Crockford's base 32: the first digit has three of them. */
void store_id_text(const uint8_t id[STORE_ID_BYTES], char ret[IPC_ID_MAX])
{
	unsigned int bits = 0; /* not yet written, the newest lowest */
	int count = STORE_ID_CHARS * 5 - STORE_ID_BYTES * 8;
	size_t at = 0;

	for (size_t i = 0; i < STORE_ID_CHARS; i++) {
		if (count < 5) {
			bits = bits << 8 | id[at++];
			count += 8;
		}
		count -= 5;
		ret[i] = STORE_ID_DIGITS[bits >> count & 31];
	}
	ret[STORE_ID_CHARS] = '\0';
}

bool store_is_id(const char *text)
{
	return strlen(text) == STORE_ID_CHARS && strspn(text, STORE_ID_DIGITS) == STORE_ID_CHARS &&
	       text[0] <= '7';
}

bool store_is_name(const char *text)
{
	const size_t size = strlen(text);

	return size > 0 && size < IPC_NAME_MAX && !store_is_id(text) &&
	       strspn(text, LETTERS "0123456789._-") == size;
}

uint32_t store_depth(const struct store_meta *meta, uint32_t layer)
{
	uint32_t depth = 0;

	for (; layer != STORE_NO_LAYER; layer = meta->layers[layer].parent)
		depth++;
	return depth;
}

static bool is_text(const char *text, size_t room)
{
	return memchr(text, '\0', room) != NULL;
}

static bool is_new_id(const struct store_meta *meta, uint32_t layer)
{
	static const uint8_t none[STORE_ID_BYTES];
	const uint8_t *id = meta->layers[layer].id;

	for (uint32_t i = 0; i < layer; i++) {
		if (memcmp(meta->layers[i].id, id, STORE_ID_BYTES) == 0)
			return false;
	}
	return memcmp(none, id, STORE_ID_BYTES) != 0;
}

static bool are_layers_sound(const struct store_meta *meta)
{
	if (meta->layer_count == 0 || meta->layer_count > LAYERS_MAX ||
	    meta->upper >= meta->layer_count)
		return false;
	for (uint32_t i = 0; i < meta->layer_count; i++) {
		const uint32_t parent = meta->layers[i].parent;

		if ((parent >= i && parent != STORE_NO_LAYER) || parent == meta->upper ||
		    store_depth(meta, i) > LAYERS_DEEP_MAX || !is_new_id(meta, i))
			return false;
	}
	return true;
}

static bool are_checkpoints_sound(const struct store_meta *meta)
{
	uint32_t before = 0;

	if (meta->checkpoint_count > CHECKPOINTS_MAX)
		return false;
	for (uint32_t i = 0; i < meta->checkpoint_count; i++) {
		const struct store_checkpoint *at = &meta->checkpoints[i];

		if (at->number <= before || !is_text(at->name, sizeof(at->name)) ||
		    (at->layer >= meta->layer_count && at->layer != STORE_NO_LAYER) ||
		    at->layer == meta->upper)
			return false;
		before = at->number;
	}
	return meta->next_checkpoint > before;
}

bool store_is_sound(const struct store_meta *meta)
{
	return meta->magic == STORE_MAGIC && meta->version == STORE_VERSION &&
	       is_text(meta->name, sizeof(meta->name)) &&
	       is_text(meta->owner, sizeof(meta->owner)) &&
	       is_text(meta->profile, sizeof(meta->profile)) &&
	       is_text(meta->workspace, sizeof(meta->workspace)) && meta->profile[0] &&
	       (!meta->name[0] || store_is_name(meta->name)) &&
	       meta->workspace_mode < WORKSPACE_MODE_COUNT &&
	       meta->workspace[0] == (meta->workspace_mode == WORKSPACE_NONE ? '\0' : '/') &&
	       meta->is_persons <= 1 && meta->reserved == 0 && are_layers_sound(meta) &&
	       are_checkpoints_sound(meta);
}

const struct store_checkpoint *store_checkpoint_find(const struct store_meta *meta, uint32_t number)
{
	for (uint32_t i = 0; i < meta->checkpoint_count; i++) {
		if (meta->checkpoints[i].number == number)
			return &meta->checkpoints[i];
	}
	return NULL;
}

uint32_t store_checkpoint_of(const struct store_meta *meta, uint32_t layer, uint32_t number)
{
	for (;; layer = meta->layers[layer].parent) {
		for (uint32_t i = meta->checkpoint_count; i-- > 0;) {
			if (meta->checkpoints[i].layer == layer &&
			    meta->checkpoints[i].number < number)
				return meta->checkpoints[i].number;
		}
		if (layer == STORE_NO_LAYER)
			return 0;
	}
}

bool store_merge_plan(const struct store_meta *meta, struct store_merge *ret)
{
	uint32_t layer = meta->layers[meta->upper].parent;

	ret->count = 0;
	for (; layer != STORE_NO_LAYER; layer = meta->layers[layer].parent)
		memcpy(ret->ids[ret->count++], meta->layers[layer].id, STORE_ID_BYTES);
	return ret->count > STORE_CHAIN_MAX;
}

/* --- the directory, by the owner of its lock
 * ------------------------------------------------------- */

void store_touch(int sandbox)
{
	(void)futimens(sandbox, NULL); /* cannot fail: the directory is ours */
}

uint64_t store_used_s(int sandbox)
{
	struct stat status;

	return fstat(sandbox, &status) == 0 && status.st_mtime > 0 ? (uint64_t)status.st_mtime : 0;
}
