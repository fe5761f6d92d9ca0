/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/start/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/channel.h"
#include "common/ipc/ipc_audit.h"
#include "common/ipc/ipc_start.h"
#include "common/ipc/limits_mode.h"
#include "common/kernel.h"
#include "common/log.h"
#include "common/records/counters.h"
#include "common/text/format.h"
#include "frontend/profile_names.h"
#include "launcher/host/account.h"
#include "launcher/host/no_network.h"
#include "launcher/host/scope.h"
#include "launcher/host/state_place.h"
#include "launcher/start/config.h"

#define PROGRAM_PATH_MAX (IPC_PATH_MAX + 32)

int launch_standard_fds(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
		if (fd < 0)
			return -errno;
	} while (fd <= STDERR_FILENO);
	return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? fd : -errno;
}

bool launch_own_path(char ret[IPC_PATH_MAX])
{
	const ssize_t size = readlink("/proc/self/exe", ret, IPC_PATH_MAX - 1);

	if (size <= 0)
		return false;
	ret[size] = '\0';
	return ret[0] == '/';
}

static const struct {
	const char *name;
	size_t offset;
	bool is_optional;
} image_files[] = {
	{ "msp-supervisor", offsetof(struct images, supervisor), false },
	{ "msp-child-init", offsetof(struct images, child_init), false },
	{ "msp-broker", offsetof(struct images, broker), false },
	{ "msp-audit", offsetof(struct images, audit), false },
	{ "msp-opener", offsetof(struct images, opener), false },
	{ "builtin.policy", offsetof(struct images, policy), false },
	{ "msp-scope", offsetof(struct images, scope), true }, /* one of several ways to a cgroup */
	/* Without these two no sandbox is persistent. */
	{ "msp-store", offsetof(struct images, store), true },
	{ "msp-layers", offsetof(struct images, layers), true },
	{ "msp-file", offsetof(struct images, file), true },      /* without it no file tools */
	{ "msp-git-config", offsetof(struct images, git), true }, /* nor a directory of the host */
	/* Without these no profile has hosts. */
	{ "msp-cable", offsetof(struct images, cable), true },
	{ "msp-egress", offsetof(struct images, egress), true },
	{ "msp-dial", offsetof(struct images, dial), true },
	{ "msp-http", offsetof(struct images, http), true },
};

/* The largest sealed copy, a plan of many profiles, has 1 MiB at most. */
#define FILE_BYTES_LEAST (1ULL << 20)

/* The folder that the first of them is in. */
static int open_folder(const char *own_folder, char *ret_path, size_t room)
{
	static const char *const places[] = { "", "/../libexec/msp" };

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int folder;

		format_text(ret_path, room, "%s%s", own_folder, places[i]);
		folder = open(ret_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (folder >= 0 && faccessat(folder, image_files[0].name, F_OK, 0) == 0)
			return folder;
		fd_close(&folder);
	}
	return -1;
}

/* The folder that msp's programs are in, or -1 with a line in `text`. */
static int open_programs(char path[PROGRAM_PATH_MAX], char text[LAUNCH_TEXT_MAX])
{
	char own[IPC_PATH_MAX];
	char *slash;
	int folder;

	if (!launch_own_path(own))
		return format_fail(
			-1, text, LAUNCH_TEXT_MAX,
			"the path of msp itself cannot be read from /proc/self/exe: %s. Is /proc "
			"mounted?",
			errno_text(errno));
	slash = strrchr(own, '/');
	*slash = '\0';
	folder = open_folder(own, path, PROGRAM_PATH_MAX);
	if (folder < 0)
		format_text(text, LAUNCH_TEXT_MAX,
			    "msp-supervisor is neither in %.500s nor in %.500s/../libexec/msp: "
			    "install all of msp's programs together",
			    own, own);
	return folder;
}

static void explain_image(const char *path, const char *name, char text[LAUNCH_TEXT_MAX])
{
	format_text(text, LAUNCH_TEXT_MAX,
		    "%.900s/%s cannot be opened: %s. Install all of msp's programs together", path,
		    name, errno_text(errno));
}

/* Return whether the caller's limit for files leaves room for the sealed copies of programs and
 * plans, which are files to the kernel. */
static bool has_room_for_files(char text[LAUNCH_TEXT_MAX])
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= FILE_BYTES_LEAST)
		return true;
	return format_fail(
		false, text, LAUNCH_TEXT_MAX,
		"the limit for the size of files is %llu bytes here, and msp needs %llu: raise "
		"it (ulimit -f)",
		(unsigned long long)limit.rlim_cur, FILE_BYTES_LEAST);
}

