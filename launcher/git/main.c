/* SPDX-License-Identifier: Apache-2.0
 *
 * Theory of operation
 *
 * msp-git-config WORKSPACE HOME
 *
 * It answers one question of the path opener: what in this directory does the host's git execute?
 * For that it reads the configuration of the repository, of the user and of the system (named.c,
 * user.c), which is text that others may have written (config.c), and writes a list of paths to
 * its standard output, a pipe. HOME is what the account database has.
 *
 * Must: read any file that the user may, for a configuration includes files by name; end after one
 * answer. Must not: write, create or execute a file, start a process, or have a network. When it is
 * taken over, it can write a wrong list: msp then lets an apply change a file that git executes, or
 * holds too much back. The list can carry what a file holds to msp-layers, which compares it with
 * paths of changes; of the user's name and email a new sandbox sees 255 bytes each.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/confine/landlock.h"
#include "common/confine/relro.h"
#include "common/confine/steps.h"
#include "common/fd.h"
#include "common/kernel.h"
#include "common/limits.h"
#include "common/log.h"
#include "launcher/git/home.h"
#include "launcher/git/named.h"
#include "seccomp_filter.h"

static void enter_landlock(void)
{
	struct kernel_landlock_ruleset attr;
	const int ruleset = confine_ruleset(LANDLOCK_NET_ALL, &attr);
	int root FD_OWNED = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	confine_require(root < 0 ? -errno
				 : landlock_allow(ruleset, &attr, root,
						  LANDLOCK_ACCESS_FS_READ_FILE |
							  LANDLOCK_ACCESS_FS_READ_DIR),
			"allowing to read in Landlock");
	confine_enter(ruleset);
}

int main(int argc, char **argv)
{
	int error;

	log_set_name("msp-git-config");
	confine_require(relro_protect(), "protecting its own tables");
	if (argc != 3 || argv[1][0] != '/' || !fd_is_kind(STDOUT_FILENO, 'p'))
		log_fatal(MSP_EXIT_USAGE, "this program is started by msp");
	confine_require(confine_result(kernel_close_range(STDERR_FILENO + 1, ~0U)),
			"closing other descriptors");
	confine_rights();
	enter_landlock();
	CONFINE_FILTER(seccomp_filter);
	home_set_own(argv[2]);
	error = git_named_write(argv[1], STDOUT_FILENO);
	if (error)
		log_fatal(MSP_EXIT_SOFTWARE, "%s", errno_text(-error));
	return 0;
}
