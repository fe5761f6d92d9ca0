/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp bridge`: a port of a persistent sandbox, for the browser and other programs of this machine.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ask/ask.h"
#include "commands/sandboxes.h"
#include "common/fd.h"
#include "common/ipc/ipc_bridge.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/start/bridge_program.h"
#include "launcher/start/config.h"
#include "options/command.h"
#include "options/everywhere.h"
#include "show/figures.h"
#include "show/print.h"

struct bridge_options {
	struct attach_options attach;
	uint32_t host_port; /* 0: the sandbox's, or any */
	uint32_t close;     /* the port of this machine; 0: none is closed */
	bool is_raw;
	bool is_list;
	bool is_json;
};

static const struct option_row rows[] = {
	OPTION(struct bridge_options, "host-port", "PORT", option_set_port, host_port,
	       "the port of this machine; without it the same number, or another one where that "
	       "is taken"),
	OPTION(struct bridge_options, "raw", NULL, option_set_flag, is_raw,
	       "pass all bytes on unread: any page in a browser can then send requests to the "
	       "sandbox"),
	OPTION(struct bridge_options, "list", NULL, option_set_flag, is_list,
	       "show the open bridges"),
	OPTION(struct bridge_options, "json", NULL, option_set_flag, is_json,
	       "with --list: as JSON"),
	OPTION(struct bridge_options, "close", "PORT", option_set_port, close,
	       "close the bridge with this port of this machine"),
	ATTACH_ROWS(struct bridge_options, attach),
};

static const char help[] =
	"Let a port of this machine lead to PORT in SANDBOX, until Ctrl-C, until the\n"
	"sandbox ends, or until the service does. A server in the sandbox can be seen in\n"
	"a browser that way, also one that listens on the sandbox's 127.0.0.1 or ::1\n"
	"alone. The address is printed on stdout.\n"
	"\n"
	"Only 127.0.0.1 of this machine is listened on; its other users can connect too.\n"
	"The first request of an HTTP connection has to name localhost, 127.0.0.1 or\n"
	"[::1] with the port as its Host, and a page of this machine, or none, as its\n"
	"Origin: so no page of the internet reaches the sandbox. What is no HTTP, such\n"
	"as TLS or a database's protocol, passes unread.\n"
	"\n"
	"--list shows the open bridges of the user's service, and --close ends one,\n"
	"whoever opened it.\n"
	"\n"
	"SANDBOX is the name, the id, or the first four or more characters of the id.\n"
	"Start the server in it before, in the background: 'msp exec -d'. One that an\n"
	"agent started through the user's service will do, too. The exit code is\n"
	"  0    the sandbox or the service ended, or 'msp bridge --close' ended it\n"
	"  64   the command line is wrong, there is no such sandbox or bridge, or the\n"
	"       port of this machine is taken\n"
	"  75   nothing runs in the sandbox, nothing in it takes connections at PORT, or\n"
	"       another msp has it\n"
	"  130  Ctrl-C ended it; 143: SIGTERM did\n";

struct work {
	const struct bridge_options *options;
	const char *sandbox;
	uint32_t port;
	uint32_t host_port;
	int control[2]; /* [1] is msp-bridge's */
	int network[2];
	int listener;
	int signals;
};

static const char *step_text(const struct ipc_bridge_ready *ready, char text[256])
{
	switch (ready->step) {
	case BRIDGE_STEP_CONNECT:
		return "nothing in the sandbox takes connections at this port: start the server "
		       "first, and see 'msp ps' for whether it runs";
	case BRIDGE_STEP_RECORD:
		return "it cannot be recorded in the audit log, or as many bridges are open as can "
		       "be: close one";
	case BRIDGE_STEP_ENTER:
		format_text(text, 256, "the sandbox's network cannot be entered: %s",
			    errno_text((int)ready->error));
		return text;
	default:
		format_text(text, 256, "the port of this machine cannot be listened on: %s",
			    errno_text((int)ready->error));
		return text;
	}
}

static int refuse_port(const struct work *work, int error)
{
	if (error == -EADDRINUSE)
		log_line(
			"port %u of 127.0.0.1 is taken by another program: choose another one with "
			"--host-port, or leave that out",
			work->options->host_port);
	else if (error == -EACCES)
		log_line("port %u of 127.0.0.1 is not yours to listen on (ports below 1024 are "
			 "root's): choose another one with --host-port",
			 work->options->host_port);
	else
		log_line("port %u of 127.0.0.1 cannot be had: %s", work->options->host_port,
			 errno_text(-error));
	return MSP_EXIT_USAGE;
}

/* Start msp-bridge, with the port of this machine. 0, or the exit code after a line. */
static int start_program(struct work *work)
{
	struct ipc_bridge_begin begin = { .port = work->port, .is_raw = work->options->is_raw };
	const struct channel control = { work->control[0], IPC_FRONTEND, IPC_BRIDGE, IPC_SETUP };
	int error;

	memcpy(begin.schema, ipc_schema_hash, sizeof(begin.schema));
	error = channel_send(&control, IPC_TYPE_bridge_begin, &begin, &work->network[1], 0);
	if (!error)
		error = bridge_program_start(work->control[1], work->listener);
	fd_close(&work->control[1]);
	fd_close(&work->network[1]);
	fd_close(&work->listener);
	if (!error)
		return 0;
	return log_fail(MSP_EXIT_SANDBOX, "msp-bridge cannot be started: %s", errno_text(-error));
}

/* Bind the port and make the channels. 0, or the exit code after a line. */
static int prepare_bridge(struct work *work)
{
	const uint32_t wish = work->options->host_port;
	int error;

	work->listener = bridge_port_bind(wish ? wish : work->port, wish != 0);
	if (work->listener < 0)
		return refuse_port(work, work->listener);
	error = channel_pair(work->control);
	if (!error)
		error = channel_pair(work->network);
	if (!error)
		return start_program(work);
	return log_fail(MSP_EXIT_SOFTWARE, "channels to msp-bridge: %s", errno_text(-error));
}

/* --- what msp-bridge says --------------------------------------------------------------------- */

static struct channel_message message;

/* Receive its next message, or a signal. 0: this type; else an exit code, after a line if it is not
 * a signal's. */
static int receive_message(struct work *work, uint32_t type)
{
	const struct channel control = { work->control[0], IPC_FRONTEND, IPC_BRIDGE, IPC_SERVE };
	const int signals = work->signals;
	struct signalfd_siginfo info;
	enum ipc_error wrong;
	char text[256];

	for (;;) {
		struct pollfd entries[] = { { .fd = control.fd, .events = POLLIN },
					    { .fd = signals, .events = POLLIN } };

		if (poll(entries, 2, -1) < 0)
			continue; /* EINTR */
		if (entries[1].revents && read(signals, &info, sizeof(info)) == sizeof(info))
			return MSP_EXIT_SIGNAL_BASE + (int)info.ssi_signo;
		if (entries[0].revents)
			break;
	}
	if (channel_receive(&control, &message, 0, &wrong) != 1)
		return log_fail(MSP_EXIT_SOFTWARE,
				"msp-bridge has ended: its line before this one says why");
	if (message.type == type)
		return 0;
	return log_fail(MSP_EXIT_SOFTWARE, "port %u of sandbox '%s' cannot be opened: %s",
			work->port, work->sandbox,
			message.type == IPC_TYPE_bridge_ready
				? step_text(ipc_body(&message, bridge_ready), text)
				: "msp-bridge says what it must not");
}

static void tell_end(const struct ipc_bridge_end *end)
{
	static const char *const reasons[BRIDGE_END_COUNT] = {
		[BRIDGE_END_FRONTEND] = "",
		[BRIDGE_END_SANDBOX] = ", since the sandbox ended",
		[BRIDGE_END_SUPERVISOR] = ", since the service ended",
		[BRIDGE_END_CLOSED] = ", by 'msp bridge --close'",
	};
	char sent[FIGURES_TEXT_MAX], received[FIGURES_TEXT_MAX];

	everywhere_note("the bridge is closed%s: %llu connections, %llu refused, sent %s, "
			"received %s",
			reasons[end->reason % BRIDGE_END_COUNT],
			(unsigned long long)end->connections, (unsigned long long)end->refused,
			figures_bytes(end->sent, sent), figures_bytes(end->received, received));
}

/* Have it end, and hear its counts. */
static void close_bridge(struct work *work)
{
	const struct channel control = { work->control[0], IPC_FRONTEND, IPC_BRIDGE, IPC_SERVE };
	enum ipc_error wrong;

	(void)shutdown(work->control[0], SHUT_WR);
	while (channel_receive(&control, &message, 0, &wrong) == 1) {
		if (message.type == IPC_TYPE_bridge_end)
			tell_end(ipc_body(&message, bridge_end));
		channel_message_done(&message);
	}
}

static int print_address(const struct work *work)
{
	char name[FIGURES_TEXT_MAX];

	format_text(name, sizeof(name),
		    work->options->is_raw ? "127.0.0.1:%u" : "http://127.0.0.1:%u/",
		    work->host_port);
	(void)puts(name);
	if (print_flush() != 0)
		log_line("standard output cannot be written");
	everywhere_note("it leads to port %u of sandbox '%s', until Ctrl-C", work->port,
			work->sandbox);
	return 0;
}

/* Ask the supervisor to let it in. 0, or the exit code after a line. */
static int ask_supervisor(struct work *work)
{
	static struct question question = { .kind = ASK_BRIDGE };
	int code;

	question.is.bridge.port = work->port;
	question.is.bridge.host_port = work->host_port;
	question.words.sandbox = work->sandbox;
	question.network = work->network[0];
	code = ask_once(&work->options->attach, &question, NULL, NULL);
	fd_close(&work->network[0]);
	return code;
}

/* The signals that end it come through a descriptor: its last lines are said then. */
static int take_signals(struct work *work)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)sigaddset(&set, SIGQUIT);
	if (sigprocmask(SIG_BLOCK, &set, NULL) == 0)
		work->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (work->signals >= 0)
		return 0;
	return log_fail(MSP_EXIT_SOFTWARE, "signals: %s", errno_text(errno));
}

static int open_bridge(struct work *work)
{
	int code = prepare_bridge(work);

	if (!code)
		code = receive_message(work, IPC_TYPE_bridge_bound);
	if (code)
		return code;
	work->host_port = ipc_body(&message, bridge_bound)->host_port;
	code = ask_supervisor(work);
	if (!code)
		code = receive_message(work, IPC_TYPE_bridge_ready);
	if (code)
		return code;
	if (ipc_body(&message, bridge_ready)->step != BRIDGE_STEP_NONE) {
		char text[256];
		const struct ipc_bridge_ready *ready = ipc_body(&message, bridge_ready);

		return log_fail(ready->step == BRIDGE_STEP_CONNECT ? MSP_EXIT_AGAIN
								   : MSP_EXIT_SANDBOX,
				"port %u of sandbox '%s' cannot be opened: %s", work->port,
				work->sandbox, step_text(ready, text));
	}
	code = print_address(work);
	if (!code)
		code = receive_message(work, IPC_TYPE_bridge_end);
	if (!code)
		tell_end(ipc_body(&message, bridge_end));
	else if (code > MSP_EXIT_SIGNAL_BASE)
		close_bridge(work);
	return code;
}

/* Open a bridge. Return the exit code. */
static int run_open(const struct command *command, const struct bridge_options *options,
		    const struct command_words *words)
{
	static struct work work = {
		.control = { -1, -1 }, .network = { -1, -1 }, .listener = -1, .signals = -1
	};
	const char *rule;
	int code;

	if (words->count < 2)
		return command_usage_error(command, "a sandbox and a port are missing: msp bridge "
						    "SANDBOX PORT");
	work.options = options;
	work.sandbox = words->list[0];
	if (!command_check_sandbox(command, work.sandbox, &code))
		return code;
	rule = option_set_port(&work.port, words->list[1]);
	if (rule)
		return command_usage_error(command, "'%.100s' cannot be opened: it must be %s",
					   words->list[1], rule);
	command_name_lines(command);
	code = take_signals(&work);
	if (!code)
		code = open_bridge(&work);
	fd_close_all(work.control, 2);
	fd_close_all(work.network, 2);
	fd_close(&work.listener);
	bridge_program_await();
	fd_close(&work.signals);
	return code;
}

static int run_bridge(const struct command *command, int argc, char *argv[])
{
	static struct bridge_options options = { .attach.limits = LIMITS_UNSAID };
	struct command_words words = { .most = 2 };
	int code;

	if (!command_parse_words(command, argc, argv, &options, &words, &code))
		return code;
	if (!options.is_list && options.is_json)
		return command_usage_error(command, "--json is for --list");
	if (!options.is_list && !options.close)
		return run_open(command, &options, &words);
	if (words.count > 0 || (options.is_list && options.close))
		return command_usage_error(command, "--list and --close PORT stand alone");
	command_name_lines(command);
	return options.is_list ? bridges_list(&options.attach, options.is_json)
			       : bridges_close(&options.attach, options.close);
}

const struct command command_bridge = {
	.name = "bridge",
	.operands = "SANDBOX PORT | --list | --close PORT",
	.summary = "open a port of a persistent sandbox on this machine",
	.help = help,
	.options = { OPTION_ROWS(rows), .has_operands = true, .has_recent = true },
	.run = run_bridge,
};