int launch_open_images(struct images *ret, char text[LAUNCH_TEXT_MAX])
{
	struct images images = IMAGES_NONE;
	char path[PROGRAM_PATH_MAX];
	int folder FD_OWNED = has_room_for_files(text) ? open_programs(path, text) : -1;

	if (folder < 0)
		return -1;
	for (size_t i = 0; i < sizeof(image_files) / sizeof(image_files[0]); i++) {
		const int fd = openat(folder, image_files[i].name, O_RDONLY | O_CLOEXEC);

		if (fd < 0 && !image_files[i].is_optional) {
			explain_image(path, image_files[i].name, text);
			launch_close_images(&images);
			return -1;
		}
		memcpy((char *)&images + image_files[i].offset, &fd, sizeof(fd));
	}
	*ret = images;
	return 0;
}

int launch_open_program(const char *name, char text[LAUNCH_TEXT_MAX])
{
	char path[PROGRAM_PATH_MAX];
	int folder FD_OWNED = open_programs(path, text);
	const int fd = folder < 0 ? -1 : openat(folder, name, O_RDONLY | O_CLOEXEC);

	if (folder >= 0 && fd < 0)
		explain_image(path, name, text);
	return fd;
}

void launch_close_images(struct images *images)
{
	for (size_t i = 0; i < sizeof(image_files) / sizeof(image_files[0]); i++) {
		char *const at = (char *)images + image_files[i].offset;
		int fd;

		memcpy(&fd, at, sizeof(fd));
		fd_close(&fd);
		memcpy(at, &fd, sizeof(fd));
	}
}

const struct plan *launch_open_plan(struct config *config, char text[LAUNCH_TEXT_MAX])
{
	const struct plan *plan = config_plan(config);

	if (!plan)
		format_text(text, LAUNCH_TEXT_MAX,
			    "builtin.policy is not of this version: install all of msp's programs "
			    "together");
	return plan;
}

const char *launch_choose_account(const char *run_as, struct config *config)
{
	const char *wish = getenv("MSP_RUN_AS");

	if (!run_as && wish && *wish)
		run_as = wish;
	if (!run_as)
		run_as = config_run_as(config);
	return run_as ? run_as : ACCOUNT_DEFAULT;
}

int launch_drop_root(const char *run_as, struct config *config, int *ret_exit,
		     char text[LAUNCH_TEXT_MAX])
{
	*ret_exit = MSP_EXIT_REFUSED;
	if (account_is_setuid())
		return format_fail(
			-1, text, LAUNCH_TEXT_MAX,
			"the real and effective users differ: msp must not be setuid or setgid; "
			"chmod ug-s the program");
	if (geteuid() == 0) {
		*ret_exit = config_read(config, text);
		if (*ret_exit ||
		    account_become(launch_choose_account(run_as, config), ret_exit, text) != 0)
			return -1;
		config_become(config);
		return 0;
	}
	if (!run_as)
		return 0;
	*ret_exit = MSP_EXIT_USAGE;
	return format_fail(
		-1, text, LAUNCH_TEXT_MAX,
		"--run-as=%s is refused: only root can become another account; leave it out",
		run_as);
}

int launch_become_account(const char *given, const char *run_as)
{
	struct config config = CONFIG_UNREAD;
	char text[LAUNCH_TEXT_MAX];
	int code;

	config.given = given;
	if (launch_standard_fds() < 0)
		return log_fail(MSP_EXIT_SOFTWARE, "/dev/null cannot be opened");
	return launch_drop_root(run_as, &config, &code, text) == 0 ? 0 : log_fail(code, "%s", text);
}

void launch_explain_cgroup(const struct no_cgroup *why, char text[LAUNCH_TEXT_MAX])
{
	char what[CGROUP_TEXT_MAX];
	char fix[CGROUP_TEXT_MAX];

	cgroup_describe(&why->state, what);
	(void)cgroup_describe_fix(&why->state, fix); /* only the text is shown */
	format_text(text, LAUNCH_TEXT_MAX,
		    "the policy requires cgroup v2 with cpu, memory and pids: %.400s. ", what);
	if (why->scope[0])
		format_append(text, LAUNCH_TEXT_MAX, "No scope of its own either: %.300s. ",
			      why->scope);
	format_append(text, LAUNCH_TEXT_MAX, "To fix it, %s", fix);
}

int launch_enter_cgroup(const struct images *images, struct budget *budget,
			struct cgroup_home *home, struct no_cgroup *ret)
{
	struct cgroup_state *state = &ret->state;

	*home = (struct cgroup_home){ .parent = -1, .own = -1, .directory = -1 };
	ret->scope[0] = '\0';
	*state = cgroup_examine();
	if (scope_can_help(state->problem) && scope_enter(images->scope, ret->scope) == 0) {
		fd_close(&state->directory);
		*state = cgroup_examine();
	}
	if (state->problem == CGROUP_USABLE) {
		const struct budget wish = *budget;
		int error;

		budget_complete(budget, state->directory);
		error = cgroup_enter(state, budget->memory_bytes, home);
		if (!error)
			return 0;
		*budget = wish;
		state->problem = CGROUP_FAILED;
		state->error = -error;
	}
	fd_close(&state->directory);
	budget_complete(budget, -1);
	return -1;
}

