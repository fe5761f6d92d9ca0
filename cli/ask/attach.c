/* SPDX-License-Identifier: Apache-2.0 */
#include "ask/attach.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ask/enabled.h"
#include "common/fd.h"
#include "common/ipc/channel.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_start.h"
#include "common/ipc/limits_mode.h"
#include "common/log.h"
#include "common/text/format.h"
#include "frontend/profile_names.h"
#include "launcher/host/descriptors.h"
#include "launcher/host/pins.h"
#include "launcher/host/protected.h"
#include "launcher/start/config.h"
#include "launcher/start/kept_binds.h"
#include "launcher/start/opener.h"
#include "launcher/start/plan_binds.h"
#include "options/everywhere.h"

static struct binds binds;
static struct pins pins;
static struct trust trust = TRUST_NONE;

static bool has_binds(const struct attachment *attachment)
{
	return attachment->binds && attachment->binds->count > 0;
}

/* Expect a sandbox of the profile without its hosts. One that there is not is refused later. */
static void expect_narrowed(struct attachment *attachment, const struct plan *plan)
{
	static char copy[IPC_NAME_MAX]; /* the plan may be replaced */
	const char *name = profile_without_hosts(plan, attachment->expected_profile);

	if (!name)
		return;
	format_text(copy, sizeof(copy), "%s", name);
	attachment->expected_profile = copy;
}

/* Keep the binds for persistent sandboxes, whose profile is derived in every plan. A profile that
 * there is not is for the supervisor to refuse. 0, or the exit code. */
static int keep_binds(struct attachment *attachment, char text[LAUNCH_TEXT_MAX])
{
	struct config *config = &attachment->config;
	const struct plan *plan = config_plan(config);
	const char *said = attachment->kept_profile;
	char name[IPC_NAME_MAX];
	const struct kept_wish wish = { .asker = "--ro", .profile = name, .binds = &binds };
	int code;

	if (!said[0])
		said = plan_string(plan, plan_header(plan)->default_profile);
	if (!profile_named(plan, said))
		return 0;
	if (attachment->no_hosts)
		said = profile_without_hosts(plan, said);
	format_text(name, sizeof(name), "%s", said);
	code = plan_binds_put(config, name, &binds, text); /* is each place possible? */
	if (!code)
		code = kept_binds_add(&wish, attachment->kept_name, &attachment->is_kept_new, text);
	while (binds.count > 0) /* the plan's pins open them again */
		fd_close(&binds.list[--binds.count].fd);
	config_close(config);
	config->is_read = false;
	if (!code)
		code = config_read(config, text);
	if (!code && !profile_named(config_plan(config), attachment->kept_name))
		code = format_fail(MSP_EXIT_REFUSED, text, LAUNCH_TEXT_MAX,
				   "--ro: profile '%.100s' cannot show more to persistent "
				   "sandboxes: choose another, or destroy sandboxes with --ro",
				   name);
	return code;
}

/* Open the files of the host to be shown: by --ro, and by the operator's profiles. 0, or the exit
 * code. */
static int open_shown(struct attachment *attachment)
{
	char text[LAUNCH_TEXT_MAX];
	const struct plan *plan = launch_open_plan(&attachment->config, text);
	struct protected_set set;
	int code;

	if (!plan)
		return log_fail(MSP_EXIT_REFUSED, "%s", text);
	if (attachment->no_hosts && attachment->expected_profile)
		expect_narrowed(attachment, plan);
	if (has_binds(attachment)) {
		set = protected_set_of(plan);
		if (binds_open(attachment->binds, &set, &binds, text) != 0)
			return log_fail(MSP_EXIT_USAGE, "%s", text);
		code = attachment->kept_profile
			       ? keep_binds(attachment, text)
			       : plan_binds_put(&attachment->config, attachment->expected_profile,
						&binds, text);
		if (code)
			return log_fail(code, "%s", text);
	}
	/* Tell the servers that read requests of the plan. */
	if (!attachment->runs_nothing &&
	    trust_prepare(&trust, &attachment->images, &attachment->config,
			  attachment->expected_profile, text) != 0)
		return log_fail(MSP_EXIT_REFUSED, "%s", text);
	plan = config_plan(&attachment->config); /* it may be another one now */
	if (!attachment->runs_nothing)
		descriptors_warn(plan, attachment->expected_profile);
	if (pins_open(plan, attachment->expected_profile, &trust.pins, &pins, text) != 0 ||
	    plan_binds_pin(plan, &binds, &pins, text) != 0)
		return log_fail(MSP_EXIT_REFUSED, "%s", text);
	/* A persistent sandbox has its profile in a file that only the supervisor reads. */
	if (text[0] && !attachment->expected_profile && !attachment->runs_nothing)
		log_line("a profile cannot be used: %s", text);
	return 0;
}

