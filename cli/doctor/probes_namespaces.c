/* SPDX-License-Identifier: Apache-2.0
 *
 * The probes that change a process: each runs in a child of its own, which reports the first step
 * that failed. A real start (probes_posture.c) cannot tell what these do. It takes too long for
 * user namespaces, which `msp serve` tries before each start; no ephemeral sandbox has an overlay,
 * a veth device or files on disk; and a cgroup that cannot be cloned into must not hide that a
 * start with weaker limits works.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/confine/identity.h"
#include "common/confine/mount.h"
#include "common/fd.h"
#include "common/kernel.h"
#include "common/log.h"
#include "common/text/format.h"
#include "common/text/text.h"
#include "doctor/probes.h"
#include "launcher/host/directory.h"
#include "launcher/host/mounts.h"
#include "launcher/host/state_place.h"

/* A child's report: NULL when every step worked. The text is a constant of this program, which the
 * child shares. */
struct step {
	const char *failed;
	int error;
};

typedef struct step probe_steps(void);

static const struct step all_done = { .failed = NULL };

static struct step failed_step(const char *text)
{
	return (struct step){ .failed = text, .error = errno };
}

static struct step in_child(probe_steps *steps)
{
	struct step step = { .failed = "starting a process", .error = EIO };
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return failed_step("making a pipe");
	pid = fork();
	if (pid == 0) {
		/* After the change from root the child's /proc files would be root's. */
		(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
		step = steps();
		_exit(write(ends[1], &step, sizeof(step)) == (ssize_t)sizeof(step) ? 0 : 1);
	}
	if (pid < 0)
		step = failed_step("fork");
	fd_close(&ends[1]);
	if (pid > 0) {
		if (read(ends[0], &step, sizeof(step)) != (ssize_t)sizeof(step))
			step = (struct step){ .failed = "the probing process", .error = EPIPE };
		(void)waitpid(pid, NULL, 0); /* it has reported */
	}
	fd_close(&ends[0]);
	return step;
}

static void report_step(struct finding *ret, const struct step *step, const char *success)
{
	if (step->failed)
		probe_report(ret, FINDING_MISSING, "%s: %s", step->failed, errno_text(step->error));
	else
		probe_report(ret, FINDING_OK, "%s", success);
}

/* A user namespace with `more` namespaces, in which we are uid and gid 0. */
static struct step enter_namespaces(int more)
{
	const uid_t uid = geteuid();
	const gid_t gid = getegid();
	int error;

	if (unshare(CLONE_NEWUSER | more) != 0)
		return failed_step("unshare of the user namespace");
	error = identity_map("/proc", false, 0, uid, gid);
	errno = -error;
	return error ? failed_step("writing the maps and bounds of the user namespace") : all_done;
}

/* Attach what mount_new() made. */
static struct step attach_mount(int mount, const char *path, const char *text)
{
	errno = -mount;
	return mount < 0 || kernel_move_mount(mount, AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) != 0
		       ? failed_step(text)
		       : all_done;
}

/* A mount namespace whose changes stay in it, with an empty tmpfs over /usr: that folder exists on
 * every machine on which anything runs. */
static struct step enter_mounts(void)
{
	static const char options[] = "size\0"
				      "64k";
	const struct step step = enter_namespaces(CLONE_NEWNS);

