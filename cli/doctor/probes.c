/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of probes, and those that only look.
 */
#include "doctor/probes.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "ask/enabled.h"
#include "common/confine/landlock.h"
#include "common/fd.h"
#include "common/ipc/ipc_client.h"
#include "common/log.h"
#include "common/plan/plan.h"
#include "common/text/format.h"
#include "frontend/profile_names.h"
#include "frontend/words/words.h"
#include "launcher/host/descriptors.h"
#include "launcher/host/pins.h"
#include "launcher/host/service.h"
#include "launcher/host/state_place.h"
#include "launcher/start/secret.h"
#include "options/options.h"

/* The ABI that the built-in profiles require, and the least that a configuration can ask for. */
#define LANDLOCK_NEEDED 6
#define LANDLOCK_LEAST 2

void probe_run(const struct probe *probe, const struct machine *machine, struct finding *ret)
{
	*ret = (struct finding){ .status = FINDING_MISSING };
	format_text(ret->tried, sizeof(ret->tried), "%s", probe->tried);
	probe->run(machine, ret);
}

void probe_report(struct finding *ret, enum finding_status status, const char *format, ...)
{
	va_list arguments;

	ret->status = status;
	va_start(arguments, format);
	/* As in format.c. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
	(void)vsnprintf(ret->happened, sizeof(ret->happened), format, arguments);
	va_end(arguments);
}

void probe_set_fix(struct finding *ret, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	/* As in format.c. NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
	(void)vsnprintf(ret->fix, sizeof(ret->fix), format, arguments);
	va_end(arguments);
}

const struct plan *probe_plan(const struct machine *machine)
{
	return machine->config && machine->config->is_read ? config_plan(machine->config) : NULL;
}

static void probe_architecture(const struct machine *machine, struct finding *ret)
{
	struct utsname name;

	if (uname(&name) != 0)
		return;
	probe_report(ret, strcmp(name.machine, "x86_64") == 0 ? FINDING_OK : FINDING_MISSING, "%s",
		     name.machine);
}

static void probe_kernel(const struct machine *machine, struct finding *ret)
{
	struct utsname name;

	if (uname(&name) == 0)
		probe_report(ret, FINDING_NOTE, "Linux %s", name.release);
}

/* Return the highest ABI that a profile of the configuration requires. */
static int needed_landlock(const struct machine *machine)
{
	const struct plan *plan = probe_plan(machine);
	uint32_t needed = 0;

	for (uint32_t i = 0; plan && i < plan_profile_count(plan); i++) {
		if (plan_profile(plan, i)->landlock_abi_min > needed)
			needed = plan_profile(plan, i)->landlock_abi_min;
	}
	return needed > 0 ? (int)needed : LANDLOCK_NEEDED;
}

/* Append what a kernel of this ABI does not enforce; other barriers hold around most of it. */
static void append_landlock_lost(int abi, char *text, size_t room)
{
	static const struct {
		int abi;
		const char *lost;
	} losses[] = {
		{ 3, "truncating files that may only be read" },
		{ 4, "TCP rules (the network namespace holds)" },
		{ 5, "ioctl on devices" },
		{ 6, "signals and abstract sockets between executions of one sandbox" },
	};
	bool is_first = true;

	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		if (losses[i].abi <= abi)
			continue;
		format_append(text, room, "%s%s",
			      is_first ? "; this kernel does not control: " : ", ", losses[i].lost);
		is_first = false;
	}
}

static void probe_landlock(const struct machine *machine, struct finding *ret)
{
	const int abi = landlock_abi();
	const int error = errno;
	const int needed = needed_landlock(machine);

	probe_report(ret, abi >= needed ? FINDING_OK : FINDING_MISSING, "ABI %d, needed is %d", abi,
		     needed);
	if (abi > 0)
		append_landlock_lost(abi, ret->happened, sizeof(ret->happened));
	else
		probe_report(ret, FINDING_MISSING, "%s", errno_text(error));
	if (abi >= LANDLOCK_LEAST && abi < needed)
		probe_set_fix(ret,
			      FIX_KERNEL "; or give up what it does not control, with "
					 "'requirements: {landlock: %d}' in the configuration "
					 "(docs/policy-posture.md)",
			      abi);
	if (abi == 0 && error == EOPNOTSUPP)
		probe_set_fix(
			ret,
			"Landlock is built in but off: add 'landlock' to the list after lsm= on "
			"the kernel command line");
}

