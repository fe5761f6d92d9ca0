/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/posture_text.h"

#include <stddef.h>

const char *posture_controller_name(uint32_t bit)
{
	static const char *const names[] = { "cpu", "memory", "pids", "io" };

	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (bit == 1U << i)
			return names[i];
	}
	return NULL;
}
