/* SPDX-License-Identifier: Apache-2.0
 *
 * msp-scope: have the user's systemd put msp into a cgroup of its own.
 *
 *   msp-scope PID      make a transient, delegated scope, and have the process PID, our parent,
 *                      moved into it. The scope starts with msp-scope itself in it: systemd
 *                      removes a scope when its last process ends, but keeps the cgroup of a
 *                      scope whose intended process was killed before the scope started
 *   msp-scope --check  change nothing; print "VERSION CGROUP" of the user's systemd
 *   msp-scope --service
 *                      change nothing; print "STATE SUBSTATE MS" of msp.service, with the
 *                      milliseconds since it began to start
 *
 * msp starts it before there is a supervisor, so that no process that handles sandboxes loads
 * libsystemd. Exit code 0, or 1 and one line on standard error that says what was tried.
 *
 * The program asks the manager through the session bus, or, if there is none, through the manager's
 * own socket. Environment: DBUS_SESSION_BUS_ADDRESS; without it the bus of /run/user/UID.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <systemd/sd-bus.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

#define SERVICE "org.freedesktop.systemd1"
#define OBJECT "/org/freedesktop/systemd1"
#define MANAGER "org.freedesktop.systemd1.Manager"
#define UNIT "org.freedesktop.systemd1.Unit"
#define UNIT_OBJECT OBJECT "/unit/msp_2eservice"

/* The limit of all calls together. A manager that is busy starting a session takes some hundred
 * milliseconds. msp waits for some seconds; a scope that comes later must still find this process.
 */
#define DEADLINE_US 60000000ULL

#define ADDRESS_MAX 512

/* systemd mounts cgroup v2 here whenever it delegates cgroups to users. */
#define CGROUP_ROOT "/sys/fs/cgroup"

/* A scope gets its process within milliseconds of its cgroup. */
#define EMPTY_S 10
#define TEXT_MAX 800

struct job {
	const char *path;
	char result[32]; /* empty: not ended */
};

static uint64_t deadline_us;
static char tried[TEXT_MAX]; /* "ADDRESS: error; ADDRESS: error" */

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	const size_t used = strlen(tried);
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(tried + used, sizeof(tried) - used, format, arguments);
	va_end(arguments);
}

static uint64_t left_us(void)
{
	const uint64_t now = clock_now_us();

	return now < deadline_us ? deadline_us - now : 1;
}

/* Connect to a bus, or, if `is_direct`, to the manager without a bus between. */
static int connect_to(const char *address, int is_direct, sd_bus **ret)
{
	sd_bus *bus = NULL;
	int error = sd_bus_new(&bus);

	if (error >= 0)
		error = sd_bus_set_address(bus, address);
	if (error >= 0 && !is_direct)
		error = sd_bus_set_bus_client(bus, 1);
	if (error >= 0)
		error = sd_bus_start(bus);
	if (error >= 0)
		error = sd_bus_set_method_call_timeout(bus, left_us());
	if (error < 0) {
		bus = sd_bus_unref(bus);
		return error;
	}
	*ret = bus;
	return 0;
}

static int on_job_removed(sd_bus_message *message, void *context, sd_bus_error *error)
{
	struct job *job = context;
	const char *path = NULL;
	const char *unit = NULL;
	const char *result = NULL;
	uint32_t id = 0;

	if (sd_bus_message_read(message, "uoss", &id, &path, &unit, &result) >= 0 && job->path &&
	    strcmp(path, job->path) == 0)
		(void)snprintf(job->result, sizeof(job->result), "%s", result);
	return 0;
}

static int append_properties(sd_bus_message *message)
{
	int error = sd_bus_message_open_container(message, 'a', "(sv)");

	if (error >= 0)
		error = sd_bus_message_append(message, "(sv)", "Description", "s",
					      "Sandboxes of one msp");
	if (error >= 0)
		error = sd_bus_message_append(message, "(sv)", "PIDs", "au", 1, (uint32_t)getpid());
	if (error >= 0)
		error = sd_bus_message_append(message, "(sv)", "Delegate", "b", 1);
	/* Each sandbox has a limit of its own; one for all of them would let one disturb others. */
	if (error >= 0)
		error = sd_bus_message_append(message, "(sv)", "TasksMax", "t", UINT64_MAX);
	/* Let systemd remove a failed scope too, such as one ended by a signal. */
	if (error >= 0)
		error = sd_bus_message_append(message, "(sv)", "CollectMode", "s",
					      "inactive-or-failed");
	return error >= 0 ? sd_bus_message_close_container(message) : error;
}

