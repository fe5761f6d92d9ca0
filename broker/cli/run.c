/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp run`: one command in a sandbox of its own, its streams live.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "account.h"
#include "bind.h"
#include "command.h"
#include "common/channel.h"
#include "common/fd.h"
#include "common/log.h"
#include "format.h"
#include "launch.h"
#include "pins.h"
#include "protected.h"
#include "service.h"
#include "session.h"

struct run_options {
	const char *profile;
	const char *config;
	const char *cwd;
	const char *run_as;
	const char *socket;
	uint32_t limits;
	uint32_t timeout_ms;
	bool is_json;
	bool is_verbose;
	bool is_standalone;
	struct bind_words binds;
	struct environment environment;
};

#define ROW(option, value, setter, member, text)                                                   \
	{                                                                                          \
		.name = (option), .argument = (value), .set = (setter),                            \
		.offset = offsetof(struct run_options, member), .help = (text)                     \
	}

static const struct option_row rows[] = {
	ROW("profile", "NAME", option_set_profile, profile,
	    "the policy to run under: 'strict', ...; 'msp profile list' shows them (the default: "
	    "MSP_DEFAULT_PROFILE, else what the configuration says, else 'default')"),
	OPTION_CONFIG(struct run_options, config),
	ROW("limits", "required|fallback", option_set_limits, limits,
	    "'required' (the default, unless the configuration says otherwise): refuse to start "
	    "without cgroup v2. 'fallback': use cgroup v2 where it can be used, and weaker "
	    "resource limits where it cannot"),
	ROW("timeout", "SECONDS", option_set_seconds, timeout_ms,
	    "end the command after this time, such as 10 or 0.5; never more than the profile "
	    "allows"),
	ROW("ro", "HOST[:INSIDE]", option_set_bind, binds,
	    "show this file or folder, read-only, at INSIDE (the default: the same path); may be "
	    "given up to 32 times. Refused for what holds keys or tokens, and for your home"),
	ROW("env", "NAME=VALUE", option_set_environment, environment,
	    "set a variable; your own environment is not passed on"),
	ROW("cwd", "DIR", option_set_inside_path, cwd,
	    "where to start, inside the sandbox (the default: /workspace)"),
	ROW("json", NULL, option_set_flag, is_json,
	    "print one JSON object at the end, with what the command wrote, instead of its "
	    "streams"),
	ROW("verbose", NULL, option_set_flag, is_verbose,
	    "say on stderr what is enforced and how the command ended"),
	ROW("standalone", NULL, option_set_flag, is_standalone,
	    "start a supervisor for this command alone, also where the service answers"),
	ROW("socket", "PATH", option_set_socket, socket,
	    "the service's socket (the default: /run/user/UID/msp/supervisor.sock)"),
	ROW("run-as", "USER", option_set_account, run_as,
	    "when root starts msp: the account to become (the default: MSP_RUN_AS, else what the "
	    "configuration says, else 'msp')"),
};

static const char help[] =
	"Run CMD in a sandbox of its own that is gone when it ends. It sees the system's\n"
	"/usr read-only, an empty writable /workspace, and nothing else of this machine:\n"
	"no home, no network, no other processes. Standard input, output and error are\n"
	"passed on live; when input and output are a terminal, CMD gets one of its own.\n"
	"\n"
	"Where the user's service answers, it runs CMD, by its own configuration, unless\n"
	"--standalone, --ro, --run-as, --config or MSP_CONFIG is given; else msp starts\n"
	"a supervisor for CMD alone.\n"
	"\n"
	"Options end at '--' or at the first word that is none. The exit code is CMD's\n"
	"own, or\n"
	"  124      it was ended by the timeout\n"
	"  125      the sandbox could not be made\n"
	"  126,127  CMD could not be executed, or was not found in the sandbox\n"
	"  128+N    it was ended by signal N\n"
	"  64       the command line is wrong\n"
	"  75       too much runs already, or the service stopped; later it may work\n"
	"  78       this machine does not fulfil the policy, or the configuration is\n"
	"           wrong; 'msp doctor' says why\n";

/* Everything that a run holds until its end. */
struct run {
	const struct run_options *options;
	struct images images;
	struct config config;
	uint32_t limits; /* that are accepted */
	struct cgroup_home home;
	struct budget budget;
	int null;
	struct service service; /* HERE: it runs the command; else our own supervisor does */
	pid_t supervisor;
	struct outcome_request request;
};

static struct binds binds;
static struct pins pins;
static struct ipc_execution_start start;

static int refuse(const char *text, int code)
{
	log_line("run: %s", text);
	return code;
}

/* The workload's terminal is of the caller's kind. */
static void add_term(struct environment *environment)
{
	const char *term = getenv("TERM");
	char entry[80];

	if (!term || strlen(term) > 64)
		return;
	format_text(entry, sizeof(entry), "TERM=%s", term);
	/* Refused when --env has one already: that is the one to use. */
	(void)option_set_environment(environment, entry);
}

/* The workload may ask for its terminal's size before we hold its master side. */
static void add_size(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
		return;
	start.tty_rows = size.ws_row;
	start.tty_columns = size.ws_col;
}

/* The request; -1 with a message when the command line is too long. */
static int fill_start(struct run_options *options, char *argv[], bool use_tty)
{
	if (use_tty) {
		add_term(&options->environment);
		add_size();
	}
	start.request = 1;
	start.timeout_ms = options->timeout_ms;
	start.use_tty = use_tty ? 1 : 0;
	format_text(start.profile, sizeof(start.profile), "%s", options->profile);
	format_text(start.cwd, sizeof(start.cwd), "%s", options->cwd ? options->cwd : "");
	for (; *argv; argv++) {
		const size_t size = strlen(*argv) + 1;

		if (size > sizeof(start.argv) - start.argv_size) {
			log_line("run: the command line is longer than %d bytes: pass large data "
				 "through standard input or a file with --ro",
				 IPC_ARGV_MAX);
			return -1;
		}
		memcpy(start.argv + start.argv_size, *argv, size);
		start.argv_size += (uint32_t)size;
	}
	memcpy(start.environment, options->environment.bytes, options->environment.size);
	start.environment_size = options->environment.size;
	return 0;
}

/* Whatever of the host is to be shown: by --ro, and by the operator's profiles. 0, or the exit
 * code. */
static int open_shown(struct run *run)
{
	char text[LAUNCH_TEXT_MAX];
	const struct plan *plan = launch_open_plan(&run->config, text);
	struct protected_set set;

	if (!plan)
		return refuse(text, MSP_EXIT_REFUSED);
	if (run->options->binds.count > 0) {
		set = protected_set_of(plan);
		if (binds_open(&run->options->binds, &set, &binds, text) != 0)
			return refuse(text, MSP_EXIT_USAGE);
	}
	return pins_open(plan, &pins, text) == 0 ? 0 : refuse(text, MSP_EXIT_REFUSED);
}

/* What is given to a supervisor at its start cannot be asked of one that runs. */
static bool may_use_service(const struct run *run)
{
	const struct run_options *options = run->options;

	return !options->is_standalone && !options->run_as && options->binds.count == 0 &&
	       !config_is_named(&run->config);
}

static int read_config(struct run *run)
{
	char text[LAUNCH_TEXT_MAX];
	const int code = config_read(&run->config, text);

	if (code)
		return refuse(text, code);
	run->limits = config_limits(&run->config, run->options->limits);
	return 0;
}

/* Go through the service if it answers and enforces enough; 0, or the exit code. */
static int join_service(struct run *run)
{
	const struct run_options *options = run->options;
	struct service *service = &run->service;
	struct ipc_status status = { 0 };
	int code = 0;

	*service = service_connect(options->socket);
	service_ask(service, &status);
	/* What a configuration accepts matters for a service with weaker limits alone. */
	if (status.limits != LIMITS_CGROUP && options->limits == LIMITS_UNSAID)
		code = read_config(run);
	if (code)
		return code;
	run->limits = config_limits(&run->config, options->limits);
	service_check_limits(service, &status, run->limits);
	if (service->state == SERVICE_FULL || service->state == SERVICE_STOPPING)
		return refuse(service->text, MSP_EXIT_AGAIN);
	/* That there is none is the usual case, unless somebody named it. */
	if (service->state != SERVICE_HERE && (service->state != SERVICE_ABSENT || options->socket))
		log_line("run: %s; this command gets a supervisor of its own", service->text);
	return 0;
}

/* Up to a supervisor that runs, or a cgroup for one of our own; 0, or the exit code. */
static int prepare(struct run *run)
{
	char text[LAUNCH_TEXT_MAX];
	int code;

	run->null = launch_standard_fds();
	if (run->null < 0)
		return refuse("/dev/null cannot be opened", MSP_EXIT_SANDBOX);
	if (launch_open_images(&run->images, text) != 0)
		return refuse(text, MSP_EXIT_SANDBOX);
	run->config.given = run->options->config;
	run->config.builtin = run->images.policy;
	if (launch_drop_root(run->options->run_as, &run->config, &code, text) != 0)
		return refuse(text, code);
	code = may_use_service(run) ? join_service(run) : 0;
	if (code || run->service.state == SERVICE_HERE)
		return code;
	code = read_config(run);
	if (!code)
		code = open_shown(run);
	if (code)
		return code;
	if (launch_enter_cgroup(&run->images, run->limits, &run->budget, &run->home, text) != 0)
		return refuse(text, MSP_EXIT_REFUSED);
	return 0;
}

/* The supervisor runs and knows what it starts from; our end of its channel, or -errno. */
static int start_supervisor(struct run *run, const sigset_t *mask)
{
	const struct launch launch = { .images = &run->images,
				       .config = &run->config,
				       .home = &run->home,
				       .binds = &binds,
				       .pins = &pins,
				       .budget = run->budget,
				       .frontend = FRONTEND_LAUNCHER,
				       .limits = run->options->limits };
	int ends[2];
	int error = channel_pair(ends);

	if (error)
		return error;
	error = launch_spawn(&run->images, ends[1], run->null, mask, &run->supervisor);
	fd_close(&ends[1]);
	if (!error)
		error = launch_send(&launch, ends[0]);
	/* A supervisor that has ended already has said why; the session finds its exit code. */
	if (error && error != -EPIPE && error != -ECONNRESET) {
		fd_close(&ends[0]);
		return error;
	}
	return ends[0];
}

static int finish(const struct run *run, const struct outcome *outcome, struct capture *captures)
{
	int code = outcome_exit_code(outcome);

	outcome_explain(outcome, &run->request);
	if (run->options->is_verbose)
		outcome_print_end(outcome);
	if (captures && outcome->is_done && !outcome->signal) {
		const int error = outcome_print_json(outcome, &run->request, captures);

		if (error == -EPIPE)
			code = MSP_EXIT_SIGNAL_BASE + SIGPIPE;
		else if (error)
			code = refuse(strerror(-error), MSP_EXIT_SOFTWARE);
	}
	return code;
}

static int execute(struct run *run, bool use_tty)
{
	static struct capture captures[2];
	struct session_options options = { .use_tty = use_tty,
					   .is_verbose = run->options->is_verbose };
	struct outcome outcome;
	sigset_t before;
	int code;
	const int signals = session_block_signals(use_tty, &before);
	const bool is_service = run->service.state == SERVICE_HERE;
	int channel = signals < 0  ? signals
		      : is_service ? run->service.fd
				   : start_supervisor(run, &before);

	if (channel < 0) {
		log_line("run: the supervisor cannot be started: %s%s", strerror(-channel),
			 channel == -EACCES ? " (its file must be readable and executable for "
					      "the account that msp runs as)"
					    : "");
		return MSP_EXIT_SANDBOX;
	}
	if (run->options->is_json) {
		capture_init(&captures[0]);
		capture_init(&captures[1]);
		options.captures = captures;
	}
	outcome = session_run(&options, channel, signals, &start, &run->request);
	/* Nothing of ours is left when msp ends, not even a process that somebody else must reap;
	 * and the supervisor empties the cgroups that are given back here. */
	fd_close(&channel);
	outcome.is_service = is_service;
	if (!is_service)
		outcome.supervisor_status = launch_await(run->supervisor);
	if (run->home.directory >= 0)
		cgroup_leave(&run->home);
	code = finish(run, &outcome, options.captures);
	fd_close(&outcome.plan);
	return code;
}

/* Without a name the supervisor uses its default. */
static bool choose_profile(struct run_options *options, struct outcome_request *request)
{
	char text[OPTIONS_TEXT_MAX];

	if (options->profile)
		return true;
	options->profile = "";
	request->is_variable = true;
	if (option_read_default_profile(&options->profile, text))
		return true;
	log_line("run: %s", text);
	return false;
}

static int run(const struct command *command, int argc, char *argv[])
{
	static struct run_options options = { .limits = LIMITS_UNSAID };
	struct run run = { .options = &options,
			   .images = IMAGES_NONE,
			   .config = CONFIG_UNREAD,
			   .home = { .parent = -1, .own = -1, .directory = -1 },
			   .service = { .state = SERVICE_ABSENT, .fd = -1 } };
	bool use_tty;
	int rest;
	int code;

	if (!command_parse(command, argc, argv, &options, &rest, &code))
		return code;
	if (rest == argc)
		return command_usage_error(command,
					   "a command is missing: msp run -- CMD [ARG]...");
	if (!choose_profile(&options, &run.request))
		return MSP_EXIT_USAGE;
	use_tty = !options.is_json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	if (fill_start(&options, argv + rest, use_tty) != 0)
		return MSP_EXIT_USAGE;
	code = prepare(&run);
	if (code)
		return code;
	run.request.command = argv[rest];
	run.request.profile = options.profile;
	run.request.cwd = options.cwd;
	run.request.timeout_ms = options.timeout_ms;
	return execute(&run, use_tty);
}

const struct command command_run = {
	.name = "run",
	.operands = "[--] CMD [ARG]...",
	.summary = "run one command in a sandbox",
	.help = help,
	.options = { .rows = rows, .count = sizeof(rows) / sizeof(rows[0]), .has_operands = true },
	.run = run,
};
