/* SPDX-License-Identifier: Apache-2.0 */
#include "lasting_rest.h"

#include "sandbox.h"

static uint64_t restless[(SANDBOXES_MAX + 63) / 64]; /* a bit for each */
static uint64_t rested_us = UINT64_MAX;              /* none that rests is due before */

void sandbox_stir(const struct sandbox *sandbox)
{
	const uint32_t at = sandbox->slot - EPHEMERAL_MAX;

	restless[at / 64] |= 1ULL << at % 64;
}

void rest_begin(const struct sandbox *sandbox)
{
	const uint32_t at = sandbox->slot - EPHEMERAL_MAX;

	restless[at / 64] &= ~(1ULL << at % 64);
	if (supervisor.sandboxes_used == EPHEMERAL_MAX)
		rested_us = UINT64_MAX;
	else if (sandbox->state != SANDBOX_FREE && sandbox->due_us < rested_us)
		rested_us = sandbox->due_us;
}

void rest_end_due(uint64_t now)
{
	if (rested_us > now)
		return;
	for (uint32_t slot = EPHEMERAL_MAX; slot < supervisor.sandboxes_used; slot++) {
		if (supervisor.sandboxes[slot].state != SANDBOX_FREE)
			sandbox_stir(&supervisor.sandboxes[slot]);
	}
	rested_us = UINT64_MAX;
}

struct sandbox *rest_next(const struct sandbox *sandbox)
{
	uint32_t at = sandbox ? sandbox->slot - EPHEMERAL_MAX + 1 : 0;

	for (; at < SANDBOXES_MAX; at = (at / 64 + 1) * 64) {
		const uint64_t left = restless[at / 64] >> at % 64;

		if (left)
			return &supervisor.sandboxes[EPHEMERAL_MAX + at +
						     (uint32_t)__builtin_ctzll(left)];
	}
	return NULL;
}

uint64_t sandbox_deadline_us(void)
{
	const struct sandbox *sandbox = rest_next(NULL);
	uint64_t earliest = rested_us;

	for (; sandbox; sandbox = rest_next(sandbox)) {
		if (sandbox->state != SANDBOX_FREE && sandbox->due_us < earliest)
			earliest = sandbox->due_us;
	}
	return earliest;
}

/* What a job is on does not rest. */
bool sandbox_is_working(void)
{
	const struct sandbox *sandbox = rest_next(NULL);

	while (sandbox && (sandbox->state == SANDBOX_FREE || sandbox->jobs == 0))
		sandbox = rest_next(sandbox);
	return sandbox != NULL;
}