/* Return whether the service may be used: options of a start cannot be asked of a running one. */
static bool may_use_service(const struct attachment *attachment)
{
	const struct attach_options *options = attachment->options;

	return !options->is_standalone && !options->run_as && !has_binds(attachment) &&
	       !config_is_named(&attachment->config);
}

static uint32_t wanted_limits(const struct attachment *attachment)
{
	return attachment->runs_nothing ? LIMITS_FALLBACK : attachment->options->limits;
}

/* Not before they are needed: what the service runs, we need not find. */
static int open_images(struct attachment *attachment)
{
	char text[LAUNCH_TEXT_MAX];

	if (attachment->images.supervisor >= 0)
		return 0;
	if (launch_open_images(&attachment->images, text) != 0)
		return log_fail(MSP_EXIT_SANDBOX, "%s", text);
	attachment->config.builtin = attachment->images.policy;
	return 0;
}

static int read_config(struct attachment *attachment)
{
	char text[LAUNCH_TEXT_MAX];
	int code = open_images(attachment);

	if (code)
		return code;
	code = config_read(&attachment->config, text);
	if (code)
		return log_fail(code, "%s", text);
	attachment->limits = config_limits(&attachment->config, wanted_limits(attachment));
	return 0;
}

/* It is known what comes of the service: 0, or the exit code. */
static int explain_service(const struct attachment *attachment)
{
	const struct service *service = &attachment->service;

	if (service->state == SERVICE_FULL || service->state == SERVICE_STOPPING)
		return log_fail(MSP_EXIT_AGAIN, "%s", service->text);
	/* That there is none is the usual case, unless somebody named it. */
	if (service->state != SERVICE_HERE &&
	    (service->state != SERVICE_ABSENT || attachment->options->socket))
		everywhere_note("%s; this command gets a supervisor of its own", service->text);
	else if (service->state == SERVICE_ABSENT && service_is_enabled())
		everywhere_note("msp.socket is enabled, but does not listen ('msp doctor' has the "
				"remedy); this command gets a supervisor of its own");
	return 0;
}

/* Ask it how it is; 0, or the exit code. */
static int ask_service(struct attachment *attachment)
{
	const uint32_t limits = wanted_limits(attachment);
	struct ipc_status status = { 0 };
	int code = 0;

	service_ask(&attachment->service, &status);
	/* The configuration's limits matter only for a service with weaker ones. */
	if (status.limits != LIMITS_CGROUP && limits == LIMITS_UNSAID)
		code = read_config(attachment);
	if (code)
		return code;
	attachment->limits = config_limits(&attachment->config, limits);
	service_check_limits(&attachment->service, &status, attachment->limits);
	return 0;
}

/* Go through the service if it answers and enforces enough; 0, or the exit code. */
static int join_service(struct attachment *attachment)
{
	int code = 0;

	attachment->service = service_connect(attachment->options->socket);
	if (attachment->is_piped)
		attachment->limits = wanted_limits(attachment); /* the service judges */
	else
		code = ask_service(attachment);
	return code ? code : explain_service(attachment);
}

bool attach_is_service(const struct attachment *attachment)
{
	return attachment->service.state == SERVICE_HERE;
}

/* The place of a supervisor of our own. Where nothing runs there is nothing to limit. Whether
 * weaker limits are accepted is not known yet. 0, or the exit code. */
static int find_place(struct attachment *attachment)
{
	const int code = open_images(attachment);

	if (code)
		return code;
	if (attachment->runs_nothing)
		budget_complete(&attachment->budget, -1);
	else
		attachment->is_unlimited =
			launch_enter_cgroup(&attachment->images, &attachment->budget,
					    &attachment->home, &attachment->unlimited) != 0;
	return 0;
}

int attach_prepare(struct attachment *attachment)
{
	char text[LAUNCH_TEXT_MAX];
	int code;

	attachment->null = launch_standard_fds();
	if (attachment->null < 0)
		return log_fail(MSP_EXIT_SANDBOX, "/dev/null cannot be opened");
	attachment->config.given = attachment->options->config;
	attachment->config.has_kept = attachment->is_persistent;
	code = geteuid() == 0 ? open_images(attachment) : 0; /* its account may be configured */
	if (code)
		return code;
	if (launch_drop_root(attachment->options->run_as, &attachment->config, &code, text) != 0)
		return log_fail(code, "%s", text);
	code = may_use_service(attachment) ? join_service(attachment) : 0;
	return code || attach_is_service(attachment) ? code : find_place(attachment);
}

/* Find what the supervisor starts from, while it already runs. 0, or the exit code. */
static int find_out(struct attachment *attachment)
{
	char text[LAUNCH_TEXT_MAX];
	int code = read_config(attachment);

	if (!code)
		code = open_shown(attachment);
	if (!code && attachment->is_unlimited && attachment->limits != LIMITS_FALLBACK) {
		launch_explain_cgroup(&attachment->unlimited, text);
		code = log_fail(MSP_EXIT_REFUSED, "%s", text);
	}
	return code;
}

