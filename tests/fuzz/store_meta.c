/* SPDX-License-Identifier: Apache-2.0
 *
 * Property: whatever store_is_sound() accepts can be walked, pruned and written on: each walk ends,
 * a prune leaves what is needed as it was and the rest sound, and what is planned to be merged is
 * there. The input is the numbers of a meta, and then bytes of it to be changed, each as where and
 * what.
 */
#include <stdlib.h>
#include <string.h>

#include "property.h"
#include "stewards/store/inner.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct store_meta meta, before;

static uint32_t index_of(struct input *input)
{
	const uint8_t byte = input_byte(input);

	return byte == 0xff ? STORE_NO_LAYER : byte;
}

static void make(struct input *input)
{
	memset(&meta, 0, sizeof(meta));
	meta.magic = STORE_MAGIC;
	meta.version = STORE_VERSION;
	memcpy(meta.profile, "default", sizeof("default"));
	meta.layer_count = input_byte(input) % (LAYERS_MAX + 2);
	meta.upper = index_of(input);
	meta.checkpoint_count = input_byte(input) % (CHECKPOINTS_MAX + 2);
	meta.next_checkpoint = input_byte(input);
	for (uint32_t i = 0; i < meta.layer_count && i < LAYERS_MAX; i++) {
		meta.layers[i].id[0] = (uint8_t)(i + 1);
		meta.layers[i].parent = index_of(input);
	}
	for (uint32_t i = 0; i < meta.checkpoint_count && i < CHECKPOINTS_MAX; i++) {
		meta.checkpoints[i].number = input_byte(input);
		meta.checkpoints[i].layer = index_of(input);
	}
}

static void patch(struct input *input)
{
	uint8_t *bytes = (uint8_t *)&meta;

	while (input->size >= 3) {
		const size_t high = input_byte(input);
		const size_t at = high << 8 | input_byte(input);

		bytes[at % sizeof(meta)] = input_byte(input);
	}
}

static void walk(uint32_t layer)
{
	must(store_depth(&meta, layer) <= LAYERS_DEEP_MAX);
	must(store_checkpoint_of(&meta, layer, UINT32_MAX) < meta.next_checkpoint);
}

/* The same layers one after another. */
static void expect_same_stack(uint32_t old, uint32_t now)
{
	while (old != STORE_NO_LAYER && now != STORE_NO_LAYER) {
		must(old < before.layer_count && now < meta.layer_count);
		must(memcmp(before.layers[old].id, meta.layers[now].id, STORE_ID_BYTES) == 0);
		old = before.layers[old].parent;
		now = meta.layers[now].parent;
	}
	must(old == now);
}

static void check_prune(void)
{
	const uint32_t count = meta.layer_count;

	before = meta;
	must(store_prune(&meta) == count - meta.layer_count);
	must(store_is_sound(&meta));
	expect_same_stack(before.upper, meta.upper);
	for (uint32_t i = 0; i < meta.checkpoint_count; i++)
		expect_same_stack(before.checkpoints[i].layer, meta.checkpoints[i].layer);
	must(store_prune(&meta) == 0);
}

static void check_plan(void)
{
	struct store_merge merge;

	if (store_merge_plan(&meta, &merge))
		must(merge.count > STORE_CHAIN_MAX && merge.count < LAYERS_DEEP_MAX);
	for (uint32_t i = 0; i < merge.count; i++)
		must(store_layer_find(&meta, merge.ids[i]) != STORE_NO_LAYER);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };

	make(&input);
	patch(&input);
	if (!store_is_sound(&meta))
		return 0;
	for (uint32_t i = 0; i < meta.layer_count; i++)
		walk(i);
	must(strlen(meta.name) < sizeof(meta.name) && strlen(meta.owner) < sizeof(meta.owner));
	must(strlen(meta.profile) < sizeof(meta.profile));
	must(strlen(meta.workspace) < sizeof(meta.workspace));
	check_plan();
	check_prune();
	return 0;
}
