/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels of the boot protocol, the program in them, and the initramfs.
 */
#include <criterion/criterion.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene.h"

#define PROGRAM_SIZE 1000

static char folder[] = "/tmp/msp-vm-XXXXXX";
static int directory;
static union {
	uint8_t bytes[PROGRAM_SIZE];
	Elf64_Ehdr head;
} program;

static Elf64_Phdr *segment_of(void)
{
	return (void *)(program.bytes + sizeof(Elf64_Ehdr));
}

static void set_up(void)
{
	cr_assert_not_null(mkdtemp(folder));
	directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	memset(&program, 'x', sizeof(program));
	memcpy(program.head.e_ident, ELFMAG, SELFMAG);
	program.head.e_phoff = sizeof(Elf64_Ehdr);
	program.head.e_phnum = 1;
	segment_of()->p_offset = 0;
	segment_of()->p_filesz = 600;
}

static void tear_down(void)
{
	(void)unlinkat(directory, PREPARE_KERNEL, 0);
	(void)unlinkat(directory, PREPARE_INITRAMFS, 0);
	(void)rmdir(folder);
}

TestSuite(write, .init = set_up, .fini = tear_down);

/* Write the kernel whose program this is. Return the size of the file, or -1. */
static off_t write_program(size_t size, enum scene_compression compression)
{
	struct content packed = scene_pack(program.bytes, size, compression);
	struct content kernel;
	struct stat status;
	int result;

	if (compression != SCENE_GZIP)
		(void)content_append(&packed, "size", 4);
	kernel = scene_kernel(&packed);
	(void)unlinkat(directory, PREPARE_KERNEL, 0);
	result = kernel_write(directory, &kernel);
	free(packed.bytes);
	free(kernel.bytes);
	if (result != 0)
		return -1;
	cr_assert_eq(fstatat(directory, PREPARE_KERNEL, &status, 0), 0);
	return status.st_size;
}

static void expect_refused(const char *reason)
{
	cr_expect_not_null(strstr(report.text, reason), "no '%s' in '%s'", reason, report.text);
	cr_expect_neq(faccessat(directory, PREPARE_KERNEL, F_OK, 0), 0);
}

Test(write, every_compression)
{
	for (enum scene_compression i = SCENE_GZIP; i <= SCENE_ZSTD; i++)
		cr_expect_eq(write_program(PROGRAM_SIZE, i), 600, "%u: %s", i, report.text);
}

Test(write, program_keeps_its_heads)
{
	segment_of()->p_filesz = 0;
	cr_expect_eq(write_program(PROGRAM_SIZE, SCENE_GZIP),
		     sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr));
}

Test(write, heads_anywhere)
{
	memmove(program.bytes + 501, segment_of(), sizeof(Elf64_Phdr));
	program.head.e_phoff = 501; /* not aligned */
	cr_expect_eq(write_program(PROGRAM_SIZE, SCENE_GZIP), 600);
}

Test(write, programs_that_lie)
{
	program.head.e_phnum = 0;
	cr_expect_eq(write_program(PROGRAM_SIZE, SCENE_GZIP), -1);
	expect_refused("the kernel holds no program");
	program.head.e_phnum = 0xffff;
	cr_expect_eq(write_program(PROGRAM_SIZE, SCENE_GZIP), -1);
	expect_refused("the kernel holds no program");
	program.head.e_phnum = 1;
	program.head.e_phoff = ~0ULL;
	cr_expect_eq(write_program(PROGRAM_SIZE, SCENE_GZIP), -1);
	expect_refused("the kernel holds no program");
	program.head.e_phoff = sizeof(Elf64_Ehdr);
	segment_of()->p_offset = ~0ULL;
	cr_expect_eq(write_program(PROGRAM_SIZE, SCENE_GZIP), -1);
	expect_refused("cut off");
	segment_of()->p_offset = 16;
	segment_of()->p_filesz = ~0ULL - 8;
	cr_expect_eq(write_program(PROGRAM_SIZE, SCENE_GZIP), -1);
	expect_refused("cut off");
	cr_expect_eq(write_program(sizeof(Elf64_Ehdr) - 1, SCENE_GZIP), -1);
	expect_refused("the kernel holds no program");
	program.bytes[0] = 'x';
	cr_expect_eq(write_program(PROGRAM_SIZE, SCENE_GZIP), -1);
	expect_refused("the kernel holds no program");
}

Test(write, kernels_that_lie)
{
	struct content packed = scene_pack(program.bytes, PROGRAM_SIZE, SCENE_GZIP);
	struct content kernel = scene_kernel(&packed);
	const size_t size = kernel.size;

	for (kernel.size = 0; kernel.size < size; kernel.size++) {
		cr_expect_neq(kernel_write(directory, &kernel), 0, "cut at %zu", kernel.size);
		expect_refused("the kernel");
	}
	memset(kernel.bytes + 0x248, 0xff, 4);
	cr_expect_neq(kernel_write(directory, &kernel), 0);
	expect_refused("shorter than its header says");
	memset(kernel.bytes + 0x248, 0, 8);
	cr_expect_neq(kernel_write(directory, &kernel), 0);
	kernel.bytes[0x1f1] = 0xff;
	cr_expect_neq(kernel_write(directory, &kernel), 0);
	kernel.bytes[0x202] = 'h';
	cr_expect_neq(kernel_write(directory, &kernel), 0);
	expect_refused("the kernel is no bzImage of x86");
	free(packed.bytes);
	free(kernel.bytes);
}

Test(write, file_that_is_there_stays)
{
	cr_assert_eq(file_write(directory, PREPARE_KERNEL, "old", 3), 0);
	cr_expect_neq(file_write(directory, PREPARE_KERNEL, "new", 3), 0);
	cr_expect_not_null(strstr(report.text, PREPARE_KERNEL), "%s", report.text);
}

Test(write, initramfs_has_modules_in_their_order)
{
	static uint8_t bytes[65536];
	struct parts parts = { .kernel = { NULL, 0 } };
	const uint8_t *first, *last;
	ssize_t size;
	int fd;

	(void)content_append(&parts.init, "init", 4);
	(void)content_append(&parts.modules[MODULE_COUNT - 1], "9p's bytes", 10);
	(void)content_append(&parts.modules[0], "ring's bytes", 12);
	cr_assert_eq(initramfs_write(directory, &parts), 0, "%s", report.text);
	cr_expect_eq(report.modules, 2);
	fd = openat(directory, PREPARE_INITRAMFS, O_RDONLY | O_CLOEXEC);
	size = read(fd, bytes, sizeof(bytes));
	cr_assert_gt(size, 0);
	cr_expect_eq(memcmp(bytes, "070701", 6), 0);
	first = memmem(bytes, (size_t)size, "modules/00-virtio_ring.ko", 25);
	last = memmem(bytes, (size_t)size, "modules/10-9p.ko", 16);
	cr_assert(first != NULL && last != NULL && first < last);
	cr_expect_null(memmem(bytes, (size_t)size, "virtio_pci", 10));
	scene_clear(&parts);
}
