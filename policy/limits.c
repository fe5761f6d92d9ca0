/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys of `limits` and `requirements`: their units, ranges and places in the plan.
 */
#include "policy/profile_parts.h"
#include "policy/units.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum unit {
	UNIT_SIZE,
	UNIT_DURATION,
	UNIT_SECONDS, /* written as a duration, kept in whole seconds */
	UNIT_NUMBER,
};

struct limit {
	const char *key;
	size_t said; /* offset in struct source_limits */
	size_t kept; /* offset in struct plan_profile */
	size_t kept_bytes;
	enum unit unit;
	uint64_t least, most;
};

/* The newest ABI whose rights a profile can need. */
#define LANDLOCK_ABI_MOST 7

#define K (1ULL << 10)
#define M (1ULL << 20)
#define T (1ULL << 40)
#define DAY_MS (24ULL * 60 * 60 * 1000)

#define LIMIT(key, field, unit, least, most)                                                       \
	{                                                                                          \
		"limits." #key, offsetof(struct source_limits, key),                               \
			offsetof(struct plan_profile, field),                                      \
			sizeof(((struct plan_profile *)NULL)->field), unit, least, most            \
	}

/* clang-format off */
static const struct limit limits[] = {
	LIMIT(memory,       memory_bytes,    UNIT_SIZE,     16 * M,  T),
	LIMIT(file_size,    file_bytes,      UNIT_SIZE,     64 * K,  T),
	LIMIT(output,       output_bytes,    UNIT_SIZE,     0,       T),
	LIMIT(log,          log_bytes,       UNIT_SIZE,     64 * K,  64 * M),
	LIMIT(pids,         pids,            UNIT_NUMBER,   4,       32768),
	LIMIT(open_files,   open_files,      UNIT_NUMBER,   16,      1048576),
	LIMIT(cpu_percent,  cpu_percent,     UNIT_NUMBER,   0,       100000),
	LIMIT(cpu_weight,   cpu_weight,      UNIT_NUMBER,   1,       10000),
	LIMIT(cpu_seconds,  cpu_seconds,     UNIT_SECONDS,  0,       DAY_MS / 1000),
	LIMIT(wall_default, wall_default_ms, UNIT_DURATION, 100,     DAY_MS),
	LIMIT(wall_max,     wall_max_ms,     UNIT_DURATION, 100,     DAY_MS),
	LIMIT(stack,        stack_bytes,     UNIT_SIZE,     128 * K, 1024 * M),
};
/* clang-format on */
#define LIMIT_COUNT (sizeof(limits) / sizeof(limits[0]))

_Static_assert(LIMIT_COUNT <= PROFILE_LIMITS_MAX, "raise PROFILE_LIMITS_MAX");

#define SAID_LANDLOCK (1U << LIMIT_COUNT)
#define SAID_LIMITS (1U << (LIMIT_COUNT + 1))

static const char *const examples[] = {
	[UNIT_SIZE] = "a size such as 64M or 2G",
	[UNIT_DURATION] = "a time such as 500ms, 60s or 10m",
	[UNIT_SECONDS] = "whole seconds such as 30s, or 0s for no limit",
	[UNIT_NUMBER] = "a whole number",
};

static bool read_value(const struct limit *limit, const char *text, uint64_t *ret)
{
	switch (limit->unit) {
	case UNIT_SIZE:
		return units_size(text, ret);
	case UNIT_DURATION:
		return units_duration(text, ret);
	case UNIT_SECONDS:
		if (!units_duration(text, ret) || *ret % 1000 != 0)
			return false;
		*ret /= 1000;
		return true;
	case UNIT_NUMBER:
		return units_number(text, ret);
	}
	return false;
}

static void print_value(const struct limit *limit, uint64_t value, char ret[32])
{
	switch (limit->unit) {
	case UNIT_SIZE:
		units_print_size(value, ret);
		break;
	case UNIT_DURATION:
		units_print_duration(value, ret);
		break;
	case UNIT_SECONDS:
		units_print_duration(value * 1000, ret);
		if (value == 0)
			(void)snprintf(ret, 32, "0s");
		break;
	case UNIT_NUMBER:
		(void)snprintf(ret, 32, "%llu", (unsigned long long)value);
		break;
	}
}

static void store(struct plan_profile *numbers, const struct limit *limit, uint64_t value)
{
	uint8_t *place = (uint8_t *)numbers + limit->kept;
	const uint32_t half = (uint32_t)value;

	if (limit->kept_bytes == sizeof(half))
		memcpy(place, &half, sizeof(half));
	else
		memcpy(place, &value, sizeof(value));
}

