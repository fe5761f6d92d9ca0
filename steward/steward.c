/* SPDX-License-Identifier: Apache-2.0 */
#include "steward/steward.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/confine/capabilities.h"
#include "common/confine/landlock.h"
#include "common/confine/relro.h"
#include "common/confine/seccomp.h"
#include "common/fd.h"
#include "common/kernel.h"
#include "common/log.h"

static void require_step(int error, const char *step)
{
	if (error)
		log_fatal(MSP_EXIT_REFUSED, "cannot confine itself: %s: %s", step,
			  errno_text(-error));
}

static int step_result(int status)
{
	return status == 0 ? 0 : -errno;
}

static void check_descriptors(void)
{
	if (!fd_is_kind(STEWARD_FD_CHANNEL, 's') || !fd_is_kind(STEWARD_FD_DIRECTORY, 'd'))
		log_fatal(MSP_EXIT_USAGE,
			  "descriptors %d and %d are no supervisor's: this program is started by "
			  "msp",
			  STEWARD_FD_CHANNEL, STEWARD_FD_DIRECTORY);
	require_step(step_result(kernel_close_range(STEWARD_FD_END, ~0U)),
		     "closing other descriptors");
}

static void set_signals(void)
{
	static const int ignored[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGXFSZ };
	sigset_t none;
	int error = 0;

	(void)setsid(); /* a leader has its own already */
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]) && !error; i++)
		error = signal(ignored[i], SIG_IGN) == SIG_ERR ? -errno : 0;
	if (!error && (sigemptyset(&none) != 0 || sigprocmask(SIG_SETMASK, &none, NULL) != 0))
		error = -errno;
	require_step(error, "setting signals");
}

void steward_begin(const char *name)
{
	log_set_name(name);
	require_step(relro_protect(), "protecting its own tables");
	check_descriptors();
	set_signals();
}

static void enter_landlock(uint64_t rights)
{
	const struct kernel_landlock_ruleset everything = {
		.handled_access_fs = LANDLOCK_FS_ALL,
		.handled_access_net = LANDLOCK_NET_ALL,
		.scoped = LANDLOCK_SCOPE_ALL,
	};
	const int abi = landlock_abi();
	const struct kernel_landlock_ruleset attr = landlock_fit(everything, abi);
	int ruleset;

	require_step(abi < 1 ? -EOPNOTSUPP : 0, "asking for Landlock");
	ruleset = landlock_create(&attr);
	require_step(ruleset < 0 ? ruleset : 0, "creating the Landlock ruleset");
	require_step(landlock_allow(ruleset, &attr, STEWARD_FD_DIRECTORY, rights),
		     "allowing its directory in Landlock");
	require_step(landlock_enter(ruleset), "entering the Landlock domain");
	fd_close(&ruleset);
}

void steward_confine(uint64_t rights, const struct sock_filter *filter, uint32_t count)
{
	const struct rlimit none = { 0, 0 };

	require_step(step_result(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)), "no_new_privs");
	require_step(step_result(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)), "not dumpable");
	require_step(step_result(setrlimit(RLIMIT_CORE, &none)), "refusing core dumps");
	require_step(capabilities_set(0), "dropping capabilities");
	enter_landlock(rights);
	require_step(seccomp_install(filter, count), "installing the system call filter");
}

void steward_hear_start(struct channel *channel, uint32_t type, struct channel_message *ret)
{
	enum ipc_error wrong = IPC_OK;
	const int status = channel_receive(channel, ret, 0, &wrong);

	if (status == 0)
		_exit(0); /* the supervisor has ended before it began */
	if (status < 0 || ret->type != type ||
	    memcmp(&ret->body, ipc_schema_hash, sizeof(ipc_schema_hash)) != 0)
		log_fatal(MSP_EXIT_SOFTWARE,
			  "descriptor %d is not a supervisor of this version (%s): start msp "
			  "instead",
			  STEWARD_FD_CHANNEL,
			  wrong ? ipc_error_text(wrong)
				: errno_text(status < 0 ? -status : EPROTO));
	channel->phase = IPC_SERVE;
}
