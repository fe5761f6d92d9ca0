/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of a machine.
 */
#include "vm/prepare/prepare.h"

#include <archive.h>
#include <archive_entry.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"

/* The boot protocol (Documentation/x86/boot.rst): where a kernel's compressed program is. */
#define HEADER_MAGIC_AT 0x202
#define HEADER_MAGIC "HdrS"
#define HEADER_SECTORS_AT 0x1f1
#define HEADER_PAYLOAD_AT 0x248
#define HEADER_SIZE 0x250
#define SECTOR 512U
#define SIZE_BYTES 4U
#define GZIP_MAGIC "\x1f\x8b"

#define PROGRAM_MAX ((size_t)512 << 20)

int file_write(int directory, const char *name, const void *bytes, size_t size)
{
	int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	int error = fd < 0 ? -errno : fd_write_all(fd, bytes, size);

	if (error == 0 && fsync(fd) != 0)
		error = -errno;
	fd_close(&fd);
	return error == 0 ? 0 : refuse("%s: %s", name, errno_text(-error));
}

static uint32_t number_at(const struct content *content, size_t at)
{
	uint32_t number;

	memcpy(&number, content->bytes + at, sizeof(number));
	return number;
}

/* Find the compressed program in a kernel. */
static int find_payload(const struct content *kernel, struct content *ret)
{
	size_t start, size, sectors;

	if (kernel->size < HEADER_SIZE ||
	    memcmp(kernel->bytes + HEADER_MAGIC_AT, HEADER_MAGIC, strlen(HEADER_MAGIC)) != 0)
		return refuse("the kernel is no bzImage of x86; expected one as "
			      "/boot/vmlinuz-... is");
	sectors = kernel->bytes[HEADER_SECTORS_AT];
	start = (sectors + 1) * SECTOR + number_at(kernel, HEADER_PAYLOAD_AT);
	size = number_at(kernel, HEADER_PAYLOAD_AT + 4);
	if (start >= kernel->size || size > kernel->size - start || size < SIZE_BYTES)
		return refuse("the kernel is shorter than its header says");
	/* The size behind the program is gzip's own, and otherwise the kernel's. */
	if (memcmp(kernel->bytes + start, GZIP_MAGIC, strlen(GZIP_MAGIC)) != 0)
		size -= SIZE_BYTES;
	*ret = (struct content){ .bytes = kernel->bytes + start, .size = size };
	return 0;
}

/* Leave out what is behind the last part that is loaded: symbols and sections. */
static int trim_program(struct content *program)
{
	Elf64_Ehdr *head = (void *)program->bytes;
	const uint8_t *segments;
	size_t end;

	if (program->size < sizeof(*head) || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    head->e_phnum == 0 || head->e_phoff > program->size ||
	    head->e_phnum > (program->size - head->e_phoff) / sizeof(Elf64_Phdr))
		return refuse("the kernel holds no program");
	segments = program->bytes + head->e_phoff;
	end = head->e_phoff + head->e_phnum * sizeof(Elf64_Phdr);
	if (end < sizeof(*head))
		end = sizeof(*head);
	for (size_t i = 0; i < head->e_phnum; i++) {
		Elf64_Phdr segment;

		memcpy(&segment, segments + i * sizeof(segment), sizeof(segment));
		if (segment.p_offset > program->size ||
		    segment.p_filesz > program->size - segment.p_offset)
			return refuse("the kernel's program is cut off");
		if (segment.p_offset + segment.p_filesz > end)
			end = segment.p_offset + segment.p_filesz;
	}
	head->e_shoff = 0;
	head->e_shnum = 0;
	head->e_shstrndx = SHN_UNDEF;
	program->size = end;
	return 0;
}

int kernel_write(int directory, const struct content *kernel)
{
	struct content payload, program = { 0 };
	const bool is_done =
		find_payload(kernel, &payload) == 0 &&
		content_unpack(&payload, PROGRAM_MAX, "the kernel's program", &program) == 0 &&
		trim_program(&program) == 0 &&
		file_write(directory, PREPARE_KERNEL, program.bytes, program.size) == 0;

	free(program.bytes);
	return is_done ? 0 : -1;
}

/* --- the initramfs ---------------------------------------------------------------------------- */

static ssize_t keep_bytes(struct archive *archive, void *context, const void *bytes, size_t size)
{
	return content_append(context, bytes, size) ? (ssize_t)size : -1;
}

static int put_entry(struct archive *archive, const char *path, unsigned int type,
		     const struct content *content)
{
	struct archive_entry *entry = archive_entry_new();
	int result = ARCHIVE_FATAL;

	if (entry != NULL) {
		archive_entry_set_pathname(entry, path);
		archive_entry_set_filetype(entry, type);
		archive_entry_set_perm(entry, 0755);
		archive_entry_set_nlink(entry, 1);
		archive_entry_set_size(entry, content != NULL ? (la_int64_t)content->size : 0);
		result = archive_write_header(archive, entry);
	}
	if (result == ARCHIVE_OK && content != NULL &&
	    archive_write_data(archive, content->bytes, content->size) != (la_ssize_t)content->size)
		result = ARCHIVE_FATAL;
	archive_entry_free(entry);
	return result == ARCHIVE_OK ? 0 : refuse_archive(path, archive);
}

static int put_all(struct archive *archive, const struct parts *parts)
{
	static const char *const directories[] = { "dev", "proc", "root", "modules" };
	int result = 0;

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]) && result == 0; i++)
		result = put_entry(archive, directories[i], AE_IFDIR, NULL);
	for (int i = 0; i < MODULE_COUNT && result == 0; i++) {
		char path[64];

		if (parts->modules[i].bytes == NULL)
			continue;
		(void)snprintf(path, sizeof(path), "modules/%02d-%s.ko", i, module_names[i]);
		result = put_entry(archive, path, AE_IFREG, &parts->modules[i]);
		report.modules++;
	}
	return result == 0 ? put_entry(archive, "init", AE_IFREG, &parts->init) : result;
}

int initramfs_write(int directory, const struct parts *parts)
{
	struct archive *archive = archive_write_new();
	struct content made = { 0 };
	int result;

	if (archive == NULL || archive_write_set_format_cpio_newc(archive) != ARCHIVE_OK ||
	    archive_write_open(archive, &made, NULL, keep_bytes, NULL) != ARCHIVE_OK)
		result = refuse("libarchive cannot be used");
	else
		result = put_all(archive, parts);
	if (result == 0 && archive_write_close(archive) != ARCHIVE_OK)
		result = refuse_archive("the initramfs", archive);
	(void)archive_write_free(archive);
	if (result == 0)
		result = file_write(directory, PREPARE_INITRAMFS, made.bytes, made.size);
	free(made.bytes);
	return result;
}
