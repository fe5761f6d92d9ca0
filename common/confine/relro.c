/* SPDX-License-Identifier: Apache-2.0 */
#include "common/confine/relro.h"

#include <elf.h>
#include <errno.h>
#include <sys/mman.h>

/* The linker's name for the beginning of this program; of no known size, since more than the header
 * is reached from it. */
extern char program[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));

#define PAGE_BYTES 4096UL

int relro_protect(void)
{
	const Elf64_Ehdr *header = (const void *)program;
	const Elf64_Phdr *parts = (const void *)(program + header->e_phoff);

	for (int i = 0; i < header->e_phnum; i++) {
		/* As the loaders do it: what shares the last page with other data stays as it is.
		 */
		const unsigned long begin = parts[i].p_vaddr & -PAGE_BYTES;
		const unsigned long end = (parts[i].p_vaddr + parts[i].p_memsz) & -PAGE_BYTES;

		if (parts[i].p_type == PT_GNU_RELRO)
			return mprotect(program + begin, end - begin, PROT_READ) == 0 ? 0 : -errno;
	}
	return -ENOEXEC;
}
