/* SPDX-License-Identifier: Apache-2.0
 *
 * Theory of operation
 *
 * msp-image is the only program that reads an image: archives, compression and JSON that strangers
 * wrote. msp starts it for one import, one commit or one removal (image/report.h), with the image,
 * a directory for new layers and nothing else: no network, no other program, no other file. It
 * cannot change a layer that is there. It finds the image's description (description.c), unpacks
 * each layer that is missing (unpack.c) while it checks the digests (stream.c), and writes a
 * manifest in our own form. A second msp-image, which has not met the archive, makes that manifest
 * again of the JSON files alone. msp computes their digest and compares both manifests, and gives
 * layers, manifest and name their places with renames.
 *
 * It has two threads, so that a layer is decompressed while its files are made (ahead.c). Both are
 * confined alike before one of them has read a byte of the image.
 *
 * `msp commit` has it make a layer of those of a sandbox: it writes their archive (pack.c), and
 * unpacks that as it does a stranger's. Then it may also read these layers.
 *
 * Of an import that fails, or that is killed, everything is in the directory for new layers, which
 * the next command empties.
 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/confine/landlock.h"
#include "common/confine/steps.h"
#include "common/fd.h"
#include "common/kernel.h"
#include "common/limits.h"
#include "common/log.h"
#include "image/ahead.h"
#include "image/digest.h"
#include "image/import.h"
#include "image/pack.h"
#include "image/refuse.h"
#include "seccomp_filter.h"

#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

/* Everything that layers are made of; whiteouts are devices. */
#define WRITE                                                                                      \
	(READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE |                      \
	 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_SYM | \
	 LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_REMOVE_FILE |                           \
	 LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REFER)

/* The windows of compressors, and the names of a million directories. */
#define MEMORY_BYTES ((uint64_t)1 << 30)

/* The layers that are packed. */
static struct pack_source sources;

static void check_descriptors(void)
{
	for (int fd = 0; fd < IMAGE_FD_END; fd++) {
		if (fcntl(fd, F_GETFD) < 0 || (fd == IMAGE_FD_INCOMING && !fd_is_kind(fd, 'd')) ||
		    (fd == IMAGE_FD_LAYERS && !fd_is_kind(fd, 'o')))
			log_fatal(MSP_EXIT_USAGE,
				  "descriptor %d is wrong: this program is started by msp", fd);
	}
	confine_require(confine_result(kernel_close_range(IMAGE_FD_END, ~0U)),
			"closing other descriptors");
}

/* Open the layers of a sandbox, of which the first word has the number; of one without this place
 * nothing is shown. */
static void open_sources(char *const words[])
{
	unsigned long count = strtoul(*words++, NULL, 10);

	for (; *words && count > 0 && sources.count < PACK_LAYERS_MAX; words++, count--) {
		const int fd = kernel_openat2(IMAGE_FD_INPUT, *words,
					      O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
					      RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);

		if (fd >= 0)
			sources.layers[sources.count++] = fd;
		else if (errno != ENOENT)
			log_fatal(MSP_EXIT_SOFTWARE, "the layer %s of the sandbox: %s", *words,
				  errno_text(errno));
	}
	if (count > 0)
		log_fatal(MSP_EXIT_USAGE,
			  "more layers than can be: this program is started by msp");
	sources.left_out = words;
}

static void install_filter(void)
{
	CONFINE_FILTER(seccomp_filter);
}

/* Must: leave the image's directory, or the layers that are packed, to be read, and that for new
 * layers to be written. Must not: leave another file, a network, a capability, or a system call
 * that no import needs. */
static void confine_image(void)
{
	struct kernel_landlock_ruleset attr;
	int ruleset;

	confine_rights();
	confine_limit(RLIMIT_AS, MEMORY_BYTES, "limiting its memory");
	ruleset = confine_ruleset(LANDLOCK_NET_ALL, &attr);
	if (fd_is_kind(IMAGE_FD_INPUT, 'd'))
		confine_require(landlock_allow(ruleset, &attr, IMAGE_FD_INPUT, READ),
				"allowing the image's directory in Landlock");
	for (uint32_t i = 0; i < sources.count; i++)
		confine_require(landlock_allow(ruleset, &attr, sources.layers[i], READ),
				"allowing a sandbox's layer in Landlock");
	confine_require(landlock_allow(ruleset, &attr, IMAGE_FD_INCOMING, WRITE),
			"allowing the directory for new layers in Landlock");
	confine_enter(ruleset);
	/* The thread inherits the Landlock domain; the filter would forbid to start it. */
	ahead_start(install_filter);
	install_filter();
}

/* Do what the words say; the first one behind the act is a number of bytes. 0 or -1. */
static int run_act(int count, char *const words[])
{
	const char *act = count > 1 ? words[1] : "";
	const uint64_t most = count > 2 ? strtoull(words[2], NULL, 10) : 0;

	if (strcmp(act, "import") == 0 && count == 3)
		return image_import(IMAGE_FD_INPUT, IMAGE_FD_INCOMING, IMAGE_FD_LAYERS, most);
	if (strcmp(act, "check") == 0 && count == 2)
		return image_check(IMAGE_FD_INPUT, IMAGE_FD_INCOMING);
	if (strcmp(act, "pack") == 0 && count > 3)
		return image_pack(&sources, IMAGE_FD_INCOMING, IMAGE_FD_LAYERS, most);
	if (strcmp(act, "remove") == 0 && count == 2)
		return image_remove(IMAGE_FD_INCOMING);
	log_fatal(MSP_EXIT_USAGE, "this program is started by msp");
}

int main(int argc, char *argv[])
{
	log_set_name("msp-image");
	check_descriptors();
	(void)umask(0);
	/* Names in archives are UTF-8, and libarchive converts them. Without it such are refused.
	 */
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	fd_raise_limit();
	confine_require(digest_load() ? 0 : -ENOSYS, "loading SHA-256 of OpenSSL");
	if (argc > 3)
		open_sources(argv + 3);
	confine_image();
	report.is_done = run_act(argc, argv) == 0;
	return fd_write_all(STDOUT_FILENO, &report, sizeof(report)) == 0 ? 0 : MSP_EXIT_SOFTWARE;
}
