/* SPDX-License-Identifier: Apache-2.0
 *
 * The probe of the secrets of profiles: do their sources have values? Commands are not run.
 */
#include "common/fd.h"
#include "common/format.h"
#include "doctor/probes.h"
#include "launcher/start/secret.h"

/* The secrets of all profiles. */
struct tally {
	uint32_t read, commands;
	const struct plan_profile *broken; /* the first profile with a secret that is not read */
	char problem[SECRET_TEXT_MAX];
};

static void try_secret(const struct plan_profile *profile, const struct plan_secret *secret,
		       struct tally *tally)
{
	char problem[SECRET_TEXT_MAX];
	size_t size;
	int value;

	if (secret->source_kind == PLAN_SECRET_COMMAND) {
		tally->commands++;
		return;
	}
	value = secret_read(secret, &size, problem);
	if (value >= 0) {
		tally->read++;
	} else if (!tally->broken) {
		tally->broken = profile;
		format_text(tally->problem, sizeof(tally->problem), "%s", problem);
	}
	fd_close(&value);
}

void probe_secrets(const struct machine *machine, struct finding *ret)
{
	const struct plan *plan = probe_plan(machine);
	struct tally tally = { .read = 0 };

	for (uint32_t i = 0; plan && i < plan_profile_count(plan); i++) {
		const struct plan_profile *profile = plan_profile(plan, i);

		for (uint32_t j = 0; j < profile->secret_count; j++)
			try_secret(profile, &plan_secrets(plan, profile)[j], &tally);
	}
	if (tally.broken)
		probe_report(ret, FINDING_MISSING, "profile %.60s: %s",
			     plan_string(plan, tally.broken->name), tally.problem);
	else if (tally.read + tally.commands == 0)
		probe_report(ret, FINDING_SKIPPED, "no profile has secrets");
	else
		probe_report(ret, FINDING_OK,
			     "%u have values; %u have a command, which 'msp secret check' runs",
			     tally.read, tally.commands);
}
