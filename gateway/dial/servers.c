/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/dial/servers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "common/confine/landlock.h"
#include "common/confine/steps.h"
#include "common/fd.h"
#include "common/kernel.h"
#include "common/limits.h"
#include "common/log.h"
#include "gateway/dial/resolv_conf.h"
#include "servers_filter.h"
#include "stewards/base/child.h"

#define PATH "/etc/resolv.conf"
#define NAME "msp-dial-names" /* the process's */
#define FILE_MAX 16384U
#define ANSWER_S 2

static int reader = -1, reader_pidfd = -1;

/* Answer with the servers; or with no text: the file cannot be read now, or is being written. */
static void answer_question(int channel)
{
	static bool was_read;
	char text[FILE_MAX], servers[SERVERS_TEXT_MAX] = "";
	int fd FD_OWNED = open(PATH, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 ? read(fd, text, sizeof(text)) : errno == ENOENT ? 0 : -1;

	if (size > 0 || (size == 0 && !was_read)) {
		resolv_conf_read(text, (size_t)size, servers);
		was_read = true;
	}
	if (send(channel, servers, strlen(servers) + 1, MSG_NOSIGNAL) < 0)
		_exit(0); /* msp-dial has ended */
}

/* Allow to read the files of a folder; a folder that is not there has none. */
static void allow_folder(int ruleset, const struct kernel_landlock_ruleset *attr, const char *path)
{
	int folder FD_OWNED = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (folder >= 0)
		confine_require(landlock_allow(ruleset, attr, folder, LANDLOCK_ACCESS_FS_READ_FILE),
				"allowing the folder of resolv.conf in Landlock");
}

/* The file is replaced as a whole, so that its folder is allowed: its own, and the one that it is a
 * link into. */
static void confine_reader(void)
{
	struct kernel_landlock_ruleset attr;
	char path[PATH_MAX];
	const int ruleset = confine_ruleset(LANDLOCK_NET_ALL, &attr);

	allow_folder(ruleset, &attr, "/etc");
	if (realpath(PATH, path) != NULL) {
		*strrchr(path, '/') = '\0';
		allow_folder(ruleset, &attr, path);
	}
	confine_enter(ruleset);
	CONFINE_FILTER(seccomp_filter);
}

static void run_reader(int channel)
{
	char question;

	confine_require(confine_result(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)),
			"ending with its parent");
	confine_require(confine_result(prctl(PR_SET_NAME, NAME, 0, 0, 0)), "naming itself");
	if (dup3(channel, STDERR_FILENO + 1, O_CLOEXEC) < 0)
		_exit(MSP_EXIT_SOFTWARE);
	channel = STDERR_FILENO + 1;
	confine_require(confine_result(kernel_close_range((unsigned int)channel + 1, ~0U)),
			"closing other descriptors");
	confine_rights();
	confine_reader();
	while (recv(channel, &question, 1, 0) == 1)
		answer_question(channel);
	_exit(0);
}

void servers_start(void)
{
	const struct timeval most = { .tv_sec = ANSWER_S };
	int ends[2];
	int status;

	status = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0 &&
				 setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &most,
					    sizeof(most)) == 0
			 ? child_fork(&reader_pidfd)
			 : -errno;
	if (status == 0)
		run_reader(ends[1]);
	confine_require(status < 0 ? status : 0, "starting the reader of resolv.conf");
	fd_close(&ends[1]);
	reader = ends[0];
}

void servers_end(void)
{
	fd_close(&reader); /* it ends with that */
	child_await(&reader_pidfd);
}

bool servers_ask(char ret[SERVERS_TEXT_MAX])
{
	char text[SERVERS_TEXT_MAX];
	ssize_t size;

	if (send(reader, "?", 1, MSG_NOSIGNAL) != 1)
		log_fatal(MSP_EXIT_SOFTWARE, "the reader of resolv.conf has ended");
	size = recv(reader, text, sizeof(text), 0);
	if (size <= 1 || text[size - 1] != '\0')
		return false;
	memcpy(ret, text, (size_t)size);
	return true;
}
