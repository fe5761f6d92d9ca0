/* SPDX-License-Identifier: Apache-2.0 */
#include "run/persistent_rest.h"

#include <string.h>

#include "run/sandbox.h"

static bool restless[SANDBOXES_MAX];
static uint64_t rested_us = UINT64_MAX; /* none that rests is due before */

void sandbox_stir(const struct sandbox *sandbox)
{
	restless[sandbox->slot - EPHEMERAL_MAX] = true;
}

void rest_begin(const struct sandbox *sandbox)
{
	restless[sandbox->slot - EPHEMERAL_MAX] = false;
	if (supervisor.sandboxes_used <= EPHEMERAL_MAX)
		rested_us = UINT64_MAX;
	else if (sandbox->state != SANDBOX_FREE && sandbox->persistent.due_us < rested_us)
		rested_us = sandbox->persistent.due_us;
}

void rest_end_due(uint64_t now)
{
	if (rested_us > now)
		return;
	FOR_EACH_PERSISTENT (sandbox) {
		if (sandbox->state != SANDBOX_FREE)
			sandbox_stir(sandbox);
	}
	rested_us = UINT64_MAX;
}

struct sandbox *rest_next(const struct sandbox *sandbox)
{
	const uint32_t at = sandbox ? sandbox->slot - EPHEMERAL_MAX + 1 : 0;
	const bool *next = memchr(restless + at, 1, SANDBOXES_MAX - at);

	return next ? &supervisor.sandboxes[EPHEMERAL_MAX + (next - restless)] : NULL;
}

uint64_t sandbox_deadline_us(void)
{
	const struct sandbox *sandbox = rest_next(NULL);
	uint64_t earliest = rested_us;

	for (; sandbox; sandbox = rest_next(sandbox)) {
		if (sandbox->state != SANDBOX_FREE && sandbox->persistent.due_us < earliest)
			earliest = sandbox->persistent.due_us;
	}
	return earliest;
}

/* A sandbox with a job does not rest, so this list has all of them. */
bool sandbox_is_working(void)
{
	const struct sandbox *sandbox = rest_next(NULL);

	while (sandbox && (sandbox->state == SANDBOX_FREE || sandbox->persistent.jobs == 0))
		sandbox = rest_next(sandbox);
	return sandbox != NULL;
}
