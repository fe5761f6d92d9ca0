/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/dial/below.h"

#include <stdlib.h>
#include <string.h>

#include "common/records/counters.h"
#include "common/sha256.h"

/* Parts of the names' hashes: a workload gains a name or two by a collision. */
static struct below {
	uint64_t refilled_ms;
	uint32_t tokens; /* new names that may come now */
	uint32_t count;
	uint64_t names[BELOW_NAMES_MAX];
} * of_slots[GATEWAY_SLOTS];

static void refill_tokens(struct below *below, uint64_t seconds)
{
	const uint32_t room = BELOW_BURST - below->tokens;

	below->tokens += seconds < room ? (uint32_t)seconds : room;
	below->refilled_ms += 1000 * seconds;
}

bool below_take(uint32_t slot, const char *name, uint64_t now_ms)
{
	struct below *below = of_slots[slot];
	uint8_t hash[SHA256_BYTES];
	uint64_t part;
	uint32_t i = 0;

	if (below == NULL) {
		below = of_slots[slot] = calloc(1, sizeof(*below));
		if (below == NULL)
			return false;
		below->refilled_ms = now_ms;
		below->tokens = BELOW_BURST;
	}
	refill_tokens(below, (now_ms - below->refilled_ms) / 1000);
	sha256(name, strlen(name), hash);
	memcpy(&part, hash, sizeof(part));
	while (i < below->count && below->names[i] != part)
		i++;
	if (i < below->count)
		return true;
	if (i == BELOW_NAMES_MAX || below->tokens == 0)
		return false;
	below->tokens--;
	below->names[below->count++] = part;
	return true;
}

void below_forget(uint32_t slot)
{
	free(of_slots[slot]);
	of_slots[slot] = NULL;
}
