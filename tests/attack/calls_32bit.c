/* SPDX-License-Identifier: Apache-2.0
 *
 * The other two system call tables of this processor. Where a filter stops them the process is
 * killed, so an act that returns at all has reached the kernel.
 */
#include "probe.h"

#include <unistd.h>

#define X32_BIT 0x40000000L

static int act_x32(char **arguments)
{
	(void)syscall(X32_BIT | number_of(arguments), 0, 0, 0, 0, 0, 0);
	return SUCCEEDED;
}

static long i386_call(long number)
{
	long result = number;

	__asm__ volatile("int $0x80" : "+a"(result) : "b"(0), "c"(0), "d"(0) : "memory");
	return result;
}

static int act_i386(char **arguments)
{
	(void)i386_call(number_of(arguments));
	return SUCCEEDED;
}

static const struct act list[] = {
	{ "x32", act_x32 },
	{ "i386", act_i386 },
};

const struct acts call_32bit_acts = ACTS(list);
