/* SPDX-License-Identifier: Apache-2.0
 *
 * Counters of refusals of the network, a uint64_t for each slot of a sandbox, in a memory file
 * whose size is sealed. The launcher makes it for each gateway. msp-egress and msp-dial raise a
 * sandbox's counter after its connection_refused and before the workload hears of it; the
 * supervisor reads whether it has changed. The counts are msp-cable's.
 */
#ifndef COMMON_RECORDS_COUNTERS_H
#define COMMON_RECORDS_COUNTERS_H

#include <stdint.h>

/* Every slot of a sandbox is below it. */
#define GATEWAY_SLOTS 4096

#define GATEWAY_COUNTERS_SIZE (GATEWAY_SLOTS * sizeof(uint64_t))

#endif
