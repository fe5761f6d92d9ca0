/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/limits.h"

/* What memory_rest() and what it calls take of it, with room to spare. */
#define OWN_FRAMES 512

/* What is shown for the process. */
#define NAME "msp-child-init"

/* The frames of the deepest calls add up to some 20 kB (-fstack-usage). */
#define STACK_BYTES (128UL * 1024)
#define STACK_TOP (STACK_BYTES - 16) /* above it lies the name; aligned as calls need it */

/* What the kernel's may have grown to, at its usual limit. */
#define KERNEL_STACK_BYTES (8UL << 20)

MEMORY_APART struct scratch scratch;

static char *stack;

/* By the linker's script. */
extern const char __executable_start[], etext[], edata[], end[];

/* Where the program lies is said again, since the call takes all or nothing. The name has to be on
 * a page without a file. */
static bool is_told(char name[sizeof(NAME)])
{
	const uintptr_t behind = ((uintptr_t)end + MEMORY_PAGE - 1) & ~(MEMORY_PAGE - 1UL);
	const struct prctl_mm_map map = {
		.start_code = (uintptr_t)__executable_start,
		.end_code = (uintptr_t)etext,
		.start_data = (uintptr_t)etext,
		.end_data = (uintptr_t)edata,
		.start_brk = behind,
		.brk = behind,
		.start_stack = (uintptr_t)name,
		.arg_start = (uintptr_t)name,
		.arg_end = (uintptr_t)name + sizeof(NAME),
		.env_start = (uintptr_t)name + sizeof(NAME),
		.env_end = (uintptr_t)name + sizeof(NAME),
		.exe_fd = UINT32_MAX,
	};

	memcpy(name, NAME, sizeof(NAME));
	return prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof(map), 0) == 0;
}

/* The program's own name is the last string on it, with a pointer's room behind. Below it the
 * kernel maps nothing. */
static void drop_kernel_stack(void)
{
	const char *name = (const char *)getauxval(AT_EXECFN);
	char *top;

	if (!name)
		return;
	top = (char *)(((uintptr_t)name + strlen(name) + sizeof(void *) + MEMORY_PAGE) &
		       ~(MEMORY_PAGE - 1UL));
	/* What the C library looks up in the kernel's values at first use, which lie there too. */
	(void)clock_now_us();
	(void)sched_getcpu();
	(void)munmap(top - KERNEL_STACK_BYTES, KERNEL_STACK_BYTES);
}

static int (*entry)(void);

static void go_on(void) __attribute__((noreturn));
static void go_on(void)
{
	if (is_told(stack + STACK_TOP))
		drop_kernel_stack();
	exit(entry());
}

void memory_begin(int (*run)(void))
{
	char *low = mmap(NULL, MEMORY_PAGE + STACK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);

	stack = low + MEMORY_PAGE; /* what grows beyond it ends the process */
	if (low == MAP_FAILED || mprotect(stack, STACK_BYTES, PROT_READ | PROT_WRITE) != 0)
		exit(MSP_EXIT_SOFTWARE);
	entry = run;
	__asm__ volatile("mov %0, %%rsp\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "call *%1"
			 :
			 : "r"(stack + STACK_TOP), "r"(go_on)
			 : "memory");
	__builtin_unreachable();
}

void memory_rest(void)
{
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	const uintptr_t below = (here - OWN_FRAMES) & ~(MEMORY_PAGE - 1UL);

	(void)madvise(&scratch, sizeof(scratch), MADV_DONTNEED);
	if (stack) /* else we are on the kernel's */
		(void)madvise(stack, below - (uintptr_t)stack, MADV_DONTNEED);
	channel_rest();
}
