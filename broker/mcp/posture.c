/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/posture.h"

#include <string.h>

/* The next name of a list of names with a NUL after each; NULL at its end. A name that does not
 * end inside the list is none. */
static const char *next_name(const uint8_t *list, uint32_t size, uint32_t *at)
{
	const char *name = (const char *)list + *at;
	const uint8_t *end = *at < size ? memchr(list + *at, '\0', size - *at) : NULL;

	if (!end)
		return NULL;
	*at = (uint32_t)(end - list) + 1;
	return name;
}

/* Join; twice the list's room is always enough. */
static void join(const uint8_t *list, uint32_t size, char ret[2 * IPC_LIST_MAX])
{
	uint32_t at = 0;
	size_t used = 0;
	const char *name;

	while ((name = next_name(list, size, &at))) {
		const size_t length = strlen(name);

		if (used > 0) {
			memcpy(ret + used, POSTURE_SEPARATOR, strlen(POSTURE_SEPARATOR));
			used += strlen(POSTURE_SEPARATOR);
		}
		memcpy(ret + used, name, length);
		used += length;
	}
	ret[used] = '\0';
}

void posture_from_welcome(const struct ipc_welcome *welcome, struct posture *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->landlock_abi = welcome->landlock_abi;
	ret->limits = welcome->limits;
	join(welcome->profiles, welcome->profiles_size, ret->profiles);
	join(welcome->languages, welcome->languages_size, ret->languages);
	memcpy(ret->profile, welcome->default_profile, sizeof(ret->profile));
}

void posture_change_policy(struct posture *posture, const struct ipc_policy_changed *changed)
{
	join(changed->profiles, changed->profiles_size, posture->profiles);
	join(changed->languages, changed->languages_size, posture->languages);
	memcpy(posture->profile, changed->default_profile, sizeof(posture->profile));
}

const char *posture_limits_name(const struct posture *posture)
{
	return posture->limits == LIMITS_CGROUP ? "cgroup" : "fallback";
}