/* The part of the launcher that stays opens directories for the supervisor: beside us, over a
 * channel of its own, since we go on as the frontend. 0 or -errno. */
static int send_opener(const struct launch *launch, struct attachment *attachment)
{
	const struct channel channel = { attachment->channel, IPC_LAUNCHER, IPC_SUPERVISOR,
					 IPC_SETUP };
	const struct ipc_supervisor_opener message = { .reserved = 0 };
	int ends[2];
	int error = channel_pair(ends);

	if (error)
		return error;
	attachment->opener = opener_start(launch, ends[0]);
	error = attachment->opener < 0 ? attachment->opener : 0;
	if (!error)
		error = channel_send(&channel, IPC_TYPE_supervisor_opener, &message, &ends[1], 0);
	fd_close_all(ends, 2);
	return error;
}

/* 0 or -errno. */
static int tell_supervisor(struct attachment *attachment)
{
	const struct launch launch = { .images = &attachment->images,
				       .config = &attachment->config,
				       .home = &attachment->home,
				       .pins = &pins,
				       .budget = attachment->budget,
				       .frontend = FRONTEND_LAUNCHER,
				       .limits = wanted_limits(attachment),
				       .supervisor = attachment->launched.supervisor,
				       .expected_profile = attachment->expected_profile,
				       .trust = &trust,
				       .runs_nothing = attachment->runs_nothing };
	/* A later policy may need it, which only an opener reads. */
	int error = attachment->is_persistent ? trust_connect(&trust) : 0;

	if (!error && attachment->is_persistent)
		error = send_opener(&launch, attachment);
	return error ? error : launch_send(&launch, attachment->channel);
}

/* Its processes, which begin with what needs nothing else. 0 or -errno. */
static int start_supervisor(struct attachment *attachment, const sigset_t *mask)
{
	int ends[2];
	int error = channel_pair(ends);

	if (error)
		return error;
	/* A sandbox of an expected profile does not last. */
	error = launch_spawn(&attachment->images,
			     attachment->expected_profile ? -1
							  : launch_open_state(&attachment->images),
			     ends[1], attachment->null, mask, &attachment->launched);
	fd_close(&ends[1]);
	attachment->channel = ends[0];
	return error;
}

/* A supervisor that has ended already has said why; its exit code is found at the end. */
static int check_start(int error)
{
	if (!error || error == -EPIPE || error == -ECONNRESET)
		return 0;
	return log_fail(MSP_EXIT_SANDBOX, "the supervisor cannot be started: %s%s",
			errno_text(-error),
			error == -EACCES ? " (its file must be readable and executable for the "
					   "account that msp runs as)"
					 : "");
}

int attach_open(struct attachment *attachment, const sigset_t *mask)
{
	int code;

	if (attach_is_service(attachment)) {
		attachment->channel = attachment->service.fd;
		return 0;
	}
	code = check_start(start_supervisor(attachment, mask));
	if (!code)
		code = find_out(attachment);
	if (!code)
		code = check_start(tell_supervisor(attachment));
	if (code)
		(void)attach_close(attachment); /* the reason is known */
	return code;
}

/* A configuration may accept weaker limits where nobody said otherwise: then ask again. 0, or the
 * exit code. */
static int accept_weaker(struct attachment *attachment)
{
	int code;

	if (attachment->limits != LIMITS_UNSAID)
		return 0;
	code = read_config(attachment);
	if (!code && attachment->limits == LIMITS_FALLBACK)
		attachment->service = service_connect(attachment->options->socket);
	return code;
}

int attach_fall_back(struct attachment *attachment, const sigset_t *mask, uint32_t reason,
		     bool is_closed)
{
	int code = 0;

	service_leave_unwelcomed(&attachment->service, reason, is_closed);
	attachment->channel = -1; /* it was the same descriptor */
	if (attachment->service.state == SERVICE_WEAKER)
		code = accept_weaker(attachment);
	if (!code)
		code = explain_service(attachment);
	if (!code && !attach_is_service(attachment))
		code = find_place(attachment);
	return code ? code : attach_open(attachment, mask);
}

int attach_close(struct attachment *attachment)
{
	int status = 0;

	fd_close(&attachment->channel);
	/* The supervisor empties the cgroups that are given back here. */
	if (!attach_is_service(attachment) && attachment->launched.supervisor > 0)
		status = launch_await(&attachment->launched, attachment->is_persistent
								     ? LAUNCH_WORK_END_MS
								     : LAUNCH_END_MS);
	/* It ends with the supervisor. */
	while (attachment->opener > 0 && waitpid(attachment->opener, NULL, 0) < 0 && errno == EINTR)
		;
	if (attachment->home.directory >= 0)
		cgroup_leave(&attachment->home);
	trust_done(&trust);
	return status;
}