	if (step.failed)
		return step;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return failed_step("making the mounts private");
	return attach_mount(
		mount_new("tmpfs", options, sizeof(options), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV),
		"/usr", "mounting a tmpfs inside it");
}

static bool reads_as(const char *path, const char *expected)
{
	char text[32];

	return text_read_file(AT_FDCWD, path, text, sizeof(text)) >= 0 &&
	       strcmp(text, expected) == 0;
}

/* Return true if the root directory is no mount: it is a chroot's. One that is a mount looks like
 * any other root to a process without privileges. */
static bool is_chroot(void)
{
	struct mounts mounts;
	bool has_root = false;

	if (mounts_read(&mounts) != 0)
		return false;
	for (size_t i = 0; i < mounts.count; i++)
		has_root = has_root || strcmp(mounts.list[i].point, "/") == 0;
	mounts_done(&mounts);
	return !has_root;
}

/* Ways in which user namespaces are off; each has its own way back. */
static void fix_user_namespace(const struct machine *machine, struct finding *ret)
{
	if (is_chroot())
		probe_set_fix(
			ret,
			"this is a chroot, in which the kernel makes no user namespace: start "
			"msp outside of it, or enter it with systemd-nspawn in place of chroot");
	else if (reads_as("/proc/sys/user/max_user_namespaces", "0"))
		probe_set_fix(ret, "sysctl -w user.max_user_namespaces=10000");
	else if (reads_as("/proc/sys/kernel/unprivileged_userns_clone", "0"))
		probe_set_fix(ret, "sysctl -w kernel.unprivileged_userns_clone=1");
	else if (reads_as("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"))
		ret->cause = CAUSE_APPARMOR;
	if (ret->cause == CAUSE_APPARMOR)
		probe_set_fix(ret,
			      "allow it for msp: put 'abi <abi/4.0>, profile msp "
			      "%.300s/msp flags=(unconfined) { userns, }' into "
			      "/etc/apparmor.d/msp and run apparmor_parser -r /etc/apparmor.d/msp",
			      machine->own_folder);
}

void probe_user_namespace(const struct machine *machine, struct finding *ret)
{
	const struct step step = in_child(enter_mounts);

	report_step(ret, &step, "both work");
	if (step.failed)
		fix_user_namespace(machine, ret);
}

static struct step make_veth(void)
{
	const struct step step = enter_namespaces(CLONE_NEWNET);

	if (step.failed)
		return step;
	errno = -probe_make_veth();
	return errno ? failed_step("making a pair of veth devices") : all_done;
}

bool probe_veth(struct finding *ret)
{
	const struct step step = in_child(make_veth);

	report_step(ret, &step, "works");
	return !step.failed;
}

static const char no_second_folder[] = "making a folder in the place of a removed one";

/* Try what sandboxes do with an overlay that was just mounted; `text` says how it was. */
static struct step try_overlay(int mount, const char *text, const char *folder)
{
	errno = -mount;
	if (mount < 0)
		return failed_step(text);
	if (rmdir(folder) != 0)
		return failed_step("removing a folder through an overlay");
	return mkdir(folder, 0755) == 0 ? all_done : failed_step(no_second_folder);
}

static struct step make_overlay(void)
{
	static const char options[] = "mode\0000755"; /* \000 where a digit follows */
	const struct step step = enter_mounts();
	int layers[3];

	if (step.failed)
		return step;
	if (mkdir("/usr/lower", 0755) != 0 || mkdir("/usr/lower/folder", 0755) != 0 ||
	    mkdir("/usr/place", 0755) != 0)
		return failed_step("making a folder");
	layers[2] = open("/usr/lower", O_PATH | O_CLOEXEC);
	return try_overlay(mount_overlay(layers, 3, open("/", O_PATH | O_CLOEXEC), "/usr/place",
					 options, sizeof(options),
					 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV),
			   "mounting an overlay with userxattr", "/usr/place/folder");
}

void probe_overlay(const struct machine *machine, struct finding *ret)
{
	const struct step step = in_child(make_overlay);

	report_step(ret, &step, "works");
	if (step.failed == no_second_folder)
		probe_report(
			ret, FINDING_OK,
			"works, but in memory, where images and copy-on-write folders are written "
			"without a lasting sandbox, no folder can be made in the place of a "
			"removed one before Linux 6.6");
	else if (step.error == ENODEV)
		probe_set_fix(ret, "load it: modprobe overlay");
}

/* The folder that the next probe works in, which a child has to open in its own mount namespace. */
static char trial_path[IPC_PATH_MAX];

/* As for a persistent sandbox: layers in the state directory. */
static struct step make_persistent_overlay(void)
{
	static const char *const folders[] = { "upper", "work", "lower", "lower/gone" };
	const struct step step = enter_namespaces(CLONE_NEWNS);
	int layers[4];

	if (step.failed)
		return step;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		return failed_step("making the mounts private");
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		if (chdir(trial_path) != 0 || mkdir(folders[i], 0700) != 0)
			return failed_step("making folders in it");
		layers[i] = open(folders[i], O_PATH | O_CLOEXEC);
	}
	return try_overlay(mount_layers(layers, 3, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
					open("/", O_PATH | O_CLOEXEC), "/usr"),
			   "mounting an overlay with userxattr on it", "/usr/gone");
}

