/* SPDX-License-Identifier: Apache-2.0
 *
 * Packages of kernels, directories of modules and lists of what is built in: whole, damaged, and
 * made to mislead.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene.h"

#define MODULE(name)                                                                               \
	{                                                                                          \
		"./lib/modules/6.1/kernel/" name ".ko", "\177ELF module", 11                       \
	}
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static const struct scene_file whole[] = {
	{ "./boot/vmlinuz-6.1", "a kernel", 8 },
	MODULE("virtio_pci"),
	MODULE("virtio_console"),
	MODULE("9pnet_virtio"),
	MODULE("9p"),
};

static struct parts parts;

static int read_package(const struct scene_file *files, size_t count,
			enum scene_compression compression)
{
	struct content package = scene_package(files, count, compression);
	int result;

	scene_clear(&parts);
	result = scene_read(&package, &parts);
	free(package.bytes);
	return result == 0 ? parts_check(&parts) : result;
}

static void expect_refused(const char *reason)
{
	cr_expect_not_null(strstr(report.text, reason), "no '%s' in '%s'", reason, report.text);
}

/* libarchive gives no reason for each failure, and "%s" of none is "(null)". */
static void expect_words(const char *act, size_t at)
{
	cr_expect(report.text[0] != '\0' && strstr(report.text, "(null)") == NULL,
		  "%s at %zu: '%s'", act, at, report.text);
}

Test(parts, every_compression)
{
	for (enum scene_compression i = SCENE_PLAIN; i <= SCENE_ZSTD; i++) {
		cr_expect_eq(read_package(whole, COUNT(whole), i), 0, "%u: %s", i, report.text);
		cr_expect_str_eq(report.version, "6.1");
		cr_expect_eq(parts.kernel.size, 8);
	}
}

Test(parts, each_cut_is_refused_or_whole)
{
	struct content package = scene_package(whole, COUNT(whole), SCENE_GZIP);
	const size_t size = package.size;

	for (package.size = 0; package.size < size; package.size++) {
		scene_clear(&parts);
		if (scene_read(&package, &parts) == 0 && parts_check(&parts) == 0)
			cr_expect_geq(package.size, size - 8, "cut at %zu of %zu", package.size,
				      size);
		else
			expect_words("cut", package.size);
	}
	free(package.bytes);
}

Test(parts, each_wrong_byte_is_survived)
{
	struct content package = scene_package(whole, COUNT(whole), SCENE_PLAIN);

	for (size_t i = 0; i < package.size; i += 3) {
		package.bytes[i] ^= 0xff;
		scene_clear(&parts);
		if (scene_read(&package, &parts) != 0 || parts_check(&parts) != 0)
			expect_words("changed", i);
		package.bytes[i] ^= 0xff;
	}
	free(package.bytes);
}

Test(parts, each_needed_module_is_missed)
{
	for (size_t i = 1; i < COUNT(whole); i++) {
		struct scene_file files[COUNT(whole)];

		memcpy(files, whole, sizeof(whole));
		files[i].path = "./lib/modules/6.1/kernel/other.ko";
		cr_expect_neq(read_package(files, COUNT(whole), SCENE_PLAIN), 0, "%zu", i);
		expect_refused("the kernel has no module ");
	}
	cr_expect_neq(read_package(whole + 1, COUNT(whole) - 1, SCENE_PLAIN), 0);
	expect_refused("the package has no boot/vmlinuz-");
}

Test(parts, builtin_modules)
{
	static const char list[] = "kernel/virtio/virtio_pci.ko\nkernel/virtio_console.ko\n\n"
				   "9pnet_virtio.ko\nkernel/9p.ko";
	const struct scene_file files[] = { whole[0], { "modules.builtin", list, strlen(list) } };
	const struct scene_file similar[] = {
		whole[0],
		{ "modules.builtin", "virtio_pci\nxvirtio_pci.ko\n\0\0", 29 },
	};

	cr_expect_eq(read_package(files, COUNT(files), SCENE_PLAIN), 0, "%s", report.text);
	cr_expect_neq(read_package(similar, COUNT(similar), SCENE_PLAIN), 0);
	expect_refused("the kernel has no module virtio_pci");
}