static int ask_for_scope(sd_bus *bus, const char *name, sd_bus_error *wrong, sd_bus_message **ret)
{
	sd_bus_message *message = NULL;
	int error = sd_bus_message_new_method_call(bus, &message, SERVICE, OBJECT, MANAGER,
						   "StartTransientUnit");

	if (error >= 0)
		error = sd_bus_message_append(message, "ss", name, "fail");
	if (error >= 0)
		error = append_properties(message);
	if (error >= 0)
		error = sd_bus_message_append(message, "a(sa(sv))", 0);
	if (error >= 0)
		error = sd_bus_call(bus, message, left_us(), wrong, ret);
	(void)sd_bus_message_unref(message);
	return error;
}

static int await_job(sd_bus *bus, struct job *job)
{
	while (!job->result[0]) {
		int error = sd_bus_process(bus, NULL);

		if (error == 0 && clock_now_us() >= deadline_us)
			return -ETIMEDOUT;
		if (error == 0)
			error = sd_bus_wait(bus, left_us());
		if (error < 0 && error != -EINTR)
			return error;
	}
	return 0;
}

/* Open the cgroup directory that contains our scope. False if it cannot be found. */
static bool open_slice(DIR **ret)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[ADDRESS_MAX];
	char path[ADDRESS_MAX + sizeof(CGROUP_ROOT)];
	char *slash;

	*ret = NULL;
	while (file && fgets(line, sizeof(line), file)) {
		slash = strrchr(line, '/');
		if (strncmp(line, "0::/", 4) != 0 || !slash)
			continue;
		*slash = '\0';
		(void)snprintf(path, sizeof(path), "%s%s", CGROUP_ROOT, line + 3);
		*ret = opendir(path);
	}
	if (file)
		(void)fclose(file); /* only read */
	return *ret != NULL;
}

/* Remove empty cgroups that systemd keeps if msp-scope is killed while it starts a scope. A new
 * cgroup may be about to get its first process, so it stays; rmdir() refuses a cgroup in use. */