/* Remove what the trial made. */
static void remove_trial(void)
{
	static const char *const folders[] = { "work", "upper/gone", "upper", "lower/gone",
					       "lower" };

	int folder = open(trial_path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	(void)unlinkat(folder, "upper/gone", 0); /* or it is a folder */
	/* The overlay has closed it to everybody; most of it are whiteouts, files to their owner.
	 */
	(void)fchmodat(folder, "work/work", S_IRWXU, 0); /* or it is not there */
	(void)directory_remove(folder, "work/work");     /* or the last step fails */
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		(void)unlinkat(folder, folders[i], AT_REMOVEDIR);
	fd_close(&folder);
	(void)rmdir(trial_path); /* else it is empty, and ours alone */
}

static struct step try_persistent(const char *place)
{
	struct step step;

	format_text(trial_path, sizeof(trial_path), "%s/probe.%d", place, (int)getpid());
	if (mkdir(trial_path, S_IRWXU) != 0)
		return failed_step("making a folder in it");
	step = in_child(make_persistent_overlay);
	remove_trial();
	return step;
}

static void report_persistent(int place, const char *path, struct finding *ret)
{
	const struct step step = try_persistent(path);
	struct statvfs system;
	char text[IPC_PATH_MAX + 128];

	if (fstatvfs(place, &system) != 0) {
		probe_report(ret, FINDING_MISSING, "%.400s: %s", path, errno_text(errno));
		return;
	}
	format_text(text, sizeof(text), "%.400s; %llu MiB are free there", path,
		    (unsigned long long)system.f_bavail * system.f_frsize >> 20);
	report_step(ret, &step, text);
	if (step.failed)
		format_append(ret->happened, sizeof(ret->happened), " (%.400s)", path);
}

void probe_persistent(const struct machine *machine, struct finding *ret)
{
	char path[IPC_PATH_MAX];
	char text[STATE_PLACE_TEXT_MAX];
	int place;

	if (machine->was_root && !machine->has_account) {
		probe_report(ret, FINDING_SKIPPED, "it is the account's");
		return;
	}
	place = state_place_enter(STATE_PLACE_ALL, true, path, text);
	if (place < 0) {
		probe_report(ret, FINDING_MISSING, "%.*s", (int)sizeof(ret->happened) - 1, text);
		return;
	}
	report_persistent(place, path, ret);
	fd_close(&place);
	if (ret->status == FINDING_OK && machine->images.layers < 0) {
		ret->status = FINDING_MISSING;
		format_append(ret->happened, sizeof(ret->happened), "; but msp-layers is missing");
		probe_set_fix(ret, "install all of msp's programs together, of one version");
	}
}

/* Clone into a fresh cgroup below ours; the child's only act is to end. */
static struct step clone_into(int parent, const char *name)
{
	struct kernel_clone_args arguments = { .exit_signal = SIGCHLD };
	struct step step = all_done;
	long pid;
	int folder;

	if (mkdirat(parent, name, 0755) != 0)
		return failed_step("making a cgroup");
	folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0) {
		step = failed_step("opening it");
	} else {
		kernel_clone_into(&arguments, folder);
		pid = syscall(SYS_clone3, &arguments, sizeof(arguments));
		if (pid == 0)
			_exit(0);
		if (pid < 0)
			step = failed_step("clone3 with CLONE_INTO_CGROUP");
		else
			(void)waitpid((pid_t)pid, NULL, 0); /* it can only have ended */
		fd_close(&folder);
	}
	if (unlinkat(parent, name, AT_REMOVEDIR) != 0 && !step.failed)
		step = failed_step("removing it");
	return step;
}

void probe_cgroup_clone(const struct machine *machine, struct finding *ret)
{
	struct step step;
	char name[64];

	if (machine->cgroup.problem != CGROUP_USABLE) {
		probe_report(ret, FINDING_SKIPPED, "there is no cgroup to try it in");
		return;
	}
	format_text(name, sizeof(name), "msp.probe.%d", (int)getpid());
	step = clone_into(machine->cgroup.directory, name);
	report_step(ret, &step, "works");
}
