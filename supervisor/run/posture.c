/* SPDX-License-Identifier: Apache-2.0 */
#include "run/posture.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>

#include "base/audit.h"
#include "common/ipc/ipc_init.h"
#include "common/ipc/ipc_posture.h"
#include "common/ipc/limits_mode.h"
#include "common/log.h"
#include "run/cgroup.h"
#include "run/sandbox.h"

static struct ipc_posture_full *posture_of(const struct execution *execution)
{
	return &supervisor.generations[execution->sandbox->generation]
			.postures[execution->sandbox->profile];
}

const struct ipc_posture_full *posture_default(void)
{
	return &supervisor.generations[supervisor.plan.slot].postures[supervisor.default_profile];
}

/* `answer` is to the act against the first of the open layers. */
static void log_open(const struct execution *execution, uint32_t open, int answer)
{
	const char *name = plan_string(sandbox_plan(execution->sandbox),
				       sandbox_profile(execution->sandbox)->name);

	for (uint32_t layer = 0; layer < POSTURE_COUNT; layer++) {
		if (!(open & POSTURE_BIT(layer)))
			continue;
		log_line("%s of profile %s: '%s' is open: %s was tried, and %s%s",
			 stage_text(STAGE_PROBE), name, posture_layer_name(layer),
			 posture_layer_act(layer),
			 answer ? "what refused it is not this layer: " : "succeeded",
			 answer ? errno_text(answer) : "");
		answer = 0;
	}
}

int posture_check_limits(const struct execution *execution)
{
	const struct plan_profile *profile = sandbox_profile(execution->sandbox);
	struct ipc_posture_full *posture = posture_of(execution);

	if (supervisor.limits == LIMITS_FALLBACK || execution->probe == PROBE_NONE ||
	    cgroup_check(execution->sandbox->slot, profile, &posture->controllers))
		return 0;
	log_open(execution, POSTURE_BIT(POSTURE_CGROUP), 0);
	state_end(MSP_EXIT_REFUSED);
	return -ECANCELED;
}

static void note_posture(const struct execution *execution, const struct ipc_posture_full *posture)
{
	const struct plan_profile *profile = sandbox_profile(execution->sandbox);

	AUDIT_NOTE(
		AUDIT_POSTURE,
		AUDIT_TEXT(profile, plan_string(sandbox_plan(execution->sandbox), profile->name)),
		AUDIT_TEXT(limits, posture->limits == LIMITS_CGROUP ? "cgroup" : "fallback"),
		AUDIT_NUMBER(controllers, posture->controllers),
		AUDIT_NUMBER(namespaces, posture->measured.namespaces),
		AUDIT_NUMBER(landlock_abi, posture->measured.landlock_abi),
		AUDIT_NUMBER(landlock_fs, posture->measured.landlock_fs),
		AUDIT_NUMBER(landlock_net, posture->measured.landlock_net),
		AUDIT_NUMBER(landlock_scopes, posture->measured.landlock_scopes),
		AUDIT_NUMBER(layers_closed, posture->measured.layers_closed),
		AUDIT_NUMBER(layers_untried, posture->measured.layers_untried),
		AUDIT_SHA256(filter_sha256, posture->filter_hash));
}

bool posture_take(struct execution *execution, const struct ipc_posture_measured *measured)
{
	const struct plan_profile *profile = sandbox_profile(execution->sandbox);
	struct ipc_posture_full *posture = posture_of(execution);
	const bool is_alone = execution->probe == PROBE_ALONE;
	const uint32_t cgroup = POSTURE_BIT(POSTURE_CGROUP);
	const uint32_t open =
		POSTURE_ALL & ~(measured->layers_closed | measured->layers_untried | cgroup);

	execution->probe = PROBE_NONE;
	if (open) {
		execution->frontend = NULL; /* our own end tells it */
		log_open(execution, open, (int)measured->error);
		state_end(MSP_EXIT_REFUSED);
		return false;
	}
	posture->is_measured = 1;
	posture->limits = supervisor.limits;
	posture->seccomp_mode = SECCOMP_MODE_FILTER;
	memcpy(posture->filter_hash, profile->filter_hash, sizeof(posture->filter_hash));
	posture->measured = *measured;
	*(supervisor.limits == LIMITS_FALLBACK ? &posture->measured.layers_untried
					       : &posture->measured.layers_closed) |= cgroup;
	note_posture(execution, posture);
	supervisor.is_probing &= !is_alone;
	return !is_alone;
}

void posture_fail(const struct execution *execution, uint32_t stage, uint32_t error)
{
	if (execution->probe != PROBE_ALONE)
		return;
	supervisor.is_probing = false;
	log_line(
		"a sandbox of the default profile cannot be set up: %s: %s; 'msp doctor' says what "
		"is missing",
		stage_text(stage), errno_text((int)error));
	state_end(MSP_EXIT_SANDBOX);
}

const struct ipc_profile_posture *posture_news(struct frontend *frontend, uint32_t generation,
					       uint32_t profile)
{
	static struct ipc_profile_posture news;
	const struct plan *plan = &supervisor.plan;
	const struct ipc_posture_full *full = &supervisor.generations[plan->slot].postures[profile];
	const uint64_t bit = 1ULL << profile;

	_Static_assert(PLAN_PROFILES_MAX <= 64, "a bit for each");
	if (!frontend || generation != plan->slot || !full->is_measured ||
	    (frontend->postures_told & bit))
		return NULL;
	frontend->postures_told |= bit;
	strncpy(news.profile, plan_string(plan, plan_profile(plan, profile)->name),
		sizeof(news.profile) - 1);
	news.posture = *full;
	return &news;
}

void posture_forget_told(void)
{
	FOR_EACH_FRONTEND (frontend)
		frontend->postures_told = 0;
}
