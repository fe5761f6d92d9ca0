/* SPDX-License-Identifier: Apache-2.0 */
#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/gateway.h"
#include "base/generation.h"
#include "base/state.h"
#include "base/store_client.h"
#include "common/confine/landlock.h"
#include "common/fd.h"
#include "common/ipc/dispatch.h"
#include "common/ipc/ipc_factory.h"
#include "common/ipc/ipc_start.h"
#include "common/ipc/limits_mode.h"
#include "common/log.h"
#include "run/execution.h"
#include "run/pool.h"

static struct start start = {
	.policy = -1,
	.cgroup = -1,
	.state = -1,
	.opener = -1,
	.audit = { .channel = -1, .problem = "the launcher named no place for it" },
	.service = { .listener = -1, .notify = -1 },
};

static void refuse_root(void)
{
	if (geteuid() == 0 || getuid() != geteuid())
		log_fatal(MSP_EXIT_REFUSED, "will not run as root: start msp, which changes to the "
					    "account 'msp' first");
}

int start_ask_factory(int flags, siginfo_t *ret)
{
	const int options = WEXITED | WNOHANG | flags;

	return waitid(P_PIDFD, START_FD_FACTORY_PIDFD, ret, options) == 0 ? 0 : -errno;
}

/* The launcher has started it, as our child, before we were executed: it makes itself ready
 * meanwhile, and does nothing for anybody before it is told to serve. */
static void check_factory(void)
{
	struct ucred maker;
	socklen_t size = sizeof(maker);
	siginfo_t end;

	for (int fd = START_FD_LAUNCHER; fd < START_FD_END; fd++) {
		if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
			log_fatal(MSP_EXIT_USAGE,
				  "descriptor %d is missing: this program is started by msp", fd);
	}
	if (!fd_is_kind(START_FD_FACTORY, 's') ||
	    getsockopt(START_FD_FACTORY, SOL_SOCKET, SO_PEERCRED, &maker, &size) != 0 ||
	    maker.pid != getpid() || start_ask_factory(WNOWAIT, &end) != 0)
		log_fatal(MSP_EXIT_USAGE,
			  "descriptors %d and %d are no factory's: this program is started by msp",
			  START_FD_FACTORY, START_FD_FACTORY_PIDFD);
	supervisor.launcher.fd = supervisor.gateway.fd = -1;
	supervisor.factory_pidfd = START_FD_FACTORY_PIDFD;
	supervisor.factory =
		(struct channel){ START_FD_FACTORY, IPC_SUPERVISOR, IPC_FACTORY, IPC_SETUP };
}

static int handle_supervisor_start(void *context, struct channel_message *message)
{
	const struct ipc_supervisor_start *from = ipc_body(message, supervisor_start);

	if (start.policy >= 0 || from->executions == 0 || from->executions > EXECUTIONS_MAX ||
	    memcmp(from->schema, ipc_schema_hash, sizeof(from->schema)) != 0)
		return -EPROTO;
	start.policy = channel_take_fd(message, 0);
	supervisor.executions_max = from->executions;
	supervisor.memory_bytes = from->memory_bytes;
	supervisor.is_service = from->frontend == FRONTEND_SERVICE;
	start.frontend = from->frontend;
	start.limits = from->limits;
	memcpy(supervisor.default_name, from->default_profile, sizeof(supervisor.default_name));
	return 0;
}

/* Keep the message's descriptor `index` in the place of an earlier one. Returns 0, for handlers. */
static int keep_fd(int *at, struct channel_message *message, unsigned int index)
{
	fd_replace(at, channel_take_fd(message, index));
	return 0;
}

/* Take a message that is its descriptor. */
static int handle_descriptor(void *context, struct channel_message *message)
{
	static int *const places[IPC_TYPE_COUNT] = {
		[IPC_TYPE_supervisor_cgroup] = &start.cgroup,
		[IPC_TYPE_supervisor_state] = &start.state,
		[IPC_TYPE_supervisor_opener] = &start.opener,
		[IPC_TYPE_supervisor_listen] = &start.service.listener,
	};

	return keep_fd(places[message->type], message, 0);
}

static int handle_supervisor_audit(void *context, struct channel_message *message)
{
	memcpy(start.audit.path, ipc_body(message, supervisor_audit)->path, IPC_PATH_MAX);
	return keep_fd(&start.audit.channel, message, 0);
}

static int handle_supervisor_unaudited(void *context, struct channel_message *message)
{
	memcpy(start.audit.problem, ipc_body(message, supervisor_unaudited)->problem, IPC_LIST_MAX);
	return 0;
}

/* A sandbox is handed a sealed copy, as with child-init. */
static int handle_supervisor_file(void *context, struct channel_message *message)
{
	const int sealed = fd_sealed_from_file("msp-file", message->fds[0]);

	fd_replace(&supervisor.file_image, sealed);
	return sealed < 0 ? sealed : 0;
}

static int handle_supervisor_stateless(void *context, struct channel_message *message)
{
	memcpy(supervisor.stateless, ipc_body(message, supervisor_stateless)->problem,
	       IPC_LIST_MAX);
	return 0;
}

static int handle_supervisor_notify(void *context, struct channel_message *message)
{
	start.service.watchdog_us = ipc_body(message, supervisor_notify)->watchdog_us;
	return keep_fd(&start.service.notify, message, 0);
}

static int handle_supervisor_run(void *context, struct channel_message *message)
{
	bool *is_complete = context;

	start.run = *ipc_body(message, supervisor_run);
	*is_complete = start.policy >= 0 && start.run.pins == generation_pins() &&
		       supervisor.is_service == (start.service.listener >= 0);
	return *is_complete ? 0 : -EPROTO;
}

