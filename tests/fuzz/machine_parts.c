/* SPDX-License-Identifier: Apache-2.0
 *
 * Properties of msp-vm-prepare, whatever package it reads: it writes its two files or says why not,
 * the kernel is a program whose parts are all in it, and the initramfs has what was found. The
 * input's parts are files of a package; if it begins with 'T', the rest is the package as it is,
 * and with 'K' the program of a kernel.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "property.h"
#include "scene.h"

#define FILES_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/dev/shm/msp-fuzz-machine-XXXXXX"; /* the files are synchronised */
static int directory = -1;

static void remove_directory(void)
{
	(void)rmdir(folder);
}

static void open_directory(void)
{
	if (directory >= 0)
		return;
	must(mkdtemp(folder) != NULL);
	must(atexit(remove_directory) == 0);
	directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(directory >= 0);
}

/* Make a package of the input's parts: names as they are, or those that are looked for. */
static struct content make_package(struct input *input)
{
	static char names[FILES_MAX][128];
	struct scene_file files[FILES_MAX];
	const uint8_t compression = input_byte(input);
	size_t count = 0;

	for (; input->size > 0 && count < FILES_MAX; count++) {
		const uint8_t kind = input_byte(input);
		size_t size;
		const char *name = (const char *)input_part(input, &size);

		if (kind < MODULE_COUNT)
			(void)snprintf(names[count], sizeof(names[0]), "./lib/%s.ko%.*s",
				       module_names[kind], size > 8 ? 8 : (int)size, name);
		else
			(void)snprintf(names[count], sizeof(names[0]), "%s%.*s",
				       kind & 1 ? "./boot/vmlinuz-" : "",
				       size > 100 ? 100 : (int)size, name);
		for (char *at = names[count]; *at != '\0'; at++)
			*at = (char)(*at > 0 ? *at : '?'); /* others are in packages as they are */
		files[count].path = names[count];
		files[count].bytes = input_part(input, &files[count].size);
	}
	return scene_package(files, count, compression % (SCENE_ZSTD + 1));
}

static void check_kernel(void)
{
	const int fd = openat(directory, PREPARE_KERNEL, O_RDONLY | O_CLOEXEC);
	struct stat status;
	Elf64_Ehdr head;

	must(fd >= 0 && fstat(fd, &status) == 0);
	must(pread(fd, &head, sizeof(head), 0) == sizeof(head));
	must(memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_phnum > 0);
	for (unsigned int i = 0; i < head.e_phnum; i++) {
		Elf64_Phdr segment;

		must(pread(fd, &segment, sizeof(segment),
			   (off_t)(head.e_phoff + i * sizeof(segment))) == sizeof(segment));
		must(segment.p_offset <= (uint64_t)status.st_size &&
		     segment.p_filesz <= (uint64_t)status.st_size - segment.p_offset);
	}
	(void)close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct parts parts;
	struct input input = { data, size };
	struct content package = { 0 }, packed, kernel;
	int result = 0;

	open_directory();
	(void)content_append(&parts.init, "init", 4);
	if (size > 0 && data[0] == 'K') {
		packed = scene_pack(data + 1, size - 1, SCENE_GZIP);
		kernel = scene_kernel(&packed);
		free(packed.bytes);
		result = kernel_write(directory, &kernel);
		free(kernel.bytes);
		if (result == 0)
			check_kernel();
	} else {
		if (size > 0 && data[0] == 'T')
			(void)content_append(&package, data + 1, size - 1);
		else
			package = make_package(&input);
		result = package.size > 0 ? scene_read(&package, &parts) : -1;
		free(package.bytes);
		must(package.size == 0 || result == 0 || report.text[0] != '\0');
		if (result == 0)
			result = parts_check(&parts);
		if (parts.kernel.bytes != NULL && kernel_write(directory, &parts.kernel) == 0)
			check_kernel();
		must(initramfs_write(directory, &parts) == 0);
	}
	must(memchr(report.text, '\0', sizeof(report.text)) != NULL);
	must(memchr(report.version, '\0', sizeof(report.version)) != NULL);
	(void)unlinkat(directory, PREPARE_KERNEL, 0);
	(void)unlinkat(directory, PREPARE_INITRAMFS, 0);
	scene_clear(&parts);
	return 0;
}
