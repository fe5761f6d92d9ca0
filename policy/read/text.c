/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/read/text.h"

void policy_error_tidy(struct policy_error *error)
{
	for (char *at = error->text; *at != '\0'; at++) {
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = '?';
	}
}

uint32_t bytes_hash(const char *bytes, size_t size)
{
	uint32_t hash = 2166136261U;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (uint8_t)bytes[i]) * 16777619U;
	return hash;
}
