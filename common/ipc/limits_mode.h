/* SPDX-License-Identifier: Apache-2.0
 *
 * How limits are enforced: the policy's requirement and the posture use the same words.
 */
#ifndef COMMON_IPC_LIMITS_MODE_H
#define COMMON_IPC_LIMITS_MODE_H

enum limits_mode {
	LIMITS_CGROUP = 0,
	LIMITS_FALLBACK = 1,
};

#endif
