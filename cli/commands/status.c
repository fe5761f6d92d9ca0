/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp status`: how is the user's service?
 */
#include <stdio.h>
#include <unistd.h>

#include "ask/enabled.h"
#include "common/fd.h"
#include "common/ipc/ipc_client.h"
#include "common/ipc/limits_mode.h"
#include "common/log.h"
#include "common/text/format.h"
#include "frontend/posture_text.h"
#include "frontend/words/words.h"
#include "launcher/host/service.h"
#include "launcher/start/launch.h"
#include "options/command.h"
#include "show/json.h"
#include "show/print.h"

#define COLUMN 14
#define COLUMNS 100

struct status_options {
	const char *socket;
	bool is_json;
};

static const struct option_row rows[] = {
	OPTION(struct status_options, "json", NULL, option_set_flag, is_json,
	       "print one JSON object"),
	OPTION(struct status_options, "socket", "PATH", option_set_socket, socket,
	       "ask the service on this socket"),
};

/* The name of each state in JSON, and its exit code. */
static const struct {
	const char *name;
	int code;
} states[] = {
	[SERVICE_HERE] = { "running", 0 },
	[SERVICE_ABSENT] = { "not_running", MSP_EXIT_NOT_RUNNING },
	[SERVICE_UNTRUSTED] = { "untrusted", MSP_EXIT_REFUSED },
	[SERVICE_OTHER_VERSION] = { "other_version", MSP_EXIT_AGAIN },
	[SERVICE_FULL] = { "full", MSP_EXIT_AGAIN },
	[SERVICE_STOPPING] = { "stopping", MSP_EXIT_AGAIN },
	[SERVICE_WEAKER] = { "weaker", MSP_EXIT_REFUSED }, /* no limits were asked for here */
	[SERVICE_SILENT] = { "silent", MSP_EXIT_AGAIN },
	[SERVICE_UNFIT] = { "unfit", MSP_EXIT_REFUSED },
	[SERVICE_FAILED] = { "failed", MSP_EXIT_SOFTWARE },
};

static void print_row(const char *name, const char *text)
{
	(void)printf("  %-*s%s\n", COLUMN - 2, name, text);
}

static void format_uptime(uint64_t seconds, char *text, size_t room)
{
	const unsigned long long minutes = seconds / 60;

	if (minutes == 0)
		format_text(text, room, "%llu s", (unsigned long long)seconds);
	else if (minutes < 24ULL * 60)
		format_text(text, room, "%llu h %llu min", minutes / 60, minutes % 60);
	else
		format_text(text, room, "%llu days %llu h", minutes / (24ULL * 60),
			    minutes / 60 % 24);
}

static void print_status(const struct ipc_status *status)
{
	struct buffer posture = { 0 };
	char text[1024];

	format_uptime(status->uptime_us / 1000000, text, sizeof(text));
	(void)printf("the service is running, process %u, for %s\n", status->pid, text);
	format_text(text, sizeof(text), "%u of at most %u", status->clients, status->clients_max);
	print_row("clients", text);
	format_text(text, sizeof(text), "%u of at most %u; %llu %s started, %llu refused",
		    status->executions, status->executions_max,
		    (unsigned long long)status->executions_started,
		    status->executions_started == 1 ? "was" : "were",
		    (unsigned long long)status->executions_refused);
	print_row("executions", text);
	format_text(text, sizeof(text), "%llu MiB", (unsigned long long)status->memory_bytes >> 20);
	if (status->memory_max_bytes > 0)
		format_append(text, sizeof(text), " of at most %llu MiB for all together",
			      (unsigned long long)status->memory_max_bytes >> 20);
	else
		format_append(text, sizeof(text), ", without a bound for all together");
	if (status->limits != LIMITS_CGROUP)
		format_append(text, sizeof(text), " (reserved, not measured)");
	print_row("memory", text);
	print_row("limits", status->limits == LIMITS_CGROUP
				    ? "cgroup"
				    : "fallback: weaker ones; 'msp doctor' says what is missing");
	format_text(text, sizeof(text), "Landlock ABI %u", status->landlock_abi);
	print_row("kernel", text);
	format_text(text, sizeof(text), "generation %u%s", status->generation,
		    status->reload_failed ? "; the file has changed since and cannot be used: "
					    "'msp profile check' says why"
					  : "");
	print_row("policy", text);
	if (status->is_offline)
		print_row("network", "none: no host is reached; 'msp doctor' has the remedy");
	if (!status->posture.is_measured)
		return;
	posture_describe(&status->posture, &posture);
	(void)printf("  %-*s", COLUMN - 2, "posture");
	print_wrapped(posture.bytes, COLUMN, COLUMNS);
	buffer_done(&posture);
}

static void write_status(struct json_writer *json, const struct ipc_status *status)
{
	json_put_number(json, "pid", status->pid);
	json_put_number(json, "uptime_ms", status->uptime_us / 1000);
	json_put_number(json, "clients", status->clients);
	json_put_number(json, "clients_max", status->clients_max);
	json_open_object(json, "executions");
	json_put_number(json, "now", status->executions);
	json_put_number(json, "max", status->executions_max);
	json_put_number(json, "started", status->executions_started);
	json_put_number(json, "refused", status->executions_refused);
	json_close_object(json);
	json_open_object(json, "memory");
	json_put_number(json, "bytes", status->memory_bytes);
	if (status->memory_max_bytes > 0)
		json_put_number(json, "max_bytes", status->memory_max_bytes);
	else
		json_put_null(json, "max_bytes");
	json_close_object(json);
	json_open_object(json, "policy");
	json_put_number(json, "generation", status->generation);
	json_put_bool(json, "reload_failed", status->reload_failed != 0);
	json_close_object(json);
	json_put_bool(json, "offline", status->is_offline != 0);
	json_open_object(json, "posture");
	json_put_text(json, "limits", limits_mode_name(status->limits));
	json_put_number(json, "landlock_abi", status->landlock_abi);
	posture_put(json, &status->posture);
	json_close_object(json);
}

static int print_json(const struct service *service, const struct ipc_status *status)
{
	struct json_writer *json = json_begin_object();

	json_put_text(json, "version", MSP_VERSION);
	json_put_text(json, "state", states[service->state].name);
	if (service->state == SERVICE_HERE)
		write_status(json, status);
	else
		json_put_text(json, "message", service->text);
	return json_finish();
}

static int run_status(const struct command *command, int argc, char *argv[])
{
	struct status_options options = { 0 };
	struct ipc_status answer = { 0 };
	struct config config = CONFIG_UNREAD;
	struct service service;
	char text[LAUNCH_TEXT_MAX];
	int error = 0;
	int rest;
	int code;

	if (!command_parse(command, argc, argv, &options, &rest, &code))
		return code;
	if (launch_standard_fds() < 0)
		return log_fail(MSP_EXIT_SOFTWARE, "status: /dev/null cannot be opened");
	if (launch_drop_root(NULL, &config, &code, text) != 0)
		return log_fail(code, "status: %s", text);
	service = service_connect(options.socket);
	service_ask(&service, &answer);
	fd_close(&service.fd);
	if (options.is_json)
		error = print_json(&service, &answer);
	else if (service.state == SERVICE_HERE)
		print_status(&answer);
	else
		log_line(
			"status: %s%s", service.text,
			service.state == SERVICE_ABSENT && service_is_enabled()
				? ". msp.socket is enabled, but does not "
				  "listen: " SERVICE_LISTEN_AGAIN " have it listen"
			: service.state == SERVICE_ABSENT
				? service_has_manager()
					  ? ". 'systemctl --user start msp.service' starts the "
					    "service; without it, each client gets a supervisor of "
					    "its own"
					  : ". 'msp setup' starts the service; without it, each "
					    "client gets a supervisor of its own"
				: "");
	if (error || fflush(stdout) != 0)
		return log_fail(MSP_EXIT_SOFTWARE, "status: standard output cannot be written");
	return states[service.state].code;
}

const struct command command_status = {
	.name = "status",
	.operands = "",
	.summary = "show how the user's service is",
	.help = "Ask the user's service, which 'msp serve' and 'msp run' go through where it\n"
		"answers, how it is: its process, clients, executions and memory, and what it\n"
		"enforces. The exit code is 0 when it runs, 3 when it does not, 75 when it is\n"
		"of another version, hangs, or is full, and 78 when it cannot be trusted.\n",
	.options = { OPTION_ROWS(rows) },
	.run = run_status,
};