/* A scope has what the manager's cgroup has. */
static const char *controllers_to_come(const struct machine *machine)
{
	if (machine->cgroup.problem == CGROUP_USABLE)
		return machine->cgroup.controllers;
	return machine->has_scope ? machine->scope.controllers : "";
}

static void probe_cgroup(const struct machine *machine, struct finding *ret)
{
	char missing[64];

	cgroup_list_controllers(CGROUP_REQUIRED &
					~cgroup_parse_controllers(controllers_to_come(machine)),
				missing, sizeof(missing));
	ret->status = missing[0] ? FINDING_MISSING : FINDING_OK;
	cgroup_describe(&machine->cgroup, ret->happened);
	if (machine->has_scope)
		format_append(ret->happened, sizeof(ret->happened),
			      "; msp asks the user's systemd %.60s for a scope of its own, which "
			      "would have the controllers \"%s\"",
			      machine->scope.version, machine->scope.controllers);
	else if (machine->scope_text[0])
		format_append(ret->happened, sizeof(ret->happened),
			      "; the user's systemd cannot give it a scope: %s",
			      machine->scope_text);
	if (ret->status != FINDING_MISSING)
		return;
	if (!cgroup_describe_fix(&machine->cgroup, ret->fix))
		return;
	if (machine->has_scope)
		ret->cause = CAUSE_CONTROLLERS;
	else if (scope_can_help(machine->cgroup.problem))
		ret->cause = CAUSE_MANAGER;
}

static void probe_delegation(const struct machine *machine, struct finding *ret)
{
	const char *controllers = controllers_to_come(machine);
	char missing[64];

	if (!controllers[0]) {
		probe_report(ret, FINDING_SKIPPED, "there is no such cgroup");
		return;
	}
	cgroup_list_controllers((CGROUP_IO | CGROUP_CPUSET) &
					~cgroup_parse_controllers(controllers),
				missing, sizeof(missing));
	probe_report(ret, missing[0] ? FINDING_MISSING : FINDING_OK, "both are there");
	if (!missing[0])
		return;
	ret->cause = CAUSE_CONTROLLERS;
	probe_report(ret, FINDING_MISSING, "not there: %s", missing);
}

static void probe_files(const struct machine *machine, struct finding *ret)
{
	int fd = fd_sealed_from_file("msp-policy", machine->images.policy);
	struct plan plan;
	int error;

	if (machine->images.policy < 0) {
		probe_report(ret, FINDING_MISSING, "%.600s", machine->images_text);
		return;
	}
	error = fd < 0 ? fd : plan_open_fd(fd, &plan);
	fd_close(&fd);
	if (error) {
		probe_report(ret, FINDING_MISSING, "builtin.policy is not of this version: %s",
			     errno_text(-error));
		return;
	}
	probe_report(ret, FINDING_OK, "all there");
}

static void probe_configuration(const struct machine *machine, struct finding *ret)
{
	struct config *config = machine->config;
	const struct plan *plan = config->is_read ? config_plan(config) : NULL;
	char text[PINS_TEXT_MAX];

	format_text(ret->tried, sizeof(ret->tried), "reading %.200s",
		    config->path[0] ? config->path : "the operator's configuration");
	if (!config->is_read)
		probe_report(ret, FINDING_MISSING, "%.900s", machine->config_text);
	else if (plan && pins_check(plan, text) != 0)
		probe_report(ret, FINDING_OK,
			     "it is in force, but a profile cannot be used: %.700s", text);
	else if (config->path[0])
		probe_report(ret, FINDING_OK, "nothing is wrong with it");
	else
		probe_report(ret, FINDING_OK,
			     "there is none, so the built-in profiles are in force");
}

const struct plan_profile *find_default_profile(const struct plan *plan,
						char text[OPTIONS_TEXT_MAX])
{
	const char *name = plan_string(plan, plan_header(plan)->default_profile);
	const struct plan_profile *profile;

	if (!option_read_default_profile(&name, text))
		return NULL;
	profile = profile_named(plan, name);
	format_text(text, OPTIONS_TEXT_MAX, profile ? "'%s'" : "'%s' does not exist", name);
	return profile;
}

