/* SPDX-License-Identifier: Apache-2.0
 *
 * In a build for tests each process names the stage boundaries that it reaches, so that a tracer
 * can act exactly there (tests/fault). A name is a write to no descriptor: it changes nothing, is
 * in every filter of ours, and a tracer reads it from the registers, which it may where memory is
 * not readable any more. The product has nothing of it.
 */
#ifndef COMMON_STAGE_HOOK_H
#define COMMON_STAGE_HOOK_H

#ifdef MSP_TEST_HOOKS

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The meaning of a number. tests/fault reads these lines. */
enum stage_hook {
	STAGE_HOOK_SEND = 1, /* enum ipc_type: about to be sent */
	STAGE_HOOK_RECEIVED, /* enum ipc_type: received, not handled yet */
	STAGE_HOOK_STEP,     /* enum stage: about to be done */
	STAGE_HOOK_POINT,    /* enum stage_point */
	STAGE_HOOK_MEMORY,   /* an allocation, which a tracer may refuse */
};

/* Boundaries that are neither a message nor a step. */
enum stage_point {
	STAGE_POINT_CONFINED = 1, /* the process has just confined itself */
	STAGE_POINT_ENDING,       /* everything that runs is about to be ended */
};

/* Tells these writes from any other. */
#define STAGE_HOOK_MARK 0x6d7370

/* Return a tracer's answer: 0, or the errno that it wants. */
static inline int stage_hook(enum stage_hook kind, uint32_t number)
{
	const int saved = errno;
	const long result = syscall(SYS_write, -1, (uintptr_t)kind << 16 | number, STAGE_HOOK_MARK);
	const int wanted = result < 0 && errno != EBADF ? errno : 0;

	errno = saved;
	return wanted;
}

#define STAGE_HOOK(kind, number) ((void)stage_hook(STAGE_HOOK_##kind, number))
#else
#define STAGE_HOOK(kind, number) ((void)0)
#endif

#endif
