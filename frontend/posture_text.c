/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/posture_text.h"

#include "common/confine/landlock.h"
#include "common/ipc/ipc_posture.h"
#include "common/text/names.h"

#define CONTROLLER_COUNT 4

/* Enough of a SHA-256 to tell filters apart by eye. */
#define SHORT_BYTES 6

/* Return a member of a set by its index; NULL beyond the last. */
typedef const char *name_at(const struct ipc_posture_full *posture, size_t index);

/* By the bits of enum posture_controller. */
static const char *controller_name(uint32_t index)
{
	static const char *const names[CONTROLLER_COUNT] = { "cpu", "memory", "pids", "io" };

	return names[index];
}

/* Return the name of the set bit with this index; NULL: there are fewer. */
static const char *name_bit(uint32_t bits, uint32_t count, const char *(*name)(uint32_t bit),
			    size_t index)
{
	for (uint32_t bit = 0; bit < count; bit++) {
		if ((bits & POSTURE_BIT(bit)) && index-- == 0)
			return name(bit);
	}
	return NULL;
}

static const char *untried_at(const struct ipc_posture_full *posture, size_t index)
{
	return name_bit(posture->measured.layers_untried, POSTURE_COUNT, posture_layer_name, index);
}

static const char *namespace_at(const struct ipc_posture_full *posture, size_t index)
{
	return name_bit(posture->measured.namespaces, POSTURE_NAMESPACE_COUNT,
			posture_namespace_name, index);
}

static const char *controller_at(const struct ipc_posture_full *posture, size_t index)
{
	return name_bit(posture->controllers, CONTROLLER_COUNT, controller_name, index);
}

static const char *lost_at(const struct ipc_posture_full *posture, size_t index)
{
	return landlock_lost((int)posture->measured.landlock_abi, index);
}

/* The sets of a posture. */
static const struct {
	const char *member, *title;
	name_at *at;
} sets[] = {
	{ "not_tried", "; not tried: ", untried_at },
	{ "landlock_lost", "; not handled by this kernel's Landlock: ", lost_at },
	{ "namespaces", "; own namespaces: ", namespace_at },
	{ "controllers", "; controllers: ", controller_at },
};
#define SET_COUNT (sizeof(sets) / sizeof(sets[0]))

static void append_hash(const struct ipc_posture_full *posture, size_t size, struct buffer *text)
{
	for (size_t i = 0; i < size; i++)
		buffer_format(text, "%02x", posture->filter_hash[i]);
}

void posture_put(struct json_writer *writer, const struct ipc_posture_full *posture)
{
	struct buffer hash = { 0 };
	const char *name;

	if (!posture->is_measured)
		return;
	json_put_number(writer, "layers",
			(uint64_t)__builtin_popcount(posture->measured.layers_closed));
	for (size_t set = 0; set < SET_COUNT; set++) {
		json_open_array(writer, sets[set].member);
		for (size_t i = 0; (name = sets[set].at(posture, i)) != NULL; i++)
			json_put_text(writer, NULL, name);
		json_close_array(writer);
	}
	json_put_number(writer, "seccomp_mode", posture->seccomp_mode);
	append_hash(posture, sizeof(posture->filter_hash), &hash);
	json_put_string(writer, "filter_sha256", hash.bytes, hash.size);
	buffer_done(&hash);
}

void posture_put_object(struct json_writer *writer, const struct ipc_posture_full *posture)
{
	if (!posture->is_measured)
		return;
	json_open_object(writer, "posture");
	posture_put(writer, posture);
	json_close_object(writer);
}

void posture_describe(const struct ipc_posture_full *posture, struct buffer *text)
{
	const char *name;

	buffer_format(text, "%d layers hold", __builtin_popcount(posture->measured.layers_closed));
	for (size_t set = 0; set < SET_COUNT; set++) {
		for (size_t i = 0; (name = sets[set].at(posture, i)) != NULL; i++)
			buffer_format(text, "%s%s", i == 0 ? sets[set].title : ", ", name);
	}
	buffer_append_text(text, "; system call filter ");
	append_hash(posture, SHORT_BYTES, text);
}
