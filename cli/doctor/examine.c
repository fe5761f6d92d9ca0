/* SPDX-License-Identifier: Apache-2.0 */
#include "doctor/examine.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/ipc/limits_mode.h"
#include "common/text/format.h"
#include "launcher/host/state_place.h"

/* The remedy of a probe that fails because another one does. */
#define FIX_CAUSE "mend what is missing above first"

/* The kernel's overflow id: nobody's, and never root's. */
#define NOBODY 65534

/* Without an account the probes must still not run as root: it would pass all of them. */
static int leave_root(struct machine *machine, const char *run_as)
{
	const char *name = launch_choose_account(run_as, machine->config);

	machine->was_root = true;
	machine->has_account = account_find(name, &machine->account) == 0 &&
			       machine->account.uid != 0 && machine->account.gid != 0;
	if (machine->has_account) {
		state_place_prepare(machine->account.uid, machine->account.gid,
				    machine->account.home);
		return account_drop(machine->account.uid, machine->account.gid,
				    machine->account.name);
	}
	format_text(machine->account.name, sizeof(machine->account.name), "%s", name);
	machine->account.uid = NOBODY;
	machine->account.gid = NOBODY;
	return account_drop(NOBODY, NOBODY, NULL);
}

int doctor_examine(const char *given, const char *run_as, struct machine *machine)
{
	static struct config config = CONFIG_UNREAD;
	char *slash;
	int error = 0;

	machine->images = (struct images)IMAGES_NONE;
	if (launch_own_path(machine->own_folder)) {
		slash = strrchr(machine->own_folder, '/');
		*slash = '\0';
	}
	(void)launch_open_images(&machine->images, machine->images_text); /* a probe reports it */
	if (account_is_setuid())
		return -EPERM;
	config.given = given;
	config.builtin = machine->images.policy;
	machine->config = &config;
	(void)config_read(&config, machine->config_text); /* the text of it */
	if (geteuid() == 0)
		error = leave_root(machine, run_as);
	if (!error)
		machine->cgroup = cgroup_examine();
	machine->has_scope =
		!error && scope_can_help(machine->cgroup.problem) &&
		scope_examine(machine->images.scope, &machine->scope, machine->scope_text) == 0;
	return error;
}

void doctor_begin_verdict(const struct machine *machine, uint32_t limits,
			  struct doctor_verdict *ret)
{
	*ret = (struct doctor_verdict){
		.accepts_fallback = config_limits(machine->config, limits) == LIMITS_FALLBACK,
		.is_fit = true,
		.is_fit_fallback = true,
	};
}

static bool is_refusal(const struct doctor_verdict *all, const struct probe *probe,
		       const struct finding *finding)
{
	return finding->status == FINDING_MISSING &&
	       (probe->level == PROBE_REQUIRED ||
		(probe->level == PROBE_LIMITS && !all->accepts_fallback));
}

const char *doctor_fix(const struct probe *probe, const struct finding *finding)
{
	return finding->fix[0] ? finding->fix : probe->fix;
}

/* Probes that fail when another one does. A lack of cgroups does not stop a start of the posture,
 * which is then tried without. */
static const struct {
	const char *name;
	const char *cause;
} consequences[] = {
	{ "overlay", "user-namespace " }, { "persistent", "user-namespace " },
	{ "persistent", "overlay " },     { "posture", "architecture " },
	{ "posture", "landlock " },       { "posture", "user-namespace " },
	{ "posture", "audit " },          { "posture", "files " },
	{ "posture", "configuration " },  { "posture", "default-profile " },
};

bool doctor_is_explained(const struct probe *probe, const char *text)
{
	char cause[64];

	for (size_t i = 0; i < sizeof(consequences) / sizeof(consequences[0]); i++) {
		format_text(cause, sizeof(cause), "Missing: %s", consequences[i].cause);
		if (strcmp(consequences[i].name, probe->name) == 0 && strstr(text, cause))
			return true;
	}
	return false;
}

void doctor_note(struct doctor_verdict *all, const struct probe *probe, struct finding *finding)
{
	if (is_refusal(all, probe, finding))
		all->is_fit = false;
	if (finding->status != FINDING_MISSING)
		return;
	if (probe->level == PROBE_REQUIRED)
		all->is_fit_fallback = false;
	all->is_weaker = all->is_weaker || probe->level == PROBE_LIMITS;
	if (!finding->fix[0] && doctor_is_explained(probe, all->missing))
		format_text(finding->fix, sizeof(finding->fix), "%s", FIX_CAUSE);
	format_append(all->missing, sizeof(all->missing), "Missing: %s \n", probe->name);
}

static void explain_probe(const struct doctor_verdict *all, const struct machine *machine,
			  const struct probe *probe, char *text, size_t room)
{
	struct finding finding;

	if (doctor_is_explained(probe, text))
		return;
	probe_run(probe, machine, &finding);
	if (is_refusal(all, probe, &finding))
		format_append(text, room, "Missing: %s (%s). %s\nFix: %s\n", probe->name,
			      probe->why, finding.happened, doctor_fix(probe, &finding));
}

bool doctor_explain(const struct machine *machine, uint32_t limits, char *text, size_t room)
{
	struct doctor_verdict all;

	doctor_begin_verdict(machine, limits, &all);
	text[0] = '\0';
	for (size_t i = 0; i < probe_count; i++) {
		if (probes[i].level != PROBE_INFORMATION)
			explain_probe(&all, machine, &probes[i], text, room);
	}
	return text[0] == '\0';
}

bool doctor_explain_kernel(struct config *config, char *text, size_t room)
{
	static const char *const names[] = { "landlock", "user-namespace" };
	static const struct doctor_verdict nothing_known;
	static struct machine machine;

	machine.config = config;
	text[0] = '\0';
	for (size_t i = 0; i < probe_count; i++) {
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
			if (strcmp(probes[i].name, names[k]) == 0)
				explain_probe(&nothing_known, &machine, &probes[i], text, room);
		}
	}
	return text[0] == '\0';
}
