/* SPDX-License-Identifier: Apache-2.0
 *
 * What a workload shall not see of its caller, of its init and of the host's processes.
 */
#include "probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FDS_END 65536

extern char **environ;

/* A descriptor beyond the three of every program. */
static int act_descriptors(char **arguments)
{
	int result = EBADF;

	(void)arguments;
	for (int fd = 3; fd < FDS_END; fd++) {
		if (fcntl(fd, F_GETFD) >= 0) {
			(void)printf("descriptor %d\n", fd);
			result = SUCCEEDED;
		}
	}
	return result;
}

/* DEVICE:INODE...: is one of the caller's files behind a descriptor? */
static int act_callers_files(char **arguments)
{
	for (int fd = 0; fd < FDS_END; fd++) {
		struct stat status;
		char here[64];

		if (fstat(fd, &status) != 0)
			continue;
		(void)snprintf(here, sizeof(here), "%lu:%lu", (unsigned long)status.st_dev,
			       (unsigned long)status.st_ino);
		for (char **file = arguments; *file; file++) {
			if (strcmp(*file, here) == 0) {
				(void)printf("descriptor %d is %s\n", fd, here);
				return SUCCEEDED;
			}
		}
	}
	return EBADF;
}

/* Processes that /proc shows beside this one. */
static int act_see_others(char **arguments)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	int result = ENOENT;

	(void)arguments;
	if (!proc)
		return UNPREPARED;
	while ((entry = readdir(proc)) != NULL) {
		const long pid = strtol(entry->d_name, NULL, 10);

		if (pid > 0 && pid != getpid()) {
			(void)printf("process %ld\n", pid);
			result = SUCCEEDED;
		}
	}
	return result;
}

static bool can_open(const char *path)
{
	const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

/* Anything of PID 1 that says what it is or holds. */
static int act_see_init(char **arguments)
{
	/* clang-format off */
	static const char *const names[] = {
		"exe",	  "environ", "cmdline", "mem",	   "maps", "fd",	"fdinfo", "root",
		"cwd",	  "ns",	     "stat",	"status",  "auxv", "task",	"comm",	  "io",
		"mounts", "net",     "stack",	"syscall", "mountinfo", "map_files",
	};
	/* clang-format on */
	int result = ENOENT;

	(void)arguments;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "/proc/1/%s", names[i]);
		if (can_open(path)) {
			(void)printf("%s\n", path);
			result = SUCCEEDED;
		}
	}
	return result;
}

/* Once, as early and as cheaply as it can be done. */
static int act_see_init_descriptors(char **arguments)
{
	struct stat status;

	(void)arguments;
	if (open("/proc/1/fd", O_RDONLY | O_DIRECTORY) >= 0 || stat("/proc/1/fd/3", &status) == 0)
		return SUCCEEDED;
	return errno;
}

/* A text in the environment of this process or of any other that can be read. */
static int act_environment(char **arguments)
{
	for (char **entry = environ; *entry; entry++) {
		if (strstr(*entry, arguments[0]))
			return SUCCEEDED;
	}
	return ENOENT;
}

/* The working directory as the kernel names it: beneath the root, and really there? */
static int act_cwd_outside(char **arguments)
{
	struct stat here;
	struct stat there;
	char *path = getcwd(NULL, 0);

	(void)arguments;
	if (!path)
		return errno == ENOENT ? SUCCEEDED : errno;
	(void)printf("%s\n", path);
	if (path[0] != '/' || stat(".", &here) != 0 || stat(path, &there) != 0)
		return SUCCEEDED;
	return here.st_dev == there.st_dev && here.st_ino == there.st_ino ? ENOENT : SUCCEEDED;
}

/* Nothing to refuse: for tests that only need a workload. */
static int act_nothing(char **arguments)
{
	(void)arguments;
	return SUCCEEDED;
}

static const struct act list[] = {
	{ "descriptors", act_descriptors },
	{ "callers-files", act_callers_files },
	{ "see-others", act_see_others },
	{ "see-init", act_see_init },
	{ "see-init-descriptors", act_see_init_descriptors },
	{ "environment", act_environment },
	{ "cwd-outside", act_cwd_outside },
	{ "nothing", act_nothing },
};

const struct acts sight_acts = ACTS(list);
