/* SPDX-License-Identifier: Apache-2.0 */
#include "show/measured.h"
#include "common/format.h"

#include "common/confine/landlock.h"
#include "common/ipc_posture.h"
#include "common/names.h"
#include "frontend/posture_text.h"

/* Enough of a SHA-256 to tell filters apart by eye. */
#define SHORT_BYTES 6

/* A member of a closed set, by its index; NULL beyond the last. */
typedef const char *name_at(const struct ipc_posture_full *posture, size_t index);

static const char *untried_at(const struct ipc_posture_full *posture, size_t index)
{
	for (uint32_t layer = 0; layer < POSTURE_COUNT; layer++) {
		if ((posture->measured.layers_untried & POSTURE_BIT(layer)) && index-- == 0)
			return posture_layer_name(layer);
	}
	return NULL;
}

static const char *namespace_at(const struct ipc_posture_full *posture, size_t index)
{
	for (uint32_t kind = 0; kind < POSTURE_NAMESPACE_COUNT; kind++) {
		if ((posture->measured.namespaces & POSTURE_BIT(kind)) && index-- == 0)
			return posture_namespace_name(kind);
	}
	return NULL;
}

static const char *controller_at(const struct ipc_posture_full *posture, size_t index)
{
	for (uint32_t bit = 0; posture_controller_name(1U << bit); bit++) {
		if ((posture->controllers & 1U << bit) && index-- == 0)
			return posture_controller_name(1U << bit);
	}
	return NULL;
}

static const char *lost_at(const struct ipc_posture_full *posture, size_t index)
{
	return landlock_lost((int)posture->measured.landlock_abi, index);
}

static void append_list(const struct ipc_posture_full *posture, const char *title, name_at *at,
			char *text, size_t room)
{
	const char *name;

	for (size_t i = 0; (name = at(posture, i)) != NULL; i++)
		format_append(text, room, "%s%s", i == 0 ? title : ", ", name);
}

static void append_hash(const uint8_t *hash, size_t size, char *text, size_t room)
{
	for (size_t i = 0; i < size; i++)
		format_append(text, room, "%02x", hash[i]);
}

void measured_describe(const struct ipc_posture_full *posture, char *text, size_t room)
{
	format_text(text, room, "%d layers hold",
		    __builtin_popcount(posture->measured.layers_closed));
	append_list(posture, "; not tried: ", untried_at, text, room);
	append_list(posture, "; not handled by this kernel's Landlock: ", lost_at, text, room);
	append_list(posture, "; own namespaces: ", namespace_at, text, room);
	append_list(posture, "; controllers: ", controller_at, text, room);
	format_append(text, room, "; system call filter ");
	append_hash(posture->filter_hash, SHORT_BYTES, text, room);
}

static void write_list(struct json_writer *json, const struct ipc_posture_full *posture,
		       const char *member, name_at *at)
{
	const char *name;

	json_open_array(json, member);
	for (size_t i = 0; (name = at(posture, i)) != NULL; i++)
		json_put_text(json, NULL, name);
	json_close_array(json);
}

void measured_write(struct json_writer *json, const struct ipc_posture_full *posture)
{
	char hash[2 * IPC_SCHEMA_BYTES + 1] = "";

	if (!posture->is_measured)
		return;
	append_hash(posture->filter_hash, sizeof(posture->filter_hash), hash, sizeof(hash));
	json_open_array(json, "layers");
	for (uint32_t layer = 0; layer < POSTURE_COUNT; layer++) {
		if (posture->measured.layers_closed & POSTURE_BIT(layer))
			json_put_text(json, NULL, posture_layer_name(layer));
	}
	json_close_array(json);
	write_list(json, posture, "not_tried", untried_at);
	write_list(json, posture, "namespaces", namespace_at);
	write_list(json, posture, "controllers", controller_at);
	write_list(json, posture, "landlock_lost", lost_at);
	json_put_number(json, "seccomp_mode", posture->seccomp_mode);
	json_put_text(json, "filter_sha256", hash);
}
