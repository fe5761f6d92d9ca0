/* SPDX-License-Identifier: Apache-2.0 */
#include "common/confine/relro.h"

#include <elf.h>
#include <errno.h>
#include <sys/mman.h>

/* The linker's name for the beginning of this program. */
extern Elf64_Ehdr program __asm__("__ehdr_start") __attribute__((visibility("hidden")));

#define PAGE_BYTES 4096UL

int relro_protect(void)
{
	char *base = (char *)&program;
	const Elf64_Phdr *parts = (const void *)(base + program.e_phoff);

	for (int i = 0; i < program.e_phnum; i++) {
		/* As the loaders do it: what shares the last page with other data stays as it is.
		 */
		const unsigned long begin = parts[i].p_vaddr & -PAGE_BYTES;
		const unsigned long end = (parts[i].p_vaddr + parts[i].p_memsz) & -PAGE_BYTES;

		if (parts[i].p_type == PT_GNU_RELRO)
			return mprotect(base + begin, end - begin, PROT_READ) == 0 ? 0 : -errno;
	}
	return -ENOEXEC;
}
