/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp serve`: speak MCP on standard input and output. msp itself does not: it becomes the
 * supervisor, which starts msp-broker for the client. Nothing outside of this process changes
 * before that, since some clients start a throw-away server first.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "common/channel.h"
#include "common/ipc.h"
#include "common/log.h"
#include "launch.h"

struct serve_options {
	const char *run_as;
	uint32_t limits;
};

static const struct option_row rows[] = {
	{ .name = "limits",
	  .argument = "required|fallback",
	  .set = option_set_limits,
	  .offset = offsetof(struct serve_options, limits),
	  .help = "'required' (the default): refuse to start without cgroup v2. 'fallback': use "
		  "cgroup v2 where it can be used, and weaker resource limits where it cannot" },
	{ .name = "run-as",
	  .argument = "USER",
	  .set = option_set_account,
	  .offset = offsetof(struct serve_options, run_as),
	  .help = "when root starts msp: the account to become (the default: MSP_RUN_AS, else "
		  "'msp')" },
};

static const char help[] =
	"Serve one MCP client on standard input and output: the Model Context Protocol,\n"
	"one JSON message per line. A client starts this itself; 'msp client-config'\n"
	"prints what to put into its configuration. What is wrong is said on standard\n"
	"error; the exit code is 78 when this machine does not fulfil the policy.\n";

static void greet(void)
{
	log_line("this is an MCP server: it expects a client's JSON messages on standard input. "
		 "To have a client start it, see 'msp help client-config'; Ctrl-D ends it");
}

static int give_up(const char *text, int code)
{
	log_line("serve: %s", text);
	return code;
}

static int serve(const struct command *command, int argc, char *argv[])
{
	struct serve_options options = { 0 };
	struct images images;
	struct cgroup_home home;
	char text[LAUNCH_TEXT_MAX];
	int ends[2];
	int error;
	int rest;
	int code;

	if (!command_parse(command, argc, argv, &options, &rest, &code))
		return code;
	error = launch_standard_fds();
	if (error < 0)
		return give_up("/dev/null cannot be opened", MSP_EXIT_SANDBOX);
	if (launch_open_images(&images, text) != 0)
		return give_up(text, MSP_EXIT_SANDBOX);
	if (launch_drop_root(options.run_as, &code, text) != 0)
		return give_up(text, code);
	if (launch_enter_cgroup(options.limits, &home, text) != 0)
		return give_up(text, MSP_EXIT_REFUSED);
	if (isatty(STDIN_FILENO))
		greet();
	error = channel_pair(ends);
	if (!error) {
		const struct launch launch = { .images = &images,
					       .home = &home,
					       .frontend = FRONTEND_BROKER,
					       .limits = options.limits };
		/* The messages wait in the socket until the supervisor that we become reads them.
		 */
		error = launch_send(&launch, ends[0]);
	}
	if (!error)
		error = launch_exec(&images, ends[1]);
	log_line("serve: the supervisor cannot be started: %s", strerror(-error));
	return MSP_EXIT_SANDBOX;
}

const struct command command_serve = {
	.name = "serve",
	.operands = "",
	.summary = "serve an MCP client on standard input and output",
	.help = help,
	.options = { .rows = rows, .count = sizeof(rows) / sizeof(rows[0]) },
	.run = serve,
};