static void probe_profile(const struct machine *machine, struct finding *ret)
{
	const struct plan *plan = config_plan(machine->config);
	char text[OPTIONS_TEXT_MAX];
	char names[PROFILE_NAMES_SHOWN];
	enum finding_status status;

	probe_report(ret, FINDING_SKIPPED, "no configuration could be read");
	if (!plan)
		return;
	status = find_default_profile(plan, text) ? FINDING_OK : FINDING_MISSING;
	profile_names(plan, names, sizeof(names));
	probe_report(ret, status, "%.300s; there are: %s", text, names);
}

static void probe_account(const struct machine *machine, struct finding *ret)
{
	if (!machine->was_root) {
		probe_report(ret, FINDING_SKIPPED, "not needed: msp was not started by root");
		return;
	}
	format_text(ret->tried, sizeof(ret->tried), "becoming the account '%s'",
		    machine->account.name);
	if (machine->has_account) {
		probe_report(ret, FINDING_OK, "uid %u; the probes ran as it", machine->account.uid);
		return;
	}
	probe_report(ret, FINDING_MISSING,
		     "there is no such account, or it is root's; the other probes ran as uid %u",
		     machine->account.uid);
	if (strcmp(machine->account.name, ACCOUNT_DEFAULT) == 0)
		ret->cause = CAUSE_ABSENT;
	account_format_useradd(machine->account.name, ret->fix, sizeof(ret->fix));
}

/* Sandboxes keep the groups of msp's process: the kernel lets no user without privileges drop them
 * in a user namespace. */
static void probe_groups(const struct machine *machine, struct finding *ret)
{
	static gid_t groups[NGROUPS_MAX];
	const int count = getgroups(NGROUPS_MAX, groups);
	bool is_first = true;

	ret->status = FINDING_NOTE;
	for (int i = 0; i < count; i++) {
		const struct group *group;

		if (groups[i] == getegid())
			continue;
		group = getgrgid(groups[i]);
		format_append(ret->happened, sizeof(ret->happened), "%s%u%s%.32s%s",
			      is_first ? "it keeps those of msp's user, which cannot be dropped "
					 "without privileges, and may use what these may in a "
					 "directory that it is shown: "
				       : ", ",
			      groups[i], group ? " (" : "", group ? group->gr_name : "",
			      group ? ")" : "");
		is_first = false;
	}
	if (is_first)
		probe_report(ret, FINDING_NOTE, "none");
}

static void probe_descriptors(const struct machine *machine, struct finding *ret)
{
	const struct plan *plan = config_plan(machine->config);
	const uint64_t limit = descriptors_limit();

	if (!plan || !descriptors_explain(plan, NULL, limit, ret->happened))
		probe_report(ret, FINDING_OK,
			     "%" PRIu64 ", at least twice the open_files of every profile", limit);
}

/* The secrets of all profiles. */
struct tally {
	uint32_t read, commands;
	const struct plan_profile *broken; /* the first profile with a secret that is not read */
	char problem[SECRET_TEXT_MAX];
};

static void try_secret(const struct plan_profile *profile, const struct plan_secret *secret,
		       struct tally *tally)
{
	char problem[SECRET_TEXT_MAX];
	size_t size;
	int value;

	if (secret->source_kind == PLAN_SECRET_COMMAND) {
		tally->commands++;
		return;
	}
	value = secret_read(secret, &size, problem);
	if (value >= 0) {
		tally->read++;
	} else if (!tally->broken) {
		tally->broken = profile;
		format_text(tally->problem, sizeof(tally->problem), "%s", problem);
	}
	fd_close(&value);
}

/* Do the sources of secrets have values? Commands are not run. */
static void probe_secrets(const struct machine *machine, struct finding *ret)
{
	const struct plan *plan = probe_plan(machine);
	struct tally tally = { .read = 0 };

	for (uint32_t i = 0; plan && i < plan_profile_count(plan); i++) {
		const struct plan_profile *profile = plan_profile(plan, i);

		for (uint32_t j = 0; j < profile->secret_count; j++)
			try_secret(profile, &plan_secrets(plan, profile)[j], &tally);
	}
	if (tally.broken)
		probe_report(ret, FINDING_MISSING, "profile %.60s: %s",
			     plan_string(plan, tally.broken->name), tally.problem);
	else if (tally.read + tally.commands == 0)
		probe_report(ret, FINDING_SKIPPED, "no profile has secrets");
	else
		probe_report(ret, FINDING_OK,
			     "%u ha%s a value; %u ha%s a command, which 'msp secret check' runs",
			     tally.read, tally.read == 1 ? "s" : "ve", tally.commands,
			     tally.commands == 1 ? "s" : "ve");
}

