/* SPDX-License-Identifier: Apache-2.0
 *
 * Stands where msp-supervisor would, to be looked at from outside: what was handed to it stays as
 * it was until somebody ends it.
 */
#include <unistd.h>

int main(void)
{
	for (;;)
		(void)pause();
}
