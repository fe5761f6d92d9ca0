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
	const struct plan *plan =
		machine->config && machine->config->is_read ? config_plan(machine->config) : NULL;
	struct tally tally = { .read = 0 };

	format_text(ret->tried, sizeof(ret->tried), "the files and variables of profiles' secrets");
	for (uint32_t i = 0; plan && i < plan_profile_count(plan); i++) {
		const struct plan_profile *profile = plan_profile(plan, i);

		for (uint32_t j = 0; j < profile->secret_count; j++)
			try_secret(profile, &plan_secrets(plan, profile)[j], &tally);
	}
	ret->status = tally.broken                  ? FINDING_MISSING
		      : tally.read + tally.commands ? FINDING_OK
						    : FINDING_SKIPPED;
	if (tally.broken)
		format_text(ret->happened, sizeof(ret->happened), "profile %.60s: %s",
			    plan_string(plan, tally.broken->name), tally.problem);
	else if (ret->status == FINDING_SKIPPED)
		format_text(ret->happened, sizeof(ret->happened), "no profile has secrets");
	else
		format_text(ret->happened, sizeof(ret->happened),
			    "%u have values; %u have a command, which 'msp secret check' runs",
			    tally.read, tally.commands);
}
