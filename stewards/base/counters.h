/* SPDX-License-Identifier: Apache-2.0
 *
 * The counters of refusals (common/records/counters.h), as msp-egress and msp-dial write them.
 */
#ifndef STEWARDS_BASE_COUNTERS_H
#define STEWARDS_BASE_COUNTERS_H

#include <stdint.h>

/* Map the counters, and close the descriptor. Ends the process where that fails. */
void counters_open(int fd);

/* Raise the counter of a sandbox: its connection_refused is sent, and the workload has not heard of
 * it. */
void counters_raise(uint32_t slot);

#endif