/* Say that a silent service is only starting, if its systemd knows that. */
static bool is_starting(const struct machine *machine, const struct service *service,
			struct finding *ret)
{
	struct scope_service unit;

	if (service->state != SERVICE_SILENT || !scope_ask_service(machine->images.scope, &unit) ||
	    !scope_is_starting(&unit))
		return false;
	probe_report(ret, FINDING_NOTE,
		     "it is starting, for %llu s now: wait, and ask again with 'msp doctor'",
		     (unsigned long long)unit.age_ms / 1000);
	return true;
}

/* Say what a service would be good for, and who starts one here. */
static void report_absent(const struct machine *machine, struct finding *ret)
{
	char text[SERVICE_TEXT_MAX];
	struct service_place place;

	ret->cause = machine->was_root || service_find_place(NULL, &place, text) ? CAUSE_ABSENT
										 : CAUSE_PLACE;
	probe_report(ret, FINDING_NOTE,
		     "it is not running: each client gets a supervisor of its own, and a sandbox "
		     "in which a command runs, also one of 'msp exec -d', takes no second command "
		     "and no bridge. %s",
		     service_has_manager()
			     ? "'systemctl --user enable --now msp.socket' has one serve all"
			     : "'msp serve --service', which 'msp setup' starts, serves all");
}

/* Does the user's service run, and is it of this version? */
static void probe_service(const struct machine *machine, struct finding *ret)
{
	struct service service = service_connect(NULL);
	struct ipc_status status = { 0 };

	service_ask(&service, &status);
	if (service.state == SERVICE_HERE && status.is_offline) {
		probe_report(ret, FINDING_MISSING,
			     "process %u has no network: its sandboxes reach no host", status.pid);
		probe_set_fix(ret, "set PrivateNetwork=no below [Service] ('systemctl --user edit "
				   "msp.service'), "
				   "then 'systemctl --user restart msp.service'");
	} else if (service.state == SERVICE_HERE) {
		probe_report(ret, FINDING_OK,
			     "process %u runs, of this version (" MSP_VERSION
			     "), with limits: %s, Landlock ABI %u; 'msp status' says more",
			     status.pid, limits_mode_name(status.limits), status.landlock_abi);
	} else if (service.state == SERVICE_ABSENT && service_is_enabled()) {
		probe_report(ret, FINDING_MISSING,
			     "msp.socket is enabled, but does not listen: each client gets a "
			     "supervisor of its own. 'journalctl --user -u msp.socket -u "
			     "msp.service' says why");
		probe_set_fix(ret, "%s", SERVICE_LISTEN_AGAIN);
	} else if (service.state == SERVICE_UNFIT) {
		probe_report(ret, FINDING_MISSING, "%s", service.text);
		probe_set_fix(ret, "mend what it names; the next command starts the service");
	} else if (service.state == SERVICE_ABSENT) {
		report_absent(machine, ret);
	} else if (!is_starting(machine, &service, ret)) {
		probe_report(ret, FINDING_MISSING, "%s", service.text);
	}
	fd_close(&service.fd);
}

static void probe_audit(const struct machine *machine, struct finding *ret)
{
	char path[IPC_PATH_MAX];
	char text[STATE_PLACE_TEXT_MAX];
	int fd;

	if (machine->was_root && !machine->has_account) {
		probe_report(ret, FINDING_SKIPPED, "it is the account's");
		return;
	}
	fd = state_place_enter(STATE_PLACE_AUDIT, true, path, text);
	probe_report(ret, fd >= 0 ? FINDING_OK : FINDING_MISSING, "%.*s",
		     (int)sizeof(ret->happened) - 1, fd >= 0 ? path : text);
	fd_close(&fd);
}

#define FIX_DELEGATION "as root " CGROUP_DROP_IN

