/* SPDX-License-Identifier: Apache-2.0
 *
 * Giving up capabilities.
 */
#ifndef COMMON_CONFINE_CAPABILITIES_H
#define COMMON_CONFINE_CAPABILITIES_H

#include <stdint.h>

/* Permitted and effective become exactly `keep` (a mask of capabilities below 32), inheritable and
 * ambient empty. 0 or -errno. */
int capabilities_set(uint32_t keep);

/* Empty the bounding set and lock the securebits, so that neither uid 0 nor a file can bring a
 * capability back; then capabilities_set(). Needs CAP_SETPCAP. 0 or -errno. */
int capabilities_drop(uint32_t keep);

#endif