static const dispatch_handler handlers[IPC_TYPE_COUNT] = {
	[IPC_TYPE_supervisor_start] = handle_supervisor_start,
	[IPC_TYPE_supervisor_cgroup] = handle_descriptor,
	[IPC_TYPE_supervisor_pin] = generation_take_pin,
	[IPC_TYPE_supervisor_audit] = handle_supervisor_audit,
	[IPC_TYPE_supervisor_unaudited] = handle_supervisor_unaudited,
	[IPC_TYPE_supervisor_state] = handle_descriptor,
	[IPC_TYPE_supervisor_file] = handle_supervisor_file,
	[IPC_TYPE_supervisor_gateway] = gateway_open,
	[IPC_TYPE_supervisor_opener] = handle_descriptor,
	[IPC_TYPE_supervisor_stateless] = handle_supervisor_stateless,
	[IPC_TYPE_supervisor_listen] = handle_descriptor,
	[IPC_TYPE_supervisor_notify] = handle_supervisor_notify,
	[IPC_TYPE_supervisor_run] = handle_supervisor_run,
};

static void receive_launcher(void)
{
	const struct channel launcher = { START_FD_LAUNCHER, IPC_SUPERVISOR, IPC_LAUNCHER,
					  IPC_SETUP };
	static struct channel_message message;
	enum ipc_error wrong = IPC_OK;
	bool is_complete = false;
	int status = 1;

	while (status == 1 && !is_complete)
		status = dispatch_one(&launcher, &message, 0, handlers, &is_complete, &wrong);
	if (status == 0) /* it found something wrong meanwhile and has said so, or was killed */
		exit(MSP_EXIT_SOFTWARE);
	if (status < 0)
		log_fatal(MSP_EXIT_SOFTWARE,
			  "descriptor %d is not a launcher of this version (%s): start msp instead",
			  START_FD_LAUNCHER, wrong ? ipc_error_text(wrong) : errno_text(-status));
}

static void check_requirements(void)
{
	supervisor.landlock_abi = landlock_abi();
	supervisor.cgroup = start.cgroup;
	supervisor.limits = start.cgroup >= 0 ? LIMITS_CGROUP : LIMITS_FALLBACK;
	supervisor.accepts_fallback = start.limits == LIMITS_FALLBACK;
	if (!generation_open(start.policy))
		exit(MSP_EXIT_REFUSED);
	supervisor.uid = geteuid();
	supervisor.pid = (uint32_t)getpid();
}

/* A profile that there is not is refused when it is asked for. */
static int make_only(void)
{
	const char *name = start.run.profile;
	const int found = name[0] ? plan_profile_find(&supervisor.plan, name)
				  : (int)supervisor.default_profile;

	return found >= 0 && supervisor.is_for_one ? pool_make((uint32_t)found) : 0;
}

static int begin_factory(void)
{
	struct ipc_factory_start begin = { .limits = supervisor.limits };
	const struct ipc_factory_cgroup cgroup = { .slots = SANDBOX_SLOTS };
	static const struct ipc_factory_serve serve;
	int error;

	memcpy(begin.schema, ipc_schema_hash, sizeof(begin.schema));
	error = channel_send(&supervisor.factory, IPC_TYPE_factory_start, &begin,
			     &supervisor.plan_fd, 0);
	if (!error && start.cgroup >= 0)
		error = channel_send(&supervisor.factory, IPC_TYPE_factory_cgroup, &cgroup,
				     &start.cgroup, 0);
	if (!error)
		error = channel_send(&supervisor.factory, IPC_TYPE_factory_serve, &serve, NULL, 0);
	supervisor.factory.phase = IPC_SERVE;
	return error ? error : generation_send_pins(supervisor.plan.slot, 0);
}

/* Open the store of persistent sandboxes and the files that msp-layers is handed. Without them no
 * sandbox is persistent, and everything else goes on. */
static void open_state(void)
{
	int error = start.state < 0 ? -ENOENT : store_connect(start.state);

	if (!error) {
		supervisor.null = open("/dev/null", O_RDWR | O_CLOEXEC);
		supervisor.nothing = fd_sealed_from_bytes("nothing", "", 0);
		error = supervisor.null < 0 || supervisor.nothing < 0 ? -EMFILE : 0;
	}
	if (error && !supervisor.stateless[0])
		(void)snprintf(supervisor.stateless, sizeof(supervisor.stateless),
			       start.state < 0 ? "no state directory could be opened"
					       : "the state directory cannot be used: %s",
			       errno_text(-error));
}

void start_supervisor(struct start *ret)
{
	int error;

	supervisor.sandbox_handlers = &execution_handlers;
	supervisor.file_image = supervisor.null = supervisor.nothing = -1;
	/* A write beyond the limit for files is an error like others. */
	if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR)
		log_fatal(MSP_EXIT_SOFTWARE, "signals cannot be set: %s", errno_text(errno));
	fd_raise_limit(); /* each execution costs up to five for a moment */
	refuse_root();
	check_factory();
	receive_launcher();
	supervisor.is_for_one = start.run.is_expected != 0;
	check_requirements();
	audit_open(&start.audit, start.frontend);
	error = begin_factory();
	if (error && error != -EPIPE) /* it has ended, and why waits in its channel */
		log_fatal(MSP_EXIT_SOFTWARE, "cannot talk to the factory: %s", errno_text(-error));
	error = make_only();
	if (error)
		log_fatal(MSP_EXIT_SOFTWARE, "cannot prepare the sandbox: %s", errno_text(-error));
	open_state();
	start.policy = -1;
	*ret = start;
}
