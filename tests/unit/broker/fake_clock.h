/* SPDX-License-Identifier: Apache-2.0
 *
 * The broker's clock with a time to come, for tests that do not want to wait for it.
 */
#ifndef TESTS_UNIT_BROKER_FAKE_CLOCK_H
#define TESTS_UNIT_BROKER_FAKE_CLOCK_H

#include <stdint.h>

/* So much later than it is. */
extern int64_t fake_clock_ahead_ms;

#endif
