/* SPDX-License-Identifier: Apache-2.0 */
#include "stewards/base/steward.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/confine/landlock.h"
#include "common/confine/relro.h"
#include "common/confine/steps.h"
#include "common/fd.h"
#include "common/kernel.h"
#include "common/log.h"

static void check_descriptors(const char *kinds)
{
	int fd = STEWARD_FD_CHANNEL;

	for (; *kinds; fd++)
		if (!fd_is_kind(fd, *kinds++))
			log_fatal(MSP_EXIT_USAGE,
				  "descriptor %d is not msp's: this program is started by msp", fd);
	confine_require(confine_result(kernel_close_range((unsigned int)fd, ~0U)),
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
	confine_require(error, "setting signals");
}

void steward_begin(const char *name, const char *kinds)
{
	log_set_name(name);
	confine_require(relro_protect(), "protecting its own tables");
	check_descriptors(kinds);
	set_signals();
}

static void enter_landlock(uint64_t rights)
{
	struct kernel_landlock_ruleset attr;
	const int ruleset = confine_ruleset(LANDLOCK_NET_ALL, &attr);

	confine_require(landlock_allow(ruleset, &attr, STEWARD_FD_DIRECTORY, rights),
			"allowing its directory in Landlock");
	confine_enter(ruleset);
}

void steward_confine(uint64_t rights, const struct sock_filter *filter, uint32_t count)
{
	confine_rights();
	enter_landlock(rights);
	confine_require(seccomp_install(filter, count), "installing the system call filter");
}

void steward_hear_start(struct channel *channel, uint32_t type, struct channel_message *ret)
{
	enum ipc_error wrong = IPC_OK;
	const int status = channel_receive(channel, ret, 0, &wrong);

	if (status == 0)
		exit(0); /* the supervisor has ended before it began */
	if (status < 0 || ret->type != type ||
	    memcmp(ret->body, ipc_schema_hash, sizeof(ipc_schema_hash)) != 0)
		log_fatal(MSP_EXIT_SOFTWARE,
			  "descriptor %d is not a supervisor of this version (%s): start msp "
			  "instead",
			  STEWARD_FD_CHANNEL,
			  wrong ? ipc_error_text(wrong)
				: errno_text(status < 0 ? -status : EPROTO));
	channel->phase = IPC_SERVE;
}