static int send_start(const struct launch *launch, const struct channel *channel)
{
	struct ipc_supervisor_start start = { .frontend = launch->frontend,
					      .limits = launch->limits == LIMITS_UNSAID
								? LIMITS_CGROUP
								: launch->limits,
					      .executions = launch->budget.executions,
					      .memory_bytes = launch->budget.memory_bytes };
	memcpy(start.schema, ipc_schema_hash, sizeof(start.schema));
	if (launch->default_profile)
		format_text(start.default_profile, sizeof(start.default_profile), "%s",
			    launch->default_profile);
	return channel_send(channel, IPC_TYPE_supervisor_start, &start, &launch->config->plan_fd,
			    0);
}

int launch_send_pins(const struct pins *pins, const struct channel *channel)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < pins->count; i++) {
		const struct pin *pin = &pins->list[i];
		const struct ipc_supervisor_pin message = { pin->profile, pin->mount };

		error = channel_send(channel, IPC_TYPE_supervisor_pin, &message, &pin->fd, 0);
	}
	return error;
}

static int send_sockets(const struct service_sockets *sockets, const struct channel *channel)
{
	const struct ipc_supervisor_listen listen = { .is_activated = sockets->is_activated };
	const struct ipc_supervisor_notify notify = { .watchdog_us = sockets->watchdog_us };
	int error =
		channel_send(channel, IPC_TYPE_supervisor_listen, &listen, &sockets->listener, 0);

	if (!error && sockets->notify >= 0)
		error = channel_send(channel, IPC_TYPE_supervisor_notify, &notify, &sockets->notify,
				     0);
	return error;
}

/* Whether it must be is not ours to say. */
static int send_audit(const struct images *images, const struct channel *channel,
		      struct launch_gateway *gateway)
{
	static struct ipc_supervisor_unaudited missing;
	static struct ipc_supervisor_audit audit;

	gateway->log = state_place_enter(STATE_PLACE_AUDIT, true, audit.path, missing.problem);
	memcpy(gateway->path, audit.path, sizeof(gateway->path));
	if (gateway->log < 0)
		return channel_send(channel, IPC_TYPE_supervisor_unaudited, &missing, NULL, 0);
	gateway->audit = launch_steward(LAUNCH_AUDIT, images->audit, &gateway->log, 1);
	if (gateway->audit < 0)
		return gateway->audit;
	return channel_send(channel, IPC_TYPE_supervisor_audit, &audit, &gateway->audit, 0);
}

/* The state directory of this start, or why there is none. */
static struct {
	bool is_asked;
	int directory;
	struct ipc_supervisor_stateless missing;
} state = { .directory = -1 };

int launch_open_state(const struct images *images)
{
	static char path[IPC_PATH_MAX];
	char *problem = state.missing.problem;

	if (state.is_asked)
		return state.directory;
	state.is_asked = true;
	if (images->layers < 0 || images->store < 0)
		format_text(problem, sizeof(state.missing.problem),
			    "the program %s is missing: install all of msp's programs together",
			    images->layers < 0 ? "msp-layers" : "msp-store");
	else
		state.directory = state_place_enter(STATE_PLACE_ALL, true, path, problem);
	return state.directory;
}

/* Send a channel to msp-store, which has the state directory. Without one no sandbox is persistent,
 * and everything else works. */
static int send_state(const struct images *images, const struct channel *channel)
{
	static const struct ipc_supervisor_state message;
	static const struct ipc_supervisor_file file;
	int store, error;

	if (launch_open_state(images) < 0)
		return channel_send(channel, IPC_TYPE_supervisor_stateless, &state.missing, NULL,
				    0);
	store = launch_steward(LAUNCH_STORE, images->store, &state.directory, 1);
	fd_close(&state.directory);
	state.is_asked = false;
	if (store < 0)
		return store;
	error = channel_send(channel, IPC_TYPE_supervisor_state, &message, &store, 0);
	fd_close(&store);
	if (!error && images->file >= 0)
		error = channel_send(channel, IPC_TYPE_supervisor_file, &file, &images->file, 0);
	return error;
}

static bool has_gateway(const struct images *images, const struct launch_gateway *gateway)
{
	return images->cable >= 0 && images->egress >= 0 && images->dial >= 0 &&
	       images->http >= 0 && gateway->log >= 0;
}

/* Without requests that are read, msp-cable gets a channel whose other end is closed. */
static int find_trust(struct launch_gateway *gateway)
{
	int ends[2] = { -1, gateway->trust };
	const int error = gateway->trust >= 0 ? 0 : channel_pair(ends);

	fd_close(&ends[0]);
	gateway->trust = ends[1];
	return error;
}

