/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp vm`: the kernels of virtual machines, for the profile vm and others with its runner. A
 * machine is a directory with all that its sandboxes see of it: kernel, initramfs and msp-vm.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/sha256.h"
#include "common/text/format.h"
#include "launcher/host/directory.h"
#include "launcher/host/kernel_version.h"
#include "launcher/host/state_place.h"
#include "launcher/start/launch.h"
#include "launcher/start/machine_place.h"
#include "launcher/start/machine_program.h"
#include "options/command.h"
#include "options/everywhere.h"
#include "show/figures.h"
#include "show/print.h"
#include "show/rows.h"
#include "vm/prepare/report.h"

#define NEW ".new"
#define NEW_LINK ".current"

#define MACHINES_MAX 64

#define DIGEST_TEXT_MAX (2 * SHA256_BYTES + 1)

struct vm_options {
	bool is_json;
	const char *run_as;
	const char *config;
};

static const struct option_row rows[] = {
	OPTION(struct vm_options, "json", NULL, option_set_flag, is_json,
	       "list: print one JSON object"),
	OPTION_RUN_AS(struct vm_options, run_as),
	OPTION_CONFIG(struct vm_options, config),
};

static const char help[] =
	"Keep kernels of virtual machines. In the profile 'vm' each command has a machine\n"
	"of its own, by QEMU, inside of its sandbox: 'msp run --profile vm -- uname -r'.\n"
	"\n"
	"  prepare [FILE|VERSION]  make a machine of a kernel's Debian package, which is\n"
	"                          read and not installed, or of /boot/vmlinuz-VERSION\n"
	"                          (the default: the newest one there); it is used from\n"
	"                          now on\n"
	"  prepare KERNEL MODULES  the same of a bzImage and its directory of modules,\n"
	"                          whose name is the kernel's version\n"
	"  list                    print the machines with their sizes and digests\n"
	"  remove VERSION          remove a machine\n"
	"\n"
	"The exit code is 0; 64 when the command line is wrong or there is no such\n"
	"machine; 78 when a kernel, or a program that is needed, is missing or refused.\n";

/* Open the directory of machines. -1 after a line; -ENOENT: there is none, and none is made. */
static int open_machines(bool is_made)
{
	char path[IPC_PATH_MAX], text[STATE_PLACE_TEXT_MAX];
	const int fd = state_place_enter(STATE_PLACE_MACHINES, is_made, path, text);

	return fd >= 0 || (fd == -ENOENT && !is_made) ? fd : log_fail(-1, "%s", text);
}

/* Is it the name of a machine, and of nothing else? */
static bool is_name(const char *name)
{
	const size_t size = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789.+~_-");

	return size > 0 && size < PREPARE_VERSION_MAX && name[size] == '\0' && name[0] != '.' &&
	       strcmp(name, MACHINE_CURRENT) != 0;
}

/* Read the name of the machine that is used; "": there is none. */
static void read_current(int machines, char ret[IPC_NAME_MAX + 1])
{
	const ssize_t size = readlinkat(machines, MACHINE_CURRENT, ret, IPC_NAME_MAX);

	ret[size > 0 ? size : 0] = '\0';
}

/* --- prepare ---------------------------------------------------------------------------------- */

/* Rename a directory of machines; the C library does not have the call. */
static int rename_machine(int machines, const char *from, const char *to, unsigned int flags)
{
	return syscall(SYS_renameat2, machines, from, machines, to, flags) == 0 ? 0 : -errno;
}

/* Give the new directory its place, and make it the one that is used. 0 or -errno. */
static int place_machine(int machines, const char *name)
{
	int error = rename_machine(machines, NEW, name, RENAME_NOREPLACE);

	if (error == -EEXIST)
		error = rename_machine(machines, NEW, name, RENAME_EXCHANGE);
	if (!error)
		error = directory_remove(machines, NEW); /* the old one, if there was one */
	(void)unlinkat(machines, NEW_LINK, 0);           /* a killed command left it */
	if (!error &&
	    (symlinkat(name, machines, NEW_LINK) != 0 ||
	     renameat(machines, NEW_LINK, machines, MACHINE_CURRENT) != 0 || fsync(machines) != 0))
		error = -errno;
	return error;
}

/* Copy msp-vm into the machine: it belongs to the initramfs. 0, or the exit code after a line. */
static int copy_runner(int directory)
{
	char text[LAUNCH_TEXT_MAX];
	int from = launch_open_program(PREPARE_PROGRAM, text);
	int to, error;

	if (from < 0)
		return log_fail(MSP_EXIT_SOFTWARE, "%s", text);
	to = openat(directory, PREPARE_PROGRAM, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555);
	error = to < 0 ? -errno : fd_copy(from, to);
	if (!error && fsync(to) != 0)
		error = -errno;
	fd_close(&from);
	fd_close(&to);
	return error ? command_fail(PREPARE_PROGRAM, error) : 0;
}

/* Find the newest kernel of this machine with its modules. */
static bool find_newest(char ret[PREPARE_VERSION_MAX])
{
	static const char prefix[] = "vmlinuz-";
	DIR *boot = opendir("/boot");
	const struct dirent *entry;

	ret[0] = '\0';
	while (boot && (entry = readdir(boot)) != NULL) {
		const char *version = entry->d_name + strlen(prefix);
		char modules[IPC_PATH_MAX];

		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 || !is_name(version))
			continue;
		format_text(modules, sizeof(modules), "/lib/modules/%s", version);
		if (access(modules, R_OK) == 0 && kernel_version_compare(version, ret) > 0)
			format_text(ret, PREPARE_VERSION_MAX, "%s", version);
	}
	if (boot)
		(void)closedir(boot);
	return ret[0] != '\0';
}

static int refuse_no_kernel(void)
{
	return log_fail(MSP_EXIT_REFUSED,
			"/boot has no kernel with modules in /lib/modules. The package of one need "
			"not be installed: apt-get download $(apt-cache depends linux-image-amd64 "
			"| sed -n 's/.*Depends: //p'); msp vm prepare linux-image-*.deb");
}

/* Open a kernel and its directory of modules. 0, or the exit code after a line. */
static int open_kernel(const char *kernel, const char *modules, struct machine_source *ret)
{
	ret->name = kernel;
	ret->input = open(kernel, O_RDONLY | O_CLOEXEC);
	if (ret->input < 0)
		return command_fail(kernel, -errno);
	if (fd_is_kind(ret->input, 'd'))
		return command_fail(kernel, -EISDIR);
	ret->modules = open(modules, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return ret->modules < 0 ? command_fail(modules, -errno) : 0;
}

static int open_package(const char *path, struct machine_source *ret)
{
	ret->is_package = true;
	ret->name = path;
	ret->input = open(path, O_RDONLY | O_CLOEXEC);
	ret->modules = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (ret->input < 0 || ret->modules < 0)
		return command_fail(path, -errno);
	return fd_is_kind(ret->input, 'd') ? command_fail(path, -EISDIR) : 0;
}

/* Open a kernel of this machine by its version. */
static int open_installed(const char *version, struct machine_source *ret)
{
	static char kernel[IPC_PATH_MAX], modules[IPC_PATH_MAX];

	if (!version && !find_newest(ret->version))
		return refuse_no_kernel();
	if (version && !is_name(version))
		return log_fail(MSP_EXIT_USAGE,
				"\"%s\" is neither a package nor the version of a kernel, such as "
				"6.12.1-amd64; a package's name has a / or ends with .deb",
				version);
	if (version)
		format_text(ret->version, sizeof(ret->version), "%s", version);
	format_text(kernel, sizeof(kernel), "/boot/vmlinuz-%s", ret->version);
	format_text(modules, sizeof(modules), "/lib/modules/%s", ret->version);
	return open_kernel(kernel, modules, ret);
}

/* Open a kernel that is installed nowhere. Its directory of modules has its version as name, as
 * `make modules_install` makes it. */
static int open_built(const char *kernel, const char *modules, struct machine_source *ret)
{
	char path[PATH_MAX];
	const char *version;

	if (!realpath(modules, path))
		return command_fail(modules, -errno);
	version = strrchr(path, '/') + 1;
	if (!is_name(version))
		return log_fail(MSP_EXIT_USAGE,
				"%s: the directory of modules is not named by the kernel's "
				"version; expected one as /lib/modules/6.12.1-amd64 is",
				modules);
	format_text(ret->version, sizeof(ret->version), "%s", version);
	return open_kernel(kernel, modules, ret);
}

/* Open what a machine is made of. 0, or the exit code after a line. */
static int open_source(char *const words[], struct machine_source *ret)
{
	const char *said = words[0];

	*ret = (struct machine_source){ .input = -1, .modules = -1 };
	if (said && words[1])
		return open_built(said, words[1], ret);
	if (said && (strchr(said, '/') || strstr(said, ".deb")))
		return open_package(said, ret);
	return open_installed(said, ret);
}

static void print_digest(int machine, const char *name, char ret[DIGEST_TEXT_MAX])
{
	static uint8_t block[65536];
	uint8_t digest[SHA256_BYTES];
	struct sha256 state;
	int fd = openat(machine, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t got;

	ret[0] = '\0';
	if (fd < 0)
		return;
	sha256_begin(&state);
	while ((got = read(fd, block, sizeof(block))) > 0)
		sha256_add(&state, block, (size_t)got);
	sha256_end(&state, digest);
	fd_close(&fd);
	if (got == 0)
		format_hex(digest, sizeof(digest), ret);
}

/* Say what else is missing for machines to run: a line each, and no failure. */
static void tell_missing(void)
{
	char answer[MACHINE_ANSWER_MAX];

	if (access(MACHINE_EMULATOR, X_OK) != 0)
		log_line("QEMU, which runs the machines, is not installed: 'apt-get install "
			 "qemu-system-x86' does it");
	if (!machine_program_try_kvm(answer))
		everywhere_note("without KVM machines take several times longer (%s)", answer);
}

/* Make the machine in its new directory, and give it its place. */
static int make_machine(int machines, int directory, struct machine_source *source)
{
	char digest[DIGEST_TEXT_MAX];
	int code = machine_program_prepare(source, directory);
	int error;

	if (!code && !is_name(source->version))
		code = log_fail(MSP_EXIT_REFUSED,
				"the version of the package's kernel is \"%s\"; expected letters, "
				"digits, and \".+~_-\"",
				source->version);
	if (!code)
		code = copy_runner(directory);
	if (code)
		return code;
	error = fsync(directory) != 0 ? -errno : place_machine(machines, source->version);
	if (error)
		return command_fail("the machine cannot be kept", error);
	print_digest(directory, PREPARE_KERNEL, digest);
	(void)printf("%s\n", source->version);
	everywhere_note("kernel %.12s, %u modules; machines are made of it from now on", digest,
			source->modules_found);
	tell_missing();
	error = print_flush();
	return error ? command_fail("standard output", error) : 0;
}

static int run_prepare(const struct vm_options *options, char *const words[])
{
	struct machine_source source;
	int code = open_source(words, &source);
	int machines = -1, directory = -1;
	int error;

	(void)options;
	if (!code)
		machines = open_machines(true);
	if (!code && machines < 0)
		code = MSP_EXIT_REFUSED;
	error = code ? 0 : directory_remove(machines, NEW); /* a killed command left it */
	if (!code && !error && mkdirat(machines, NEW, 0700) != 0)
		error = -errno;
	if (error)
		code = command_fail("the directory of machines", error);
	if (!code)
		directory = openat(machines, NEW, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!code)
		code = make_machine(machines, directory, &source);
	if (code && machines >= 0)
		(void)directory_remove(machines, NEW);
	fd_close(&directory);
	fd_close(&machines);
	fd_close(&source.input);
	fd_close(&source.modules);
	return code;
}

/* --- list and remove -------------------------------------------------------------------------- */

struct machine {
	char name[IPC_NAME_MAX];
	char digest[DIGEST_TEXT_MAX];
	uint64_t bytes;
	bool is_current;
};

static bool read_machine(int machines, const char *name, struct machine *ret)
{
	static const char *const files[] = { PREPARE_KERNEL, PREPARE_INITRAMFS, PREPARE_PROGRAM };
	char current[IPC_NAME_MAX + 1];
	int fd = openat(machines, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return false;
	*ret = (struct machine){ .bytes = 0 };
	format_text(ret->name, sizeof(ret->name), "%s", name);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (fstatat(fd, files[i], &status, AT_SYMLINK_NOFOLLOW) == 0)
			ret->bytes += (uint64_t)status.st_size;
	}
	print_digest(fd, PREPARE_KERNEL, ret->digest);
	read_current(machines, current);
	ret->is_current = strcmp(current, name) == 0;
	fd_close(&fd);
	return true;
}

static void print_machine(const struct machine *machine)
{
	char bytes[FIGURES_TEXT_MAX];

	(void)printf("%-28s %10s  %.12s%s\n", machine->name, figures_bytes(machine->bytes, bytes),
		     machine->digest, machine->is_current ? "  used" : "");
}

static void put_machine(struct json_writer *writer, const struct machine *machine)
{
	json_put_text(writer, "version", machine->name);
	json_put_text(writer, "kernel_sha256", machine->digest);
	json_put_number(writer, "bytes", machine->bytes);
	json_put_bool(writer, "used", machine->is_current);
}

/* Names of machines, sorted as versions. */
struct names {
	uint32_t count;
	char list[MACHINES_MAX][PREPARE_VERSION_MAX];
};

static int compare_names(const void *one, const void *other)
{
	return strverscmp(one, other);
}

/* 0 or -errno; more than there is room for are left out. */
static int read_names(int machines, struct names *ret)
{
	const int fd = machines < 0 ? -1 : openat(machines, ".", O_RDONLY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	ret->count = 0;
	if (machines < 0)
		return 0;
	if (!stream)
		return -errno;
	while ((entry = readdir(stream)) != NULL && ret->count < MACHINES_MAX) {
		if (is_name(entry->d_name))
			format_text(ret->list[ret->count++], PREPARE_VERSION_MAX, "%s",
				    entry->d_name);
	}
	(void)closedir(stream);
	qsort(ret->list, ret->count, sizeof(ret->list[0]), compare_names);
	return 0;
}

static int list_machines(int machines, bool is_json)
{
	static struct names names;
	static struct rows shown;
	struct machine machine;
	int error = read_names(machines, &names);

	if (error)
		return command_fail("the directory of machines", error);
	shown.is_json = is_json;
	rows_begin(&shown, "machines");
	for (uint32_t i = 0; i < names.count; i++) {
		if (!read_machine(machines, names.list[i], &machine))
			continue;
		if (!is_json && everywhere.is_quiet)
			(void)puts(machine.name);
		else if (!is_json)
			print_machine(&machine);
		if (!is_json)
			continue;
		rows_next(&shown);
		put_machine(shown.json, &machine);
	}
	if (names.count == 0 && !is_json)
		everywhere_note("there is no machine: 'msp vm prepare' makes one");
	rows_end(&shown);
	error = rows_finish(&shown);
	return error ? command_fail("standard output", error) : 0;
}

static int run_list(const struct vm_options *options, char *const words[])
{
	int machines = open_machines(false);
	int code;

	(void)words;
	if (machines == -1)
		return MSP_EXIT_REFUSED;
	code = list_machines(machines, options->is_json);
	fd_close(&machines);
	return code;
}

static int run_remove(const struct vm_options *options, char *const words[])
{
	int machines = open_machines(false);
	char current[IPC_NAME_MAX + 1];
	int error = 0;
	struct stat status;

	(void)options;
	if (machines == -1)
		return MSP_EXIT_REFUSED;
	if (machines < 0 || !is_name(words[0]) ||
	    fstatat(machines, words[0], &status, AT_SYMLINK_NOFOLLOW) != 0) {
		log_line("there is no machine '%.100s': 'msp vm list' prints the machines",
			 words[0]);
		fd_close(&machines);
		return MSP_EXIT_USAGE;
	}
	read_current(machines, current);
	if (strcmp(current, words[0]) == 0 && unlinkat(machines, MACHINE_CURRENT, 0) != 0)
		error = -errno;
	if (!error)
		error = directory_remove(machines, words[0]);
	fd_close(&machines);
	if (error)
		return command_fail("the machine cannot be removed", error);
	everywhere_note("the machine %s is removed%s", words[0],
			strcmp(current, words[0]) == 0
				? "; 'msp vm prepare' makes another one to be used"
				: "");
	return 0;
}

/* --- the command ------------------------------------------------------------------------------ */

static const struct action {
	struct command_action is;
	int (*run)(const struct vm_options *options, char *const words[]);
} actions[] = {
	{ { "prepare", 0, 2,
	    "prepare takes a package, a version of /boot, or a kernel and its modules" },
	  run_prepare },
	{ { "list", 0, 0, "list takes no word" }, run_list },
	{ { "remove", 1, 1, "remove takes one version" }, run_remove },
};

static int run_vm(const struct command *command, int argc, char *argv[])
{
	struct vm_options options = { .is_json = false };
	struct command_words words = { .most = 3 };
	const struct action *action;
	int code;

	action = command_parse_action(command, argc, argv, &options, &words, &code);
	if (!action)
		return code;
	if (options.is_json && action->run != run_list)
		return command_usage_error(command, "--json is for list");
	command_name_lines(command);
	code = launch_become_account(options.config, options.run_as);
	return code ? code : action->run(&options, words.list + 1);
}

const struct command command_vm = {
	.name = "vm",
	.operands = "prepare|list|remove ...",
	.summary = "keep kernels of virtual machines for profiles",
	.help = help,
	.options = { OPTION_ROWS(rows), .has_operands = true },
	.actions = ACTION_ROWS(actions),
	.run = run_vm,
};