static void remove_empty_scopes(void)
{
	const time_t latest = time(NULL) - EMPTY_S;
	const struct dirent *entry;
	struct stat status;
	DIR *slice;

	if (!open_slice(&slice))
		return;
	while ((entry = readdir(slice))) {
		const char *end = strrchr(entry->d_name, '.');

		if (strncmp(entry->d_name, "msp-", 4) == 0 && end && strcmp(end, ".scope") == 0 &&
		    fstatat(dirfd(slice), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
		    status.st_mtime < latest)
			(void)unlinkat(dirfd(slice), entry->d_name, AT_REMOVEDIR);
	}
	(void)closedir(slice); /* only read */
}

/* Have our parent, whose PID this is, moved into a new scope. */
static int make_scope(sd_bus *bus, uint32_t pid, sd_bus_error *wrong)
{
	struct job job = { .path = NULL };
	sd_bus_message *reply = NULL;
	char name[64];
	uint64_t number = 0;
	int error;

	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return -EIO;
	(void)snprintf(name, sizeof(name), "msp-%u-%016llx.scope", pid, (unsigned long long)number);
	/* Subscribe before the job exists, or its end could be missed: the manager sends signals to
	 * subscribers only. */
	error = sd_bus_match_signal(bus, NULL, NULL, OBJECT, MANAGER, "JobRemoved", on_job_removed,
				    &job);
	if (error >= 0)
		error = sd_bus_call_method(bus, SERVICE, OBJECT, MANAGER, "Subscribe", wrong, NULL,
					   NULL);
	if (error >= 0)
		error = ask_for_scope(bus, name, wrong, &reply);
	if (error >= 0)
		error = sd_bus_message_read(reply, "o", &job.path);
	if (error >= 0)
		error = await_job(bus, &job);
	(void)sd_bus_message_unref(reply);
	if (error >= 0 && strcmp(job.result, "done") != 0)
		return sd_bus_error_setf(wrong, SD_BUS_ERROR_FAILED, "the job for %s ended with %s",
					 name, job.result);
	if (error >= 0 && (uint32_t)getppid() != pid)
		return -ESRCH;
	if (error >= 0)
		error = sd_bus_call_method(bus, SERVICE, OBJECT, MANAGER, "AttachProcessesToUnit",
					   wrong, NULL, "ssau", name, "", 1, pid);
	remove_empty_scopes();
	return error;
}

static int print_manager(sd_bus *bus, uint32_t pid, sd_bus_error *wrong)
{
	char *version = NULL;
	char *group = NULL;
	int error;

	(void)pid; /* this act moves no process */
	error = sd_bus_get_property_string(bus, SERVICE, OBJECT, MANAGER, "Version", wrong,
					   &version);

	if (error >= 0)
		error = sd_bus_get_property_string(bus, SERVICE, OBJECT, MANAGER, "ControlGroup",
						   wrong, &group);
	if (error >= 0 && (printf("%s %s\n", version, group) < 0 || fflush(stdout) != 0))
		error = -errno;
	free(version);
	free(group);
	return error;
}

static int print_service(sd_bus *bus, uint32_t pid, sd_bus_error *wrong)
{
	char *state = NULL;
	char *part = NULL;
	uint64_t began_us = 0;
	uint64_t age_us;
	int error;

	(void)pid; /* this act moves no process */
	error = sd_bus_get_property_string(bus, SERVICE, UNIT_OBJECT, UNIT, "ActiveState", wrong,
					   &state);
	if (error >= 0)
		error = sd_bus_get_property_string(bus, SERVICE, UNIT_OBJECT, UNIT, "SubState",
						   wrong, &part);
	if (error >= 0)
		error = sd_bus_get_property_trivial(bus, SERVICE, UNIT_OBJECT, UNIT,
						    "InactiveExitTimestampMonotonic", wrong, 't',
						    &began_us);
	age_us = clock_now_us() > began_us ? clock_now_us() - began_us : 0;
	if (error >= 0 &&
	    (printf("%s %s %llu\n", state, part, (unsigned long long)(age_us / 1000)) < 0 ||
	     fflush(stdout) != 0))
		error = -errno;
	free(state);
	free(part);
	return error;
}

/* The acts, each over one bus. 0 or -errno, with more in *wrong. */
typedef int (*scope_act)(sd_bus *bus, uint32_t pid, sd_bus_error *wrong);

static const struct {
	const char *word;
	scope_act act;
} acts[] = {
	{ "--check", print_manager },
	{ "--service", print_service },
};

/* Use one address. 0, or an error that is added to `tried`. */
static int try_address(const char *address, int is_direct, scope_act act, uint32_t pid)
{
	sd_bus_error wrong = SD_BUS_ERROR_NULL;
	sd_bus *bus = NULL;
	int error = connect_to(address, is_direct, &bus);

	if (error >= 0)
		error = act(bus, pid, &wrong);
	if (error < 0)
		note("%s%s: %s", tried[0] ? "; " : "", address,
		     wrong.message ? wrong.message : strerror(-error));
	sd_bus_error_free(&wrong);
	(void)sd_bus_close_unref(bus);
	return error < 0 ? error : 0;
}

static int try_all(scope_act act, uint32_t pid)
{
	const char *environment = getenv("DBUS_SESSION_BUS_ADDRESS");
	char address[ADDRESS_MAX];
	int first = -ENOENT; /* the first error that says more than that a socket is missing */
	int error = -ENOENT;

	deadline_us = clock_now_us() + DEADLINE_US;
	if (environment && *environment)
		first = error = try_address(environment, 0, act, pid);
	(void)snprintf(address, sizeof(address), "unix:path=/run/user/%u/bus", geteuid());
	if (error && !(environment && strcmp(environment, address) == 0))
		error = try_address(address, 0, act, pid);
	if (first == -ENOENT)
		first = error;
	(void)snprintf(address, sizeof(address), "unix:path=/run/user/%u/systemd/private",
		       geteuid());
	if (error)
		error = try_address(address, 1, act, pid);
	return error && first != -ENOENT ? first : error;
}

/* Parse the PID of our parent. 0 for any other number, so that no other process is moved. */
static uint32_t parse_parent(const char *word)
{
	char *end = NULL;
	const unsigned long number = strtoul(word, &end, 10);

	if (end == word || *end != '\0' || number != (unsigned long)getppid())
		return 0;
	return (uint32_t)number;
}

int main(int argc, char *argv[])
{
	scope_act act = NULL;
	uint32_t pid = 0;

	for (size_t i = 0; argc == 2 && i < sizeof(acts) / sizeof(acts[0]); i++)
		act = strcmp(argv[1], acts[i].word) == 0 ? acts[i].act : act;
	if (argc == 2 && !act) {
		pid = parse_parent(argv[1]);
		act = pid > 0 ? make_scope : NULL;
	}
	if (!act) {
		(void)fputs("msp-scope: this program is started by msp\n", stderr);
		return 1;
	}
	if (try_all(act, pid) != 0) {
		(void)fprintf(stderr, "msp-scope: %s\n", tried);
		return 1;
	}
	return 0;
}
