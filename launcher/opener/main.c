/* SPDX-License-Identifier: Apache-2.0
 *
 * Theory of operation
 *
 * msp-opener is the part of the launcher that stays, as long as its supervisor. The supervisor
 * reads no text, starts no program and opens nothing of the host's. Instead it asks here for a
 * policy that the operator has changed, and for the directories that requests name.
 *
 * The launcher executes it with descriptors at places (launcher/start/opener.h); begin.c checks
 * these and forks. Two processes are left:
 *
 * - The opener (answer.c) takes the supervisor's messages. It opens directories (workspace.c) and
 *   records bridges (bridge_hub.c).
 * - The starter (starter.c) does what needs the user's rights. It compiles the policy (msp-policy),
 *   makes certificates and reads secrets (trust.c), starts a gateway or msp-bridge, and asks
 *   msp-git-config what git executes in a directory. The opener passes these questions on; the
 *   starter answers the supervisor, whose channel both have.
 *
 * The opener must: open any directory with O_PATH that the user may search, since a person may work
 * in each; hand it on; read its own mount table, and names in homes, where hidden files are
 * protected. It must not: read, write or make any other file, see a secret, connect, execute, or
 * have a capability.
 *
 * The starter is not confined: a secret's command is a program of the user's, which may be set-id
 * or need a network, and Landlock and a filter are inherited. It must not: parse bytes of another.
 * It takes three kinds of messages, of fixed structs, and a path in one goes to msp-git-config as
 * it is. It runs programs beside itself, and commands that the operator's file names.
 *
 * An opener that is taken over can hand the supervisor any directory as the one that was asked for,
 * or a plan of its own: then a sandbox sees it. It can have the starter read the policy again, and
 * bind ports of the loopback. It learns nothing of what files hold.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/confine/capabilities.h"
#include "common/confine/landlock.h"
#include "common/confine/relro.h"
#include "common/confine/steps.h"
#include "common/fd.h"
#include "common/kernel.h"
#include "common/limits.h"
#include "common/log.h"
#include "launcher/opener/parts.h"
#include "seccomp_filter.h"

/* Variables that say which directories are protected (protected.c, state_place.c). */
static const char *const variables[] = { "HOME=", "PATH=",      "TMPDIR=",
					 "XDG_",  "SUDO_USER=", "MSP_STATE_DIR=" };

/* Must not: keep the environment's other variables, which the starter reads secrets from. */
static void forget_environment(void)
{
	for (char **at = environ; *at; at++) {
		bool is_kept = false;

		for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
			is_kept |= strncmp(*at, variables[i], strlen(variables[i])) == 0;
		if (!is_kept)
			explicit_bzero(*at, strlen(*at));
	}
}

/* Must: read its mount table, and see names in homes. The table's descriptor stays open: Landlock
 * knows a file of /proc by an inode, which it has as long as it is in use. */
static void enter_landlock(const struct protected_set *set)
{
	struct kernel_landlock_ruleset attr;
	const int ruleset = confine_ruleset(LANDLOCK_NET_ALL, &attr);
	const int table = open("/proc/self/mountinfo", O_PATH | O_CLOEXEC);

	confine_require(
		table < 0 ? -errno
			  : landlock_allow(ruleset, &attr, table, LANDLOCK_ACCESS_FS_READ_FILE),
		"allowing its mount table in Landlock");
	for (size_t i = 0; i < PROTECTED_HOMES_MAX; i++) {
		int home FD_OWNED = set->homes[i] ? open(set->homes[i], O_PATH | O_CLOEXEC) : -1;

		confine_require(home < 0 ? 0
					 : landlock_allow(ruleset, &attr, home,
							  LANDLOCK_ACCESS_FS_READ_DIR),
				"allowing homes in Landlock");
	}
	confine_enter(ruleset);
}

static void confine_opener(const struct protected_set *set)
{
	forget_environment();
	confine_privileges();
	enter_landlock(set);
	CONFINE_FILTER(seccomp_filter);
}

/* The signals mean the supervisor, also where both are told; its end closes the channel. */
static void ignore_signals(void)
{
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
}

int main(void)
{
	static struct opener_start start;

	log_set_name("msp-opener");
	(void)prctl(PR_SET_NAME, "msp-opener"); /* for ps(1) only */
	confine_require(relro_protect(), "protecting its own tables");
	if (!opener_take_start(&start))
		log_fatal(MSP_EXIT_USAGE, "this program is started by msp");
	confine_require(capabilities_set(0), "dropping capabilities");
	confine_require(confine_result(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)), "hiding its memory");
	ignore_signals();
	opener_serve(&start, confine_opener);
	return 0;
}
