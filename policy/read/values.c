/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/read/values.h"

#include "policy/read/units.h"

#include <stdio.h>
#include <string.h>

static bool read_seconds(const char *text, uint64_t *ret)
{
	uint64_t ms;

	if (!units_duration(text, &ms) || ms % 1000 != 0)
		return false;
	*ret = ms / 1000;
	return true;
}

static void print_seconds(uint64_t value, char ret[32])
{
	units_print_duration(value * 1000, ret);
	if (value == 0)
		(void)snprintf(ret, 32, "0s");
}

static void print_number(uint64_t value, char ret[32])
{
	(void)snprintf(ret, 32, "%llu", (unsigned long long)value);
}

static bool read_wall(const char *text, uint64_t *ret)
{
	const bool is_none = strcmp(text, "none") == 0;

	if (is_none)
		*ret = PLAN_WALL_NONE;
	return is_none || (units_duration(text, ret) && *ret != PLAN_WALL_NONE);
}

static void print_wall(uint64_t value, char ret[32])
{
	if (value == PLAN_WALL_NONE)
		(void)snprintf(ret, 32, "none");
	else
		units_print_duration(value, ret);
}

static const struct {
	bool (*read)(const char *text, uint64_t *ret);
	void (*print)(uint64_t value, char ret[32]);
} numbers[] = {
	[TYPE_SIZE] = { units_size, units_print_size },
	[TYPE_DURATION] = { units_duration, units_print_duration },
	[TYPE_WALL] = { read_wall, print_wall },
	[TYPE_SECONDS] = { read_seconds, print_seconds },
	[TYPE_NUMBER] = { units_number, print_number },
};

/* Append the values that a key may have, for messages: "a, b or c". */
static void print_expected(const struct key *key, struct buffer *text)
{
	const char *last = NULL;

	if (key->expected != NULL)
		buffer_append_text(text, key->expected);
	for (uint64_t i = 0; key->expected == NULL && i < key->most; i++) {
		if (key->words[i] == NULL)
			continue;
		if (last != NULL)
			buffer_format(text, "%s%s", text->size > 0 ? ", " : "", last);
		last = key->words[i];
	}
	if (last != NULL)
		buffer_format(text, "%s%s", text->size > 0 ? " or " : "", last);
}

static int fail_value(const struct reading *reading, const char *path, const struct key *key,
		      const char *text, const char *problem)
{
	struct buffer expected = { .bytes = NULL };

	print_expected(key, &expected);
	(void)reading_fail(reading, path, "\"%.100s\" is not %s; expected %s", text, problem,
			   expected.bytes);
	buffer_done(&expected);
	return -1;
}

static int read_word(const struct reading *reading, const char *path, const struct key *key,
		     const char *text, uint64_t *ret)
{
	for (*ret = 0; *ret < key->most; (*ret)++) {
		if (key->words[*ret] != NULL && strcmp(key->words[*ret], text) == 0)
			return 0;
	}
	return fail_value(reading, path, key, text, "known");
}

static int read_number(const struct reading *reading, const char *path, const struct key *key,
		       const char *text, uint64_t *ret)
{
	char least[32], most[32];

	if (!numbers[key->type].read(text, ret))
		return fail_value(reading, path, key, text, "understood");
	if ((*ret >= key->least && *ret <= key->most) ||
	    (key->type == TYPE_WALL && *ret == PLAN_WALL_NONE))
		return 0;
	numbers[key->type].print(key->least, least);
	numbers[key->type].print(key->most, most);
	return reading_fail(reading, path, "%.100s is out of range; expected %s to %s", text, least,
			    most);
}

/* Store a number or a word in a field of 1, 4 or 8 bytes. */
static void store_value(const struct key *key, uint64_t value, uint8_t *field)
{
	const uint32_t half = (uint32_t)value;

	if (key->kept_bytes == sizeof(half))
		memcpy(field, &half, sizeof(half));
	else if (key->kept_bytes == sizeof(value))
		memcpy(field, &value, sizeof(value));
	else
		*field = (uint8_t)value;
}

static uint64_t fetch_value(const struct key *key, const uint8_t *field)
{
	uint32_t half;
	uint64_t value;

	if (key->kept_bytes == sizeof(half)) {
		memcpy(&half, field, sizeof(half));
		return half;
	}
	if (key->kept_bytes != sizeof(value))
		return *field;
	memcpy(&value, field, sizeof(value));
	return value;
}

/* Keep the value of a key that has a field. */
static int keep_value(const struct reading *reading, const char *path, const struct key *key,
		      const struct node *node, uint8_t *field)
{
	const struct strings texts = { node->texts, node->count };
	const char *text = node->text;
	uint64_t value;

	if (key->type == TYPE_TEXT) {
		memcpy(field, &text, sizeof(text));
		return 0;
	}
	if (key->type == TYPE_TEXTS) {
		memcpy(field, &texts, sizeof(texts));
		return 0;
	}
	if (key->type == TYPE_WORD ? read_word(reading, path, key, text, &value) != 0
				   : read_number(reading, path, key, text, &value) != 0)
		return -1;
	store_value(key, value, field);
	return 0;
}

/* Keep the values of a set's keys at `path`, and of the sets within. */
static int read_set(const struct reading *reading, const char *path, enum key_set set, void *kept)
{
	const struct node *within = node_find(reading->said, path);
	char full[KEY_MAX];

	for (enum key_id id = 0; within != NULL && id < KEY_COUNT; id++) {
		const struct key *key = &key_table[id];
		const struct node *node = key->of == set ? node_find(within, key->name) : NULL;

		if (node == NULL)
			continue;
		(void)snprintf(full, sizeof(full), "%s%s%s", path, *path != '\0' ? "." : "",
			       key->name);
		if (kept == reading->profile)
			reading->profile->origins.keys[id] =
				(struct origin){ reading->place.source->file, node->line };
		if (node->kind == NODE_KEYS ? read_set(reading, full, key->keys, kept) != 0
		    : key->kept_bytes > 0
			    ? keep_value(reading, full, key, node, (uint8_t *)kept + key->kept) != 0
			    : false)
			return -1;
	}
	return 0;
}

int values_read(const struct reading *reading, enum key_set set, void *kept)
{
	return read_set(reading, "", set, kept);
}

/* Return the name of the key that has the set. */
static const char *set_name(enum key_set set)
{
	enum key_id key = 0;

	while (key_table[key].keys != set)
		key++;
	return key_table[key].name;
}

int values_check(const struct reading *reading, enum key_need need)
{
	struct buffer expected = { .bytes = NULL };
	char path[KEY_MAX];

	for (enum key_id key = 0; key < KEY_COUNT; key++) {
		if (key_table[key].need != need ||
		    value_origin(reading->profile, key)->file != NULL)
			continue;
		(void)snprintf(path, sizeof(path), "%s.%s", set_name(key_table[key].of),
			       key_table[key].name);
		print_expected(&key_table[key], &expected);
		(void)reading_fail(reading, path, "missing; expected %s", expected.bytes);
		buffer_done(&expected);
		return -1;
	}
	return 0;
}

void value_print(const struct profile *profile, enum key_id id, char ret[VALUE_TEXT_MAX])
{
	const struct key *key = &key_table[id];
	const uint64_t value = fetch_value(key, (const uint8_t *)profile + key->kept);

	if (key->type == TYPE_WORD)
		(void)snprintf(ret, VALUE_TEXT_MAX, "%s", key->words[value]);
	else
		numbers[key->type].print(value, ret);
}

const struct origin *value_origin(const struct profile *profile, enum key_id key)
{
	return &profile->origins.keys[key];
}