const struct probe probes[] = {
	{ "architecture", PROBE_REQUIRED, probe_architecture, "uname",
	  "the system call filters are written for it", "use an x86_64 machine" },
	{ "kernel", PROBE_INFORMATION, probe_kernel, "uname", "for information: the probes decide",
	  "" },
	{ "landlock", PROBE_REQUIRED, probe_landlock, "landlock_create_ruleset(NULL, 0, VERSION)",
	  "the second wall around files, TCP, signals and abstract sockets", FIX_KERNEL },
	{ "user-namespace", PROBE_REQUIRED, probe_user_namespace,
	  "a user namespace, and a tmpfs mounted inside it",
	  "every sandbox lives in its own, so that nothing of ours needs root",
	  "in a chroot, in which the kernel makes none, start msp outside of it; " FIX_CONTAINER },
	{ "overlay", PROBE_REQUIRED, probe_overlay, "an overlay with userxattr on a tmpfs",
	  "copy-on-write folders", FIX_KERNEL },
	{ "cgroup", PROBE_LIMITS, probe_cgroup,
	  "a writable cgroup of its own with cpu, memory and pids",
	  "hard limits of memory, processes and CPU time", "" },
	{ "cgroup-clone", PROBE_LIMITS, probe_cgroup_clone, "clone3 into a fresh cgroup below ours",
	  "a process is inside its limits from its first instruction", FIX_KERNEL },
	{ "delegation", PROBE_INFORMATION, probe_delegation, "io and cpuset in that cgroup",
	  "not required: io bounds what a sandbox reads and writes on disks, cpuset which "
	  "processors it uses",
	  FIX_DELEGATION },
	{ "descriptors", PROBE_INFORMATION, probe_descriptors, "the hard limit of descriptors",
	  "not required: a workload gets half of msp's at most, so that what it has in flight "
	  "between sockets, which the kernel counts per user, never stops msp",
	  "raise it: LimitNOFILE=524288 in a unit, 'hard nofile 524288' in "
	  "/etc/security/limits.conf for logins" },
	{ "service", PROBE_INFORMATION, probe_service, "asking the user's service",
	  "not required: it starts commands faster and bounds all clients together",
	  "renew it: systemctl --user restart msp.service; without systemd end its process, and "
	  "'msp setup' starts it" },
	{ "audit", PROBE_REQUIRED, probe_audit, "opening the audit log's directory",
	  "what runs is recorded before it does, unless the operator's configuration says 'audit: "
	  "optional'",
	  "name another place with MSP_STATE_DIR=DIR, an absolute path" },
	{ "persistent", PROBE_INFORMATION, probe_persistent,
	  "opening the state directory, and an overlay with userxattr on it",
	  "not required: persistent sandboxes have their files there",
	  "name another place with MSP_STATE_DIR=DIR, an absolute path, on ext4, xfs, btrfs or "
	  "(since Linux 6.6) tmpfs" },
	{ "hosts", PROBE_INFORMATION, probe_hosts,
	  "a pair of veth devices in a network namespace, the first name server, and proxies",
	  "not required: sandboxes of profiles with hosts reach these by such devices and names",
	  "load it: modprobe veth" },
	{ "secrets", PROBE_INFORMATION, probe_secrets,
	  "the files and variables of profiles' secrets",
	  "not required: sandboxes of a profile whose secret has no value are refused",
	  "correct the source, and try it: msp secret check" },
	{ "files", PROBE_REQUIRED, probe_files,
	  "opening msp-supervisor, msp-child-init, msp-broker, msp-scope and builtin.policy",
	  "msp is six programs and a compiled policy",
	  "install all of msp's programs together, of one version" },
	{ "configuration", PROBE_REQUIRED, probe_configuration, "",
	  "what the operator says is enforced, or nothing runs",
	  "correct the file, or name another one with --config or MSP_CONFIG; 'msp profile "
	  "check' tries it" },
	{ "default-profile", PROBE_REQUIRED, probe_profile, "the profile where none is named",
	  "clients rarely name one",
	  "name one of these: default_profile in the configuration, or "
	  "MSP_DEFAULT_PROFILE" },
	{ "account", PROBE_REQUIRED, probe_account, "becoming an ordinary account",
	  "nothing of ours runs as root", "" },
	{ "posture", PROBE_REQUIRED, probe_posture, "",
	  "nothing is run where a layer does not hold",
	  "a layer that is open on a machine that has everything else is a fault of msp: report "
	  "it" },
	{ "groups", PROBE_INFORMATION, probe_groups, "supplementary groups of a workload",
	  "for information: files of a group", "" },
};
const size_t probe_count = sizeof(probes) / sizeof(probes[0]);
