/* SPDX-License-Identifier: Apache-2.0
 *
 * Theory of operation
 *
 * msp-vm-prepare makes the kernel and the initramfs of virtual machines, from a Debian package of a
 * kernel, or from a kernel and its directory of modules. `msp vm prepare` starts it, and gives the
 * files their place when it has said that all is done. It reads archives, so it can do nothing
 * else: it has no network, no other program and no file but those it is given.
 */
#include <locale.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/confine/landlock.h"
#include "common/confine/steps.h"
#include "common/fd.h"
#include "common/limits.h"
#include "common/log.h"
#include "seccomp_filter.h"
#include "vm/prepare/prepare.h"

#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG)

/* A kernel, packed and not, and the window of its compressor. */
#define MEMORY_BYTES ((uint64_t)2 << 30)

#define KERNEL_MAX ((size_t)256 << 20)
#define INIT_MAX ((size_t)16 << 20)

/* Must: leave the modules to be read, and the directory to be written. Must not: leave another
 * file, a network, a capability, or a system call that this needs not. */
static void confine_prepare(void)
{
	struct kernel_landlock_ruleset attr;
	int ruleset;

	if (!fd_is_kind(PREPARE_FD_OUTPUT, 'd'))
		log_fatal(MSP_EXIT_USAGE, "this program is started by msp");
	confine_require(confine_result(kernel_close_range(PREPARE_FD_END, ~0U)),
			"closing other descriptors");
	confine_rights();
	confine_limit(RLIMIT_AS, MEMORY_BYTES, "limiting its memory");
	ruleset = confine_ruleset(LANDLOCK_NET_ALL, &attr);
	if (fd_is_kind(PREPARE_FD_MODULES, 'd'))
		confine_require(landlock_allow(ruleset, &attr, PREPARE_FD_MODULES, READ),
				"allowing the directory of modules in Landlock");
	confine_require(landlock_allow(ruleset, &attr, PREPARE_FD_OUTPUT, WRITE),
			"allowing the directory of the machine in Landlock");
	confine_enter(ruleset);
	CONFINE_FILTER(seccomp_filter);
}

static int prepare_machine(bool is_package)
{
	static struct parts parts;
	const bool is_read =
		content_read(PREPARE_FD_INIT, INIT_MAX, "the first program", &parts.init) == 0 &&
		(is_package ? package_read(PREPARE_FD_INPUT, &parts) == 0
			    : content_read(PREPARE_FD_INPUT, KERNEL_MAX, "the kernel",
					   &parts.kernel) == 0 &&
				      modules_read(PREPARE_FD_MODULES, &parts) == 0);

	return is_read && parts_check(&parts) == 0 &&
			       kernel_write(PREPARE_FD_OUTPUT, &parts.kernel) == 0
		       ? initramfs_write(PREPARE_FD_OUTPUT, &parts)
		       : -1;
}

int main(int argc, char *argv[])
{
	const bool is_package = argc == 2 && strcmp(argv[1], "package") == 0;

	log_set_name("msp-vm-prepare");
	if (!is_package && (argc != 2 || strcmp(argv[1], "kernel") != 0))
		log_fatal(MSP_EXIT_USAGE, "this program is started by msp");
	/* Names in archives are UTF-8, and libarchive converts them. */
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	confine_prepare();
	report.is_done = prepare_machine(is_package) == 0;
	return fd_write_all(STDOUT_FILENO, &report, sizeof(report)) == 0 ? 0 : MSP_EXIT_SOFTWARE;
}