static uint64_t fetch(const struct plan_profile *numbers, const struct limit *limit)
{
	const uint8_t *place = (const uint8_t *)numbers + limit->kept;
	uint32_t half;
	uint64_t value;

	if (limit->kept_bytes == sizeof(half)) {
		memcpy(&half, place, sizeof(half));
		return half;
	}
	memcpy(&value, place, sizeof(value));
	return value;
}

static int apply_limit(const struct reading *reading, uint32_t index, const char *text)
{
	const struct limit *limit = &limits[index];
	char least[32], most[32];
	uint64_t value;

	if (!read_value(limit, text, &value))
		return reading_fail(reading, limit->key, "\"%s\" is not understood; expected %s",
				    text, examples[limit->unit]);
	if (value < limit->least || value > limit->most) {
		print_value(limit, limit->least, least);
		print_value(limit, limit->most, most);
		return reading_fail(reading, limit->key, "%s is out of range; expected %s to %s",
				    text, least, most);
	}
	store(&reading->profile->numbers, limit, value);
	reading->profile->origins.limits[index] = reading_origin(reading, limit->key);
	reading->profile->said |= 1U << index;
	return 0;
}

static int require_landlock(const struct reading *reading, const char *said)
{
	static const char key[] = "requirements.landlock";
	struct profile *profile = reading->profile;
	uint64_t abi;

	if (!units_number(said, &abi) || abi < 1 || abi > LANDLOCK_ABI_MOST)
		return reading_fail(
			reading, key,
			"\"%s\" is not an ABI that policy can ask for; expected 1 to %d", said,
			LANDLOCK_ABI_MOST);
	profile->numbers.landlock_abi_min = (uint32_t)abi;
	profile->origins.landlock_abi = reading_origin(reading, key);
	profile->said |= SAID_LANDLOCK;
	return 0;
}

/* `limits: fallback` of the whole file holds for each profile; one that says the opposite in the
 * same file would not get what it says. */
static int require_limits(const struct reading *reading, const char *said)
{
	static const char key[] = "requirements.limits";
	const char *of_all = reading->place.source->config->limits;
	const bool is_fallback = strcmp(said, "fallback") == 0;
	struct profile *profile = reading->profile;

	if (!is_fallback && strcmp(said, "required") != 0)
		return reading_fail(reading, key,
				    "\"%s\" is not known; expected required or fallback", said);
	if (!is_fallback && of_all != NULL && strcmp(of_all, "fallback") == 0)
		return reading_fail(reading, key,
				    "required, but line %u accepts limits: fallback for all "
				    "profiles; expected one of the two",
				    source_origin(reading->place.source, "limits").line);
	profile->numbers.limits_fallback = is_fallback ? 1 : 0;
	profile->origins.limits_mode = reading_origin(reading, key);
	profile->said |= SAID_LIMITS;
	return 0;
}

static int apply_requirements(const struct reading *reading)
{
	const struct source_requirements *said = reading->said->requirements;

	if (said == NULL)
		return 0;
	if (said->landlock != NULL && require_landlock(reading, said->landlock) != 0)
		return -1;
	return said->limits != NULL ? require_limits(reading, said->limits) : 0;
}

void profile_accept_fallback(struct profile *profile, const struct origin *origin)
{
	profile->numbers.limits_fallback = 1;
	profile->origins.limits_mode = *origin;
}

int limits_apply(const struct reading *reading)
{
	const struct source_limits *said = reading->said->limits;

	for (uint32_t i = 0; said != NULL && i < LIMIT_COUNT; i++) {
		const char *text;

		memcpy(&text, (const uint8_t *)said + limits[i].said, sizeof(text));
		if (text != NULL && apply_limit(reading, i, text) != 0)
			return -1;
	}
	return apply_requirements(reading);
}

int limits_check(const struct reading *reading)
{
	const struct profile *profile = reading->profile;

	for (uint32_t i = 0; i < LIMIT_COUNT; i++) {
		if ((profile->said & (1U << i)) == 0)
			return reading_fail(reading, limits[i].key, "missing; expected %s",
					    examples[limits[i].unit]);
	}
	if ((profile->said & SAID_LANDLOCK) == 0)
		return reading_fail(reading, "requirements.landlock",
				    "missing; expected the least Landlock ABI, such as 6");
	if ((profile->said & SAID_LIMITS) == 0)
		return reading_fail(reading, "requirements.limits",
				    "missing; expected required or fallback");
	if (profile->numbers.wall_default_ms > profile->numbers.wall_max_ms)
		return reading_fail(reading, "limits.wall_default",
				    "greater than limits.wall_max; expected at most as much");
	return 0;
}

const char *limits_value(const struct profile *profile, uint32_t index, char ret[32])
{
	if (index >= LIMIT_COUNT)
		return NULL;
	print_value(&limits[index], fetch(&profile->numbers, &limits[index]), ret);
	return limits[index].key + strlen("limits.");
}
