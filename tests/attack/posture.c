/* SPDX-License-Identifier: Apache-2.0
 *
 * What every workload must find of itself, whatever went wrong on the way to it. A check that
 * cannot be made counts as passed: tests make its system calls fail too.
 */
#include "probe.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

static char status[8192];

static void read_status(void)
{
	FILE *file = fopen("/proc/self/status", "re");

	if (!file)
		return;
	status[fread(status, 1, sizeof(status) - 1, file)] = '\0';
	(void)fclose(file);
}

/* Is there a line of the status that is `key` and something else than `value`? */
static bool differs(const char *key, const char *value)
{
	const char *line = strstr(status, key);

	return line && strncmp(line + strlen(key), value, strlen(value)) != 0;
}

static bool has_capabilities(void)
{
	static const char none[] = "0000000000000000\n";

	return differs("\nCapInh:\t", none) || differs("\nCapPrm:\t", none) ||
	       differs("\nCapEff:\t", none) || differs("\nCapBnd:\t", none) ||
	       differs("\nCapAmb:\t", none);
}

static bool has_own_privileges(void)
{
	return differs("\nNoNewPrivs:\t", "1\n");
}

static bool has_no_filter(void)
{
	return differs("\nSeccomp:\t", "2\n");
}

static bool is_somebody_else(void)
{
	return differs("\nUid:\t", "1000\t1000\t1000\t1000\n");
}

/* The init is outside of the workload's Landlock domain, and a PID 1 cannot be missing. */
static bool has_no_domain(void)
{
	return kill(1, 0) == 0;
}

static bool sees_the_host(void)
{
	struct stat found;

	return stat("/root", &found) == 0 || stat("/boot", &found) == 0 ||
	       stat("/sys/kernel", &found) == 0 || stat("/host", &found) == 0;
}

/* A list that cannot be read, or that is empty, is missing too. */
static bool has_other_interfaces(void)
{
	FILE *file = fopen("/proc/self/net/dev", "re");
	char line[512];
	unsigned others = 0, lines = 0;

	for (; file && fgets(line, sizeof(line), file); lines++)
		others += lines >= 2 && strncmp(line + strspn(line, " "), "lo:", 3) != 0;
	if (file)
		(void)fclose(file);
	return lines < 3 || others > 0;
}

static bool has_other_name(void)
{
	struct utsname name;

	return uname(&name) == 0 && strcmp(name.nodename, "sandbox") != 0;
}

static bool has_descriptors(void)
{
	struct stat found;

	for (int fd = 3; fd < 1024; fd++) {
		if (fstat(fd, &found) == 0)
			return true;
	}
	return false;
}

static bool has_no_limits(void)
{
	struct rlimit limit;

	return (getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_max > 4096) ||
	       (getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max != 0) ||
	       (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_max == RLIM_INFINITY);
}

static bool is_elsewhere(void)
{
	char path[64];

	return getcwd(path, sizeof(path)) && strcmp(path, "/workspace") != 0;
}

static const struct {
	const char *name;
	bool (*is_missing)(void);
} checks[] = {
	{ "capabilities", has_capabilities },
	{ "no_new_privs", has_own_privileges },
	{ "filter", has_no_filter },
	{ "identity", is_somebody_else },
	{ "landlock", has_no_domain },
	{ "root", sees_the_host },
	{ "network", has_other_interfaces },
	{ "hostname", has_other_name },
	{ "descriptors", has_descriptors },
	{ "rlimits", has_no_limits },
	{ "cwd", is_elsewhere },
};

/* Succeeds when any of them is missing: the workload is less confined than it must be. */
static int act_less_confined(char **arguments)
{
	int result = EPERM;

	(void)arguments;
	read_status();
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		if (!checks[i].is_missing())
			continue;
		(void)printf("missing: %s\n", checks[i].name);
		result = SUCCEEDED;
	}
	return result;
}

static const struct act list[] = {
	{ "less-confined", act_less_confined },
};

const struct acts posture_acts = ACTS(list);
