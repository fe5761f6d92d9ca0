/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/dial/cache.h"

#include <string.h>

static struct {
	uint64_t end_ms; /* in the past: free */
	char name[HOST_NAME_MAX_SIZE];
	struct resolution resolution;
} cached[CACHE_NAMES_MAX];

const struct resolution *cache_find(const char *name, uint64_t now_ms)
{
	for (uint32_t i = 0; i < CACHE_NAMES_MAX; i++) {
		if (cached[i].end_ms > now_ms && strcmp(cached[i].name, name) == 0)
			return &cached[i].resolution;
	}
	return NULL;
}

void cache_keep(const char *name, const struct resolution *resolution, uint64_t now_ms)
{
	uint32_t ttl_s = resolution->ttl_s < CACHE_TTL_MAX_S ? resolution->ttl_s : CACHE_TTL_MAX_S;
	uint32_t at = 0;

	if (resolution->end == RESOLVE_NO_NAME)
		ttl_s = CACHE_NO_NAME_S;
	if (resolution->end == RESOLVE_FAILED || ttl_s == 0)
		return;
	for (uint32_t i = 0; i < CACHE_NAMES_MAX; i++) {
		if (cached[i].end_ms > now_ms && strcmp(cached[i].name, name) == 0) {
			at = i;
			break;
		}
		if (cached[i].end_ms < cached[at].end_ms)
			at = i;
	}
	cached[at].end_ms = now_ms + ttl_s * 1000ULL;
	memcpy(cached[at].name, name, strlen(name) + 1);
	cached[at].resolution = *resolution;
}

void cache_clear(void)
{
	for (uint32_t i = 0; i < CACHE_NAMES_MAX; i++)
		cached[i].end_ms = 0;
}
