/* SPDX-License-Identifier: Apache-2.0
 *
 * The probe of everything together: a real sandbox of the profile that requests without a name get,
 * in which each layer is tried before its command runs.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_done.h"
#include "common/ipc/ipc_execution.h"
#include "common/ipc/ipc_posture.h"
#include "common/ipc/ipc_start.h"
#include "common/ipc/limits_mode.h"
#include "common/log.h"
#include "common/text/format.h"
#include "common/text/names.h"
#include "doctor/probes.h"
#include "frontend/posture_text.h"
#include "frontend/supervisor_client.h"
#include "launcher/host/budget.h"
#include "launcher/host/pins.h"

struct trial {
	struct ipc_posture_full posture;
	bool is_done;
	struct ipc_execution_done done;
};

static void on_welcome(void *context, const struct ipc_welcome *welcome, int plan)
{
	(void)context;
	(void)welcome;
	fd_close(&plan);
}

/* It neither reads nor writes. */
static void on_started(void *context, const struct ipc_execution_started *started, const int fds[3])
{
	int own[3] = { fds[0], fds[1], fds[2] };

	(void)context;
	(void)started;
	fd_close_all(own, 3);
}

static void on_posture(void *context, const struct ipc_profile_posture *posture)
{
	struct trial *trial = context;

	trial->posture = posture->posture;
}

static void on_done(void *context, const struct ipc_execution_done *done)
{
	struct trial *trial = context;

	trial->is_done = true;
	trial->done = *done;
}

/* Until it is done or the supervisor, which has a time limit for it, is gone. */
static void try_once(int channel, struct trial *trial)
{
	static const struct supervisor_handlers handlers = { .on_welcome = on_welcome,
							     .on_started = on_started,
							     .on_done = on_done,
							     .on_posture = on_posture };
	static struct ipc_execution_start start; /* too large for the stack */
	struct supervisor_client client;
	int result;

	start.request = 1;
	memcpy(start.argv, "true", sizeof("true"));
	start.argv_size = sizeof("true");
	supervisor_client_init(&client, channel, &handlers, trial);
	result = supervisor_hello(&client, LIMITS_FALLBACK) ||
				 supervisor_request(&client, execution_start, &start, -1)
			 ? 0
			 : 1;
	while (result == 1 && !trial->is_done)
		result = supervisor_receive(&client);
	supervisor_client_done(&client);
}

/* The supervisor's status as wait(2) gives it, or -errno. */
static int try_sandbox(const struct images *images, struct launch *launch, struct trial *trial)
{
	const int null = launch_standard_fds();
	sigset_t mask;
	struct launched launched;
	int ends[2];
	int error = null < 0 ? null : channel_pair(ends);

	if (error)
		return error;
	(void)sigprocmask(SIG_SETMASK, NULL, &mask); /* only asks */
	error = launch_spawn(images, -1, ends[1], null, &mask, &launched);
	fd_close(&ends[1]);
	if (!error) {
		(void)launch_send(launch, ends[0]); /* if it is gone, its status says why */
		try_once(ends[0], trial);
	}
	fd_close(&ends[0]);
	return error ? error : launch_await(&launched, LAUNCH_END_MS);
}

/* Name the step at which the start failed, and its remedy. */
static void describe_stage(const struct ipc_execution_done *done, struct finding *ret)
{
	static const struct {
		uint32_t stage;
		const char *fix;
	} fixes[] = {
		{ STAGE_NAMESPACES, FIX_CONTAINER }, { STAGE_IDENTITY, FIX_CONTAINER },
		{ STAGE_NETWORK, FIX_CONTAINER },    { STAGE_HOSTNAME, FIX_CONTAINER },
		{ STAGE_MOUNTS, FIX_CONTAINER },     { STAGE_CLONE, FIX_CONTAINER },
		{ STAGE_LANDLOCK, FIX_KERNEL },      { STAGE_RESTRICT, FIX_KERNEL },
		{ STAGE_SECCOMP, FIX_KERNEL },       { STAGE_LISTENER, FIX_KERNEL },
	};

	probe_report(ret, FINDING_MISSING, "%s: %s", stage_text(done->stage),
		     errno_text((int)done->error));
	for (size_t i = 0; i < sizeof(fixes) / sizeof(fixes[0]); i++) {
		if (fixes[i].stage == done->stage)
			probe_set_fix(ret, "%s", fixes[i].fix);
	}
}

static void judge_trial(const struct trial *trial, int status, struct finding *ret)
{
	struct buffer text = { 0 };

	if (status < 0) {
		probe_report(ret, FINDING_MISSING, "the supervisor cannot be started: %s",
			     errno_text(-status));
	} else if (trial->is_done && trial->posture.is_measured) {
		posture_describe(&trial->posture, &text);
		probe_report(ret, FINDING_OK, "%s", text.bytes);
		buffer_done(&text);
	} else if (trial->is_done && trial->done.error != 0) {
		describe_stage(&trial->done, ret);
	} else {
		probe_report(ret, FINDING_MISSING,
			     "msp refuses to run it, and says why above (the supervisor ended with "
			     "code %d)",
			     WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	}
}

void probe_posture(const struct machine *machine, struct finding *ret)
{
	struct cgroup_home home = { .parent = -1, .own = -1, .directory = -1 };
	const bool has_cgroup = machine->cgroup.problem == CGROUP_USABLE || machine->has_scope;
	const uint32_t limits = has_cgroup ? LIMITS_CGROUP : LIMITS_FALLBACK;
	static struct pins pins;
	static struct trust trust = TRUST_NONE;
	const struct plan *plan = config_plan(machine->config);
	struct launch launch = { .images = &machine->images,
				 .config = machine->config,
				 .home = &home,
				 .pins = &pins,
				 .budget = { .memory_bytes = BUDGET_MEMORY_DEFAULT },
				 .frontend = FRONTEND_LAUNCHER,
				 .limits = limits,
				 .trust = &trust };
	struct trial trial = { .is_done = false };
	struct no_cgroup unlimited;
	char text[LAUNCH_TEXT_MAX];

	format_text(ret->tried, sizeof(ret->tried),
		    "one act against each layer, in a sandbox of the default profile%s",
		    has_cgroup ? "" : " with limits: fallback");
	if (machine->images.supervisor < 0 || !plan) {
		probe_report(ret, FINDING_SKIPPED,
			     "not all of msp's files, or no usable configuration, are there");
		return;
	}
	if (trust_prepare(&trust, &machine->images, machine->config, "", text) != 0 ||
	    pins_open(config_plan(machine->config), "", &trust.pins, &pins, text) != 0) {
		probe_report(ret, FINDING_MISSING, "%s", text);
		return;
	}
	if (launch_enter_cgroup(&machine->images, &launch.budget, &home, &unlimited) != 0 &&
	    limits != LIMITS_FALLBACK) {
		launch_explain_cgroup(&unlimited, text);
		probe_report(ret, FINDING_MISSING, "%s", text);
		probe_set_fix(ret, "mend the cgroup as it says");
		return;
	}
	judge_trial(&trial, try_sandbox(&machine->images, &launch, &trial), ret);
	pins_close(&pins);
	trust_done(&trust);
	if (home.directory >= 0)
		cgroup_leave(&home);
}
