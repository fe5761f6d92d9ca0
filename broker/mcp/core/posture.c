/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/posture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_posture.h"
#include "lib/heap/memory.h"

/* Measurements of one profile. */
struct posture_measured {
	char profile[IPC_NAME_MAX];
	struct ipc_posture_full is;
};

/* Return the next name of a list with a NUL after each; NULL at its end. A name without its NUL is
 * invalid. */
static const char *next_name(const uint8_t *list, uint32_t size, uint32_t *at)
{
	const char *name = (const char *)list + *at;
	const uint8_t *end = *at < size ? memchr(list + *at, '\0', size - *at) : NULL;

	if (!end)
		return NULL;
	*at = (uint32_t)(end - list) + 1;
	return name;
}

/* Join the names of a list; twice its room is always enough. */
static void join_names(const uint8_t *list, uint32_t size, char ret[2 * IPC_LIST_MAX])
{
	uint32_t at = 0;
	size_t used = 0;
	const char *name;

	while ((name = next_name(list, size, &at))) {
		const size_t length = strlen(name);

		if (used > 0) {
			memcpy(ret + used, PROFILE_NAMES_SEPARATOR,
			       strlen(PROFILE_NAMES_SEPARATOR));
			used += strlen(PROFILE_NAMES_SEPARATOR);
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
	ret->is_service = welcome->is_service != 0;
	join_names(welcome->languages, welcome->languages_size, ret->languages);
	memcpy(ret->profile, welcome->default_profile, sizeof(ret->profile));
	if (welcome->posture_profile[0])
		posture_learn(ret, welcome->posture_profile, &welcome->posture);
}

void posture_change_policy(struct posture *posture, const struct ipc_policy_changed *changed)
{
	join_names(changed->languages, changed->languages_size, posture->languages);
	memcpy(posture->profile, changed->default_profile, sizeof(posture->profile));
}

void posture_done(struct posture *posture)
{
	free(posture->measured);
	posture->measured = NULL;
	posture->measured_count = 0;
}

static uint32_t find_measured(const struct posture *posture, const char *profile)
{
	uint32_t index = 0;

	while (index < posture->measured_count &&
	       strcmp(posture->measured[index].profile, profile) != 0)
		index++;
	return index;
}

void posture_learn(struct posture *posture, const char *profile, const struct ipc_posture_full *is)
{
	const uint32_t index = find_measured(posture, profile);

	if (index == PLAN_PROFILES_MAX) /* a plan has no more */
		return;
	if (index == posture->measured_count)
		posture->measured = memory_resize_array(
			posture->measured, ++posture->measured_count, sizeof(*posture->measured));
	(void)snprintf(posture->measured[index].profile, IPC_NAME_MAX, "%s", profile);
	posture->measured[index].is = *is;
}

const struct ipc_posture_full *posture_find(const struct posture *posture, const char *profile)
{
	const uint32_t index = find_measured(posture, profile);

	return index < posture->measured_count ? &posture->measured[index].is : NULL;
}
