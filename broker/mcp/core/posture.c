/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/posture.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/confine/landlock.h"
#include "common/ipc_client.h"
#include "common/ipc_posture.h"
#include "common/limits_mode.h"
#include "common/names.h"
#include "frontend/posture_text.h"
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
	join_names(welcome->offer.languages, welcome->offer.languages_size, ret->languages);
	memcpy(ret->profile, welcome->offer.default_profile, sizeof(ret->profile));
	if (welcome->posture_profile[0])
		posture_learn(ret, welcome->posture_profile, &welcome->posture);
}

void posture_change_policy(struct posture *posture, const struct ipc_policy_changed *changed)
{
	join_names(changed->offer.languages, changed->offer.languages_size, posture->languages);
	memcpy(posture->profile, changed->offer.default_profile, sizeof(posture->profile));
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

static void put_sets(struct json_writer *writer, const struct ipc_posture_full *is)
{
	const char *name;

	json_open_array(writer, "not_tried");
	for (uint32_t layer = 0; layer < POSTURE_COUNT; layer++) {
		if (is->measured.layers_untried & POSTURE_BIT(layer))
			json_put_text(writer, NULL, posture_layer_name(layer));
	}
	json_close_array(writer);
	json_open_array(writer, "namespaces");
	for (uint32_t kind = 0; kind < POSTURE_NAMESPACE_COUNT; kind++) {
		if (is->measured.namespaces & POSTURE_BIT(kind))
			json_put_text(writer, NULL, posture_namespace_name(kind));
	}
	json_close_array(writer);
	json_open_array(writer, "controllers");
	for (uint32_t bit = 1; (name = posture_controller_name(bit)) != NULL; bit <<= 1) {
		if (is->controllers & bit)
			json_put_text(writer, NULL, name);
	}
	json_close_array(writer);
	json_open_array(writer, "landlock_lost");
	for (size_t i = 0; (name = landlock_lost((int)is->measured.landlock_abi, i)) != NULL; i++)
		json_put_text(writer, NULL, name);
	json_close_array(writer);
}

void posture_put(struct json_writer *writer, const struct posture *posture, const char *profile)
{
	const uint32_t index = find_measured(posture, profile);
	const struct ipc_posture_full *is;
	char hash[2 * IPC_SCHEMA_BYTES + 1];

	if (index == posture->measured_count)
		return;
	is = &posture->measured[index].is;
	(void)sodium_bin2hex(hash, sizeof(hash), is->filter_hash, IPC_SCHEMA_BYTES);
	json_open_object(writer, "posture");
	json_put_number(writer, "layers", (uint64_t)__builtin_popcount(is->measured.layers_closed));
	put_sets(writer, is);
	json_put_number(writer, "seccomp_mode", is->seccomp_mode);
	json_put_text(writer, "filter_sha256", hash);
	json_close_object(writer);
}

const char *posture_limits_name(const struct posture *posture)
{
	return posture->limits == LIMITS_CGROUP ? "cgroup" : "fallback";
}