/* Start the msp-audit that the gateway's records go to. Return its channel, or -errno. */
static int start_records(const struct images *images, const struct launch_gateway *gateway)
{
	static struct ipc_audit_start start;
	struct channel channel = { -1, IPC_SUPERVISOR, IPC_AUDIT, IPC_SETUP };
	int error;

	channel.fd = launch_steward(LAUNCH_RECORDS, images->audit, &gateway->log, 1);
	if (channel.fd < 0)
		return channel.fd;
	memcpy(start.schema, ipc_schema_hash, sizeof(start.schema));
	memcpy(start.path, gateway->path, sizeof(start.path));
	start.pid = (uint32_t)gateway->supervisor;
	error = channel_send(&channel, IPC_TYPE_audit_start, &start, NULL, 0);
	return fd_unless(error, channel.fd);
}

/* Make the counters of refusals. Return a memory file, or -errno. */
static int make_counters(void)
{
	int fd = memfd_create("msp-counters", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const int error = fd < 0 || ftruncate(fd, GATEWAY_COUNTERS_SIZE) != 0 ||
					  fcntl(fd, F_ADD_SEALS,
						F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0
				  ? -errno
				  : 0;

	return fd_unless(error, fd);
}

int launch_send_gateway(const struct images *images, struct launch_gateway *gateway,
			const struct channel *channel)
{
	const struct ipc_supervisor_gateway message = { no_network_is_here() };
	int counters FD_OWNED = -1, records FD_OWNED = -1, cable FD_OWNED = -1;
	int error;

	fd_close(&gateway->pidfd);
	if (!has_gateway(images, gateway))
		return 0;
	error = find_trust(gateway);
	if (error)
		return error;
	if (message.is_offline)
		log_line("there is no network here, so hosts cannot be reached; if this is the "
			 "service, set PrivateNetwork=no (systemctl --user edit msp.service)");
	records = start_records(images, gateway);
	counters = records < 0 ? records : make_counters();
	cable = counters < 0 ? counters
			     : launch_steward(LAUNCH_GATEWAY, images->cable,
					      (const int[LAUNCH_STEWARD_FDS_MAX]){
						      images->egress, images->dial, images->http,
						      gateway->trust, records, counters },
					      LAUNCH_STEWARD_FDS_MAX);
	fd_close(&gateway->trust);
	gateway->pidfd = cable < 0 ? cable : launch_steward_pidfd(LAUNCH_GATEWAY);
	return gateway->pidfd < 0 ? gateway->pidfd
				  : channel_send(channel, IPC_TYPE_supervisor_gateway, &message,
						 (const int[]){ cable, counters }, 0);
}

int launch_send(const struct launch *launch, int channel_fd)
{
	const struct channel channel = {
		.fd = channel_fd, .self = IPC_LAUNCHER, .peer = IPC_SUPERVISOR, .phase = IPC_SETUP
	};
	const struct ipc_supervisor_cgroup cgroup = { .has_io = launch->home->has_io };
	struct ipc_supervisor_run run = {
		.pins = launch->pins ? launch->pins->count : 0,
		.is_expected = launch->expected_profile != NULL,
	};
	struct launch_gateway own = LAUNCH_GATEWAY_NONE;
	struct launch_gateway *gateway = launch->gateway ? launch->gateway : &own;
	const struct plan *plan = config_plan(launch->config);
	int error = send_start(launch, &channel);

	gateway->supervisor = launch->supervisor ? launch->supervisor : getpid();
	if (launch->trust)
		gateway->trust = fd_take(&launch->trust->cable);
	if (launch->expected_profile)
		format_text(run.profile, sizeof(run.profile), "%s", launch->expected_profile);
	if (!error)
		error = send_audit(launch->images, &channel, gateway);
	if (!error && !launch->expected_profile) /* its sandbox is ephemeral */
		error = send_state(launch->images, &channel);
	if (!error && plan && !launch->runs_nothing &&
	    profiles_have_hosts(plan, launch->expected_profile))
		error = launch_send_gateway(launch->images, gateway, &channel);
	if (!error && launch->home->directory >= 0)
		error = channel_send(&channel, IPC_TYPE_supervisor_cgroup, &cgroup,
				     &launch->home->directory, 0);
	if (!error && launch->pins)
		error = launch_send_pins(launch->pins, &channel);
	if (!error && launch->sockets)
		error = send_sockets(launch->sockets, &channel);
	if (!error)
		error = channel_send(&channel, IPC_TYPE_supervisor_run, &run, NULL, 0);
	fd_close_all((int[]){ own.audit, own.log, own.pidfd }, 3);
	fd_close(&gateway->trust);
	return error;
}