Test(parts, packed_modules)
{
	struct content packed = scene_pack("\177ELF packed", 11, SCENE_XZ);
	struct scene_file files[COUNT(whole)];

	memcpy(files, whole, sizeof(whole));
	files[4] = (struct scene_file){ "./9p.ko.xz", packed.bytes, packed.size };
	cr_expect_eq(read_package(files, COUNT(whole), SCENE_PLAIN), 0, "%s", report.text);
	cr_expect_eq(parts.modules[MODULE_COUNT - 1].size, 11);
	files[4].size /= 2;
	cr_expect_neq(read_package(files, COUNT(whole), SCENE_PLAIN), 0);
	expect_refused("9p.ko.xz: ");
	files[4] = (struct scene_file){ "./9p.ko", "text", 4 };
	cr_expect_neq(read_package(files, COUNT(whole), SCENE_PLAIN), 0);
	expect_refused("the module 9p.ko is no ELF file");
	files[4] = (struct scene_file){ "./9p.ko", "", 0 };
	cr_expect_neq(read_package(files, COUNT(whole), SCENE_PLAIN), 0);
	free(packed.bytes);
}

Test(parts, first_of_two_counts)
{
	struct scene_file files[COUNT(whole) + 2];

	memcpy(files, whole, sizeof(whole));
	files[COUNT(whole)] = (struct scene_file){ "./boot/vmlinuz-7", "another", 7 };
	files[COUNT(whole) + 1] = (struct scene_file){ "../../9p.ko", "no module", 9 };
	cr_expect_eq(read_package(files, COUNT(files), SCENE_PLAIN), 0, "%s", report.text);
	cr_expect_str_eq(report.version, "6.1");
	cr_expect_eq(parts.modules[MODULE_COUNT - 1].size, 11);
}

Test(parts, long_version)
{
	char path[128] = "boot/vmlinuz-";
	const struct scene_file files[] = { { path, "x", 1 } };

	memset(path + 13, 'v', PREPARE_VERSION_MAX - 1);
	cr_expect_neq(read_package(files, 1, SCENE_PLAIN), 0); /* there are no modules */
	cr_expect_eq(strlen(report.version), PREPARE_VERSION_MAX - 1);
	path[13 + PREPARE_VERSION_MAX - 1] = 'v';
	cr_expect_neq(read_package(files, 1, SCENE_PLAIN), 0);
	expect_refused("the version of the kernel");
}

Test(parts, content_has_a_limit)
{
	int ends[2];
	struct content content = { 0 };

	cr_assert_eq(pipe(ends), 0);
	cr_assert_eq(write(ends[1], "12345", 5), 5);
	(void)close(ends[1]);
	cr_expect_neq(content_read(ends[0], 4, "it", &content), 0);
	expect_refused("it has more than");
	free(content.bytes);
}

Test(parts, bomb_is_cut_off)
{
	uint8_t *zeros = calloc(1, 8 << 20);
	struct content packed = scene_pack(zeros, 8 << 20, SCENE_GZIP);
	struct content content = { 0 };

	cr_assert_lt(packed.size, 65536);
	cr_expect_neq(content_unpack(&packed, 1 << 20, "it", &content), 0);
	expect_refused("it has more than 1 MiB");
	cr_expect_leq(content.size, 1 << 20);
	free(content.bytes);
	free(packed.bytes);
	free(zeros);
}

Test(parts, directory_of_modules)
{
	char folder[] = "/tmp/msp-vm-XXXXXX", command[64];
	int directory;

	cr_assert_not_null(mkdtemp(folder));
	cr_assert_eq(chdir(folder), 0);
	cr_assert_eq(mkdir("a", 0700), 0);
	for (size_t i = 1; i < COUNT(whole); i++) {
		char path[64];
		int fd;

		(void)snprintf(path, sizeof(path), "a/%s", strrchr(whole[i].path, '/') + 1);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		cr_assert_eq(write(fd, whole[i].bytes, whole[i].size), whole[i].size);
		(void)close(fd);
	}
	cr_assert_eq(symlink("/", "a/all"), 0);
	cr_assert_eq(symlink("/etc/passwd", "virtio.ko"), 0);
	cr_assert_eq(mkfifo("virtio_ring.ko", 0600), 0);
	scene_clear(&parts);
	directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_expect_eq(modules_read(directory, &parts), 0, "%s", report.text);
	(void)content_append(&parts.kernel, "x", 1);
	cr_expect_eq(parts_check(&parts), 0, "%s", report.text);
	cr_expect_null(parts.modules[0].bytes, "a pipe is no module");
	cr_expect_null(parts.modules[1].bytes, "a link is not followed");
	cr_assert_eq(chdir("/"), 0);
	(void)snprintf(command, sizeof(command), "rm -r %s", folder);
	cr_assert_eq(system(command), 0);
}
