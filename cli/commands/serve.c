/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp serve`: speak MCP on standard input and output. msp itself does not: a broker does, which
 * the user's service starts for this client (hand_over.c), or, where no service answers, a
 * supervisor that msp becomes. `msp serve --service` becomes that service.
 *
 * `msp serve --http` is the same for many clients of one broker: in place of a client's streams the
 * broker gets the listening socket as descriptor 0, by which it knows that it is an HTTP server,
 * and as descriptor 1 the file of tokens, or /dev/null where nobody needs one.
 *
 * Nothing outside of this process changes before that, and nothing of the client is read, since
 * some clients start a throw-away server first.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ask/enabled.h"
#include "ask/hand_over.h"
#include "commands/listen.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/ipc/channel.h"
#include "common/ipc/end_reason.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_start.h"
#include "common/ipc/limits_mode.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/text/format.h"
#include "doctor/examine.h"
#include "frontend/profile_names.h"
#include "launcher/host/descriptors.h"
#include "launcher/host/no_network.h"
#include "launcher/host/pins.h"
#include "launcher/host/service.h"
#include "launcher/host/service_socket.h"
#include "launcher/host/token_file.h"
#include "launcher/host/workspace.h"
#include "launcher/start/config.h"
#include "launcher/start/launch.h"
#include "launcher/start/opener.h"
#include "options/command.h"

struct serve_options {
	const char *config;
	const char *default_profile;
	const char *run_as;
	const char *socket;
	struct listen_address http;
	const char *token_file;
	uint32_t limits;
	bool is_service;
	bool is_standalone;
	bool is_strict_start;
	struct budget budget;
	struct workspace_words workspaces;
};

#define ROW(option, value, setter, member, text)                                                   \
	OPTION(struct serve_options, option, value, setter, member, text)

static const struct option_row rows[] = {
	OPTION_CONFIG_ALSO(struct serve_options, config, false,
			   ". Implies --standalone but for --service, as MSP_CONFIG does"),
	ROW("default-profile", "NAME", option_set_profile, default_profile,
	    "what a client without a profile of its own gets; 'msp profile list' shows them (the "
	    "default: MSP_DEFAULT_PROFILE, else what the configuration says, else 'default'). "
	    "Implies --standalone but for --service, as MSP_DEFAULT_PROFILE does"),
	ROW("limits", "required|fallback", option_set_limits, limits,
	    "'required' (the default, unless the configuration says otherwise): refuse to start "
	    "without cgroup v2. 'fallback': use cgroup v2 where it can be used, and weaker "
	    "resource limits where it cannot"),
	ROW("http", "ADDRESS", listen_set_address, http,
	    "serve clients that connect over HTTP: to 127.0.0.1:PORT, [::1]:PORT, localhost:PORT "
	    "or unix:PATH"),
	ROW("token-file", "PATH", token_file_set_path, token_file,
	    "with --http: the tokens of its clients (the default: ~/.config/msp/tokens; for "
	    "unix:PATH none is needed)"),
	ROW("workspace", "DIR", workspace_set_word, workspaces,
	    "let the requests of this client have sandboxes work on DIR and what is in it; may be "
	    "given up to 8 times (the default: the directory that msp is started in, unless the "
	    "configuration has 'workspaces'). Refused for what holds keys or tokens, and for your "
	    "home"),
	ROW("standalone", NULL, option_set_flag, is_standalone,
	    "start a supervisor for this client alone, also where the service answers"),
	ROW("strict-start", NULL, option_set_flag, is_strict_start,
	    "end with exit code 78 where this machine does not fulfil the policy, instead of "
	    "telling the "
	    "client by the tool msp_status"),
	ROW("service", NULL, option_set_flag, is_service,
	    "become the user's service, which serves many clients; msp.service starts this"),
	ROW("socket", "PATH", option_set_socket, socket,
	    "the service's socket (the default: /run/user/UID/msp/supervisor.sock)"),
	ROW("max-executions", "N", option_set_executions, budget.executions,
	    "run at most so many executions at once (the default: 128). Implies --standalone but "
	    "for --service"),
	ROW("max-memory", "SIZE", option_set_memory, budget.memory_bytes,
	    "let all sandboxes together use at most this much, such as 8G; 'none': no bound (the "
	    "default: 3/4 of what there is, with cgroups). Implies --standalone but for --service"),
	ROW("run-as", "USER", option_set_account, run_as,
	    "when root starts msp: the account to become (the default: MSP_RUN_AS, else what the "
	    "configuration says, else 'msp'). Implies --standalone but for --service"),
};

static const char help[] =
	"Serve one MCP client on standard input and output: the Model Context Protocol,\n"
	"one JSON message per line. A client starts this itself; 'msp client-config'\n"
	"prints what to put into its configuration. What is wrong is said on standard\n"
	"error.\n"
	"\n"
	"With --http it serves many clients, which are started elsewhere, over HTTP\n"
	"(Streamable HTTP of the protocol, at the path /mcp). It listens for programs of\n"
	"this machine alone. Each client needs a token that 'msp token create' made; a\n"
	"unix socket can be connected to by programs of this user only, and needs none.\n"
	"\n"
	"Where the user's service answers, the client is handed over to it; else msp\n"
	"becomes a supervisor for this client. The exit code is\n"
	"  0        the client ended\n"
	"  64       the command line is wrong\n"
	"  70       a program of msp failed\n"
	"  75       the service stopped or is full, or the address is in use: starting\n"
	"           again may help\n"
	"  78       this machine does not fulfil the policy ('msp doctor' says why), or\n"
	"           the configuration or the file of tokens is wrong. A client on\n"
	"           standard input is first told so, by the tool msp_status\n";

/* Once, to a person who tries it out, or who has to know the port. */
static void greet_person(const struct serve_options *options)
{
	static bool is_done;
	char where[LISTEN_TEXT_MAX];

	if (is_done)
		return;
	is_done = true;
	if (listen_is_wanted(&options->http)) {
		listen_describe(&options->http, STDIN_FILENO, where);
		log_line("serving MCP at %s", where);
	} else if (isatty(STDIN_FILENO))
		log_line("this is an MCP server: it expects a client's JSON messages on standard "
			 "input. "
			 "To have a client start it, see 'msp help client-config'; Ctrl-D ends it");
}

/* Return whether a client, and nobody who reads standard error, waits for an answer. */
static bool tells_client(const struct serve_options *options)
{
	return !options->is_service && !options->is_strict_start &&
	       !listen_is_wanted(&options->http) && !isatty(STDIN_FILENO);
}

/* The broker takes 16 KiB (broker/refused_server.h). */
#define TEXT_MAX 16000

/* Become a broker that tells the client on standard input the reason of a refused start: `reason`,
 * and all that the doctor misses. `config` is --config or NULL, `limits` those of the command line.
 * Returns only when that fails. */
static void serve_refused(const struct images *images, const char *config, uint32_t limits,
			  const char *reason)
{
	static struct machine machine;
	static char missing[DOCTOR_TEXT_MAX], text[TEXT_MAX];
	int fd;

	if (doctor_examine(config, NULL, &machine) != 0 ||
	    doctor_explain(&machine, limits, missing, sizeof(missing)))
		format_text(missing, sizeof(missing), "Reason: %s\n", reason);
	format_text(text, sizeof(text),
		    "msp refuses to run anything on this machine.\n\n%s\n"
		    "`msp doctor` in a terminal shows all checks. After the fix, restart this MCP "
		    "server.\n",
		    missing);
	fd = fd_sealed_from_bytes("refusal", text, strlen(text));
	if (fd >= 0)
		(void)launch_exec_refused(images, fd);
}

/* systemd starts a service for each client that waits, and gives up for good after ten starts
 * within a minute (msp.service): one that cannot start turns clients away for a tenth of it, and
 * ends. */
#define UNFIT_MS 7000

/* Tell the clients that wait on the manager's socket. What they have said is read: a connection
 * that is closed with something unread is an error, which would come before our word. */
static void turn_clients_away(void)
{
	static const struct ipc_client_end message = { CLIENT_END_UNFIT };
	const uint64_t end_us = clock_now_us() + UNFIT_MS * UINT64_C(1000);
	struct pollfd entry = { SERVICE_SOCKETS_FD, POLLIN, 0 };
	char said[64];

	for (uint64_t now = clock_now_us(); now < end_us; now = clock_now_us()) {
		int fd FD_OWNED = -1;

		if (poll(&entry, 1, (int)((end_us - now) / 1000) + 1) > 0)
			fd = accept4(entry.fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			return;
		const struct channel client = { fd, IPC_SUPERVISOR, IPC_FRONTEND, IPC_SETUP };
		(void)channel_send(&client, IPC_TYPE_client_end, &message, NULL, MSG_DONTWAIT);
		(void)shutdown(fd, SHUT_RDWR); /* the client can send no more */
		while (recv(fd, said, sizeof(said), MSG_DONTWAIT) > 0)
			;
	}
}

/* Say why nothing starts: on standard error, and to a client that would only see an end. */
static int refuse_start(const struct serve_options *options, const struct images *images,
			const char *text, int code)
{
	for (const char *line = text; *line; line += strspn(line, "\n")) {
		const int size = (int)strcspn(line, "\n");

		log_line("serve: %.*s", size, line);
		line += size;
	}
	if (code == MSP_EXIT_REFUSED && options->is_service && service_sockets_passed())
		turn_clients_away();
	if (code == MSP_EXIT_REFUSED && tells_client(options))
		serve_refused(images, options->config, options->limits, text);
	return code;
}

/* Options that contradict each other; NULL when none do. */
static const char *find_conflict(const struct serve_options *options)
{
	if (options->is_service && options->is_standalone)
		return "--service and --standalone exclude each other";
	if (options->is_standalone && options->socket)
		return "--standalone asks no service, so --socket has no use";
	if (options->is_service && options->workspaces.count > 0)
		return "--workspace is said for a client, or with --http: the service has neither; "
		       "'workspaces' in the configuration holds for all";
	if (options->is_service && listen_is_wanted(&options->http))
		return "--service and --http exclude each other: start the service, and then 'msp "
		       "serve --http=ADDRESS', which hands its server over to it";
	if (options->token_file && !listen_is_wanted(&options->http))
		return "--token-file is for --http";
	return NULL;
}

/* The file of tokens, if there is a token in it: without one nobody could come in. A descriptor, or
 * -1 with a line in `text`. */
static int open_tokens(const char *given, char text[LAUNCH_TEXT_MAX])
{
	static struct tokens tokens;
	static char found[IPC_PATH_MAX];
	const char *path = given ? given : found;
	size_t count;
	int error;
	int fd;

	if (!given && !token_file_find(false, found, text))
		return -1;
	fd = token_file_open(path, TOKEN_FILE_READ, text);
	if (fd < 0)
		return -1;
	error = token_file_read(fd, &tokens);
	count = error ? 0 : tokens_count(&tokens);
	if (count > 0 && count <= TOKENS_MAX)
		return fd;
	fd_close(&fd);
	if (error)
		format_text(text, LAUNCH_TEXT_MAX, "the file of tokens, %.500s: %s", path,
			    errno_text(-error));
	else if (count > 0)
		format_text(text, LAUNCH_TEXT_MAX,
			    "the file of tokens, %.500s, holds %zu tokens, and %d are the most: "
			    "'msp token revoke NAME' ends one",
			    path, count, TOKENS_MAX);
	else
		format_text(text, LAUNCH_TEXT_MAX,
			    "there is no token in %.500s, so nobody could come in: 'msp token "
			    "create NAME' makes one",
			    path);
	return -1;
}

/* Over an exec too. */
static bool put_at(int place, int *fd)
{
	const bool is_done = dup2(*fd, place) == place;

	fd_close(fd);
	return is_done;
}

/* Take the place of a client's streams. 0, or an exit code with a line in `text`. */
static int open_http(const struct serve_options *options, char text[LAUNCH_TEXT_MAX])
{
	const bool needs_tokens = !options->http.path || options->token_file;
	int tokens = needs_tokens ? open_tokens(options->token_file, text)
				  : open("/dev/null", O_RDONLY | O_CLOEXEC);
	int listener = -1;
	int code;

	if (tokens < 0 && needs_tokens)
		return MSP_EXIT_REFUSED;
	code = listen_open(&options->http, &listener, text);
	if (code) {
		fd_close(&tokens);
		return code;
	}
	if (put_at(STDIN_FILENO, &listener) && put_at(STDOUT_FILENO, &tokens))
		return 0;
	return format_fail(MSP_EXIT_SOFTWARE, text, LAUNCH_TEXT_MAX, "descriptors: %s",
			   errno_text(errno));
}

/* Return whether the client may be handed over: options for a supervisor cannot be asked of a
 * running one. */
static bool may_hand_over(const struct serve_options *options, const struct config *config)
{
	return !options->is_service && !options->is_standalone && !options->run_as &&
	       !options->default_profile && !config_is_named(config) &&
	       options->budget.executions == 0 &&
	       options->budget.memory_bytes == BUDGET_MEMORY_DEFAULT;
}

/* The exit code, or HAND_OVER_NOT. */
static int try_service(const struct serve_options *options, struct config *config,
		       const struct workspaces *workspaces, int null)
{
	struct service service = service_connect(options->socket);

	if (service.state == SERVICE_HERE) {
		greet_person(options);
		return hand_over(&service, config, options->limits, workspaces, null);
	}
	/* That there is none is the usual case, unless somebody named it. */
	if (service.state != SERVICE_ABSENT || options->socket)
		log_line("serve: %s; this client gets a supervisor of its own", service.text);
	else if (service_is_enabled())
		log_line("serve: msp.socket is enabled, but does not listen ('msp doctor' has the "
			 "remedy); this client gets a supervisor of its own");
	return HAND_OVER_NOT;
}

/* A service that ends is followed by the next one, which takes a listener that anybody still holds
 * for a service: the factory and the path opener have closed what is not their own when this
 * returns. Both hold `ends[1]` for as long as they hold that. */
static void await_closed(int ends[2])
{
	char none;

	fd_close(&ends[1]);
	while (read(ends[0], &none, 1) < 0 && errno == EINTR)
		;
	fd_close(&ends[0]);
}

static int start_factory(const struct launch *launch, int null, struct factory *ret)
{
	return launch_factory(launch->images, launch_open_state(launch->images), null, ret);
}

/* Start the factory of a service, without a network. The gateway and the path opener, whose starter
 * runs the user's own programs, are there already and keep theirs; the supervisor that this process
 * becomes has none. */
static int start_factory_apart(const struct launch *launch, int null, struct factory *ret,
			       bool *ret_has_network)
{
	int error;

	(void)launch_open_state(launch->images); /* by names of users that are unknown then */
	error = no_network_enter();
	*ret_has_network = error != 0;
	return error ? error : start_factory(launch, null, ret);
}

/* *ret_has_network becomes true if that is what failed: the service could not leave the network. */
static int start_beside(const struct launch *launch, int channel, int null, struct factory *ret,
			bool *ret_has_network)
{
	int ends[2];
	int error = pipe2(ends, O_CLOEXEC) == 0 ? 0 : -errno;
	int opener = 0;

	if (error)
		return error;
	error = trust_connect(launch->trust); /* a later policy may need it */
	if (!error && !launch->sockets)
		error = start_factory(launch, null, ret);
	/* The messages wait in the socket until the supervisor that we become reads them. */
	if (!error)
		error = launch_send(launch, channel);
	/* Without a gateway nobody has the other end, so the opener makes the channel again. */
	if (launch->gateway->pidfd < 0)
		fd_close(&launch->trust->gateway);
	if (!error)
		opener = opener_start(launch, channel);
	if (!error && opener >= 0 && launch->sockets)
		error = start_factory_apart(launch, null, ret, ret_has_network);
	await_closed(ends);
	return opener < 0 ? opener : error;
}

/* Become the supervisor; returns only when that fails. */
static int become_supervisor(const struct launch *launch, int null, char text[LAUNCH_TEXT_MAX])
{
	struct factory factory = { -1, -1 };
	bool has_network = false;
	int ends[2];
	int error = channel_pair(ends);

	if (!error)
		error = start_beside(launch, ends[0], null, &factory, &has_network);
	if (has_network)
		return format_fail(
			MSP_EXIT_REFUSED, text, LAUNCH_TEXT_MAX,
			"the service needs user and network namespaces, to leave the network: %s. "
			"Its unit must not have RestrictNamespaces=, and 'msp doctor' checks this "
			"machine",
			errno_text(-error));
	if (!error)
		error = launch_exec(launch->images, ends[1], &factory);
	return format_fail(MSP_EXIT_SANDBOX, text, LAUNCH_TEXT_MAX,
			   "the supervisor cannot be started: %s", errno_text(-error));
}

/* Return whether the plan has the profile; if not, say why. */
static bool has_profile(const struct plan *plan, const char *name, char text[LAUNCH_TEXT_MAX])
{
	char names[PROFILE_NAMES_SHOWN];
	const char *cause;

	if (profile_named(plan, name))
		return true;
	cause = profile_missing(plan, name);
	if (cause)
		return format_fail(false, text, LAUNCH_TEXT_MAX,
				   "the profile '%.100s' cannot be used: %s", name, cause);
	profile_names(plan, names, sizeof(names));
	return format_fail(false, text, LAUNCH_TEXT_MAX,
			   "there is no profile '%.100s'; there are: %s", name, names);
}

static int start_supervisor(struct serve_options *options, const struct images *images,
			    struct config *config, const struct workspaces *workspaces, int null,
			    char text[LAUNCH_TEXT_MAX])
{
	static struct pins pins;
	static struct trust trust = TRUST_NONE;
	const struct plan *plan;
	struct cgroup_home home;
	struct no_cgroup unlimited;
	struct service_sockets sockets;
	int code = config_read(config, text);

	if (code)
		return code;
	if (options->is_service)
		code = service_sockets_open(options->socket, &sockets, text);
	if (code)
		return code;
	plan = launch_open_plan(config, text);
	if (plan && options->default_profile && !has_profile(plan, options->default_profile, text))
		return MSP_EXIT_REFUSED;
	if (!plan || trust_prepare(&trust, images, config, NULL, text) != 0)
		return MSP_EXIT_REFUSED;
	plan = config_plan(config); /* it may be another one now */
	if (pins_open(plan, options->default_profile ? options->default_profile : "", &trust.pins,
		      &pins, text) != 0)
		return MSP_EXIT_REFUSED;
	if (text[0])
		log_line("a profile cannot be used: %s", text);
	if (launch_enter_cgroup(images, &options->budget, &home, &unlimited) != 0 &&
	    config_limits(config, options->limits) != LIMITS_FALLBACK) {
		launch_explain_cgroup(&unlimited, text);
		return MSP_EXIT_REFUSED;
	}
	if (tells_client(options) && !doctor_explain_kernel(config, text, LAUNCH_TEXT_MAX))
		return MSP_EXIT_REFUSED;
	descriptors_warn(plan, options->default_profile);
	if (!options->is_service)
		greet_person(options);
	struct launch_gateway gateway = LAUNCH_GATEWAY_NONE;
	const struct launch launch = {
		.images = images,
		.config = config,
		.default_profile = options->default_profile,
		.home = &home,
		.pins = &pins,
		.sockets = options->is_service ? &sockets : NULL,
		.budget = options->budget,
		.frontend = options->is_service ? FRONTEND_SERVICE : FRONTEND_BROKER,
		.limits = options->limits,
		.workspaces = workspaces,
		.gateway = &gateway,
		.trust = &trust,
	};
	return become_supervisor(&launch, null, text);
}

/* Open the directories that requests of this client may name. No request may name the service's own
 * directory: clients bring theirs. 0, or an exit code with a line in `text`. */
static int open_workspaces(const struct serve_options *options, struct config *config,
			   struct workspaces *ret, char text[LAUNCH_TEXT_MAX])
{
	const struct plan *plan;
	int code;

	if (options->is_service)
		return 0;
	if (workspaces_open(&options->workspaces, ret, text) != 0)
		return MSP_EXIT_REFUSED;
	if (options->workspaces.count == 0)
		return 0;
	code = config_read(config, text);
	if (code)
		return code;
	plan = launch_open_plan(config, text);
	return plan && workspaces_check(ret, plan, text) == 0 ? 0 : MSP_EXIT_REFUSED;
}

static int run_serve(const struct command *command, int argc, char *argv[])
{
	static struct config config = CONFIG_UNREAD;
	struct serve_options options = { .limits = LIMITS_UNSAID,
					 .budget.memory_bytes = BUDGET_MEMORY_DEFAULT };
	struct workspaces workspaces = { .count = 0 };
	struct images images;
	char text[LAUNCH_TEXT_MAX];
	const char *conflict;
	int null;
	int rest;
	int code;

	if (!command_parse(command, argc, argv, &options, &rest, &code))
		return code;
	conflict = find_conflict(&options);
	if (conflict)
		return command_usage_error(command, "%s", conflict);
	if (!options.default_profile &&
	    !option_read_default_profile(&options.default_profile, text))
		return log_fail(MSP_EXIT_USAGE, "serve: %s", text);
	null = launch_standard_fds();
	if (null < 0)
		return log_fail(MSP_EXIT_SANDBOX, "serve: /dev/null cannot be opened");
	if (launch_open_images(&images, text) != 0)
		return log_fail(MSP_EXIT_SANDBOX, "serve: %s", text);
	config.given = options.config;
	config.builtin = images.policy;
	config.has_kept = true;
	if (launch_drop_root(options.run_as, &config, &code, text) != 0)
		return log_fail(code, "serve: %s", text);
	code = open_workspaces(&options, &config, &workspaces, text);
	if (!code && listen_is_wanted(&options.http))
		code = open_http(&options, text);
	if (code)
		return refuse_start(&options, &images, text, code);
	code = may_hand_over(&options, &config) ? try_service(&options, &config, &workspaces, null)
						: HAND_OVER_NOT;
	if (code != HAND_OVER_NOT)
		return code;
	code = start_supervisor(&options, &images, &config, &workspaces, null, text);
	return refuse_start(&options, &images, text, code);
}

const struct command command_serve = {
	.name = "serve",
	.operands = "",
	.summary = "serve an MCP client on standard streams, or many by HTTP",
	.help = help,
	.options = { OPTION_ROWS(rows) },
	.run = run_serve,
};
