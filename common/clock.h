/* SPDX-License-Identifier: Apache-2.0
 *
 * The clock by which our processes wait, and tell one another when something was.
 */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>

/* Microseconds since some time before, which is the same in every process. */
uint64_t clock_now_us(void);

#endif
