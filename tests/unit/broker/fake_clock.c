/* SPDX-License-Identifier: Apache-2.0
 *
 * The broker's own file with one function under another name; the linker takes this one first.
 */
#include "fake_clock.h"

int64_t fake_clock_ahead_ms;

#define clock_steady_ms real_steady_ms
#include "../../../broker/io/clock.c"
#undef clock_steady_ms

int64_t clock_steady_ms(void);

int64_t clock_steady_ms(void)
{
	return real_steady_ms() + fake_clock_ahead_ms;
}
