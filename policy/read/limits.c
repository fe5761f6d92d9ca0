/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys of `limits` and `requirements`: their units, ranges and places in the plan. Those of the
 * network are for profiles with hosts; another one may say them for profiles that extend it.
 */
#include "policy/read/numbers.h"
#include "policy/read/units.h"

#include <string.h>

#define K NUMBER_K
#define M NUMBER_M
#define T NUMBER_T
#define DAY_MS (NUMBER_DAY * 1000)

/* clang-format off */
static const struct number limits[] = {
	NUMBER(limits, memory,       memory_bytes,    UNIT_SIZE,     16 * M,  T),
	NUMBER(limits, file_size,    file_bytes,      UNIT_SIZE,     64 * K,  T),
	NUMBER(limits, output,       output_bytes,    UNIT_SIZE,     0,       T),
	NUMBER(limits, log,          log_bytes,       UNIT_SIZE,     64 * K,  64 * M),
	NUMBER(limits, pids,         pids,            UNIT_NUMBER,   4,       32768),
	NUMBER(limits, open_files,   open_files,      UNIT_NUMBER,   16,      1048576),
	NUMBER(limits, cpu_percent,  cpu_percent,     UNIT_NUMBER,   0,       100000),
	NUMBER(limits, cpu_weight,   cpu_weight,      UNIT_NUMBER,   1,       10000),
	NUMBER(limits, cpu_seconds,  cpu_seconds,     UNIT_SECONDS,  0,       NUMBER_DAY),
	NUMBER(limits, wall_default, wall_default_ms, UNIT_DURATION, 100,     DAY_MS),
	NUMBER(limits, wall_max,     wall_max_ms,     UNIT_DURATION, 100,     DAY_MS),
	NUMBER(limits, stack,        stack_bytes,     UNIT_SIZE,     128 * K, 1024 * M),
};
static const struct number network_limits[] = {
	NUMBER(limits, connections,     network_limits.connections,       UNIT_NUMBER,  1,   NETWORK_CONNECTIONS_MAX),
	NUMBER(limits, connection_rate, network_limits.rate,   UNIT_NUMBER,  1,   100000),
	NUMBER(limits, connection_idle, network_limits.idle_s, UNIT_SECONDS, 0,   NUMBER_DAY),
	NUMBER(limits, upload,          network_limits.upload,      UNIT_SIZE,    0,   T),
	NUMBER(limits, download,        network_limits.download,    UNIT_SIZE,    0,   T),
};
/* clang-format on */
#define LIMIT_COUNT (sizeof(limits) / sizeof(limits[0]))
#define NETWORK_LIMIT_COUNT (sizeof(network_limits) / sizeof(network_limits[0]))

_Static_assert(LIMIT_COUNT + NETWORK_LIMIT_COUNT <= PROFILE_LIMITS_MAX, "raise PROFILE_LIMITS_MAX");

#define SAID_LANDLOCK (1U << LIMIT_COUNT)
#define SAID_LIMITS (1U << (LIMIT_COUNT + 1))
#define SAID_NETWORK (LIMIT_COUNT + 2) /* the first bit of those */

static int require_landlock(const struct reading *reading, const char *said)
{
	static const char key[] = "requirements.landlock";
	const struct source_requirements *of_all = reading->place.source->config->requirements;
	struct profile *profile = reading->profile;
	uint64_t abi;

	if (!units_number(said, &abi) || abi < LANDLOCK_ABI_LEAST || abi > LANDLOCK_ABI_MOST)
		return reading_fail(
			reading, key,
			"\"%s\" is not an ABI that policy can ask for; expected %d to %d", said,
			LANDLOCK_ABI_LEAST, LANDLOCK_ABI_MOST);
	if (of_all != NULL && of_all->landlock != NULL && strcmp(of_all->landlock, said) != 0)
		return reading_fail(reading, key,
				    "%s, but line %u requires %.20s of all profiles; expected one "
				    "of the two",
				    said, source_origin(reading->place.source, key).line,
				    of_all->landlock);
	profile->numbers.landlock_abi_min = (uint32_t)abi;
	profile->origins.landlock_abi = reading_origin(reading, key);
	profile->said |= SAID_LANDLOCK;
	return 0;
}

/* Read `requirements.limits`. Refuse "required" if the file says `limits: fallback`, which holds
 * for each of its profiles. */
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

void profile_require_landlock(struct profile *profile, uint32_t abi, const struct origin *origin)
{
	profile->numbers.landlock_abi_min = abi;
	profile->origins.landlock_abi = *origin;
}

void profile_accept_fallback(struct profile *profile, const struct origin *origin)
{
	profile->numbers.limits_fallback = 1;
	profile->origins.limits_mode = *origin;
}

int limits_apply(const struct reading *reading)
{
	struct profile *profile = reading->profile;
	uint32_t said = 0;

	if (numbers_apply(reading, limits, LIMIT_COUNT, reading->said->limits,
			  profile->origins.limits, &profile->said) != 0 ||
	    numbers_apply(reading, network_limits, NETWORK_LIMIT_COUNT, reading->said->limits,
			  profile->origins.limits + LIMIT_COUNT, &said) != 0)
		return -1;
	profile->said |= said << SAID_NETWORK;
	return apply_requirements(reading);
}

int limits_check(const struct reading *reading)
{
	const struct profile *profile = reading->profile;

	if (numbers_check(reading, limits, LIMIT_COUNT, profile->said) != 0)
		return -1;
	if (profile->network == NETWORK_HOSTS &&
	    numbers_check(reading, network_limits, NETWORK_LIMIT_COUNT,
			  profile->said >> SAID_NETWORK) != 0)
		return -1;
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
	const uint32_t count =
		LIMIT_COUNT + (profile->network == NETWORK_HOSTS ? NETWORK_LIMIT_COUNT : 0);

	if (index >= count)
		return NULL;
	return number_value(
		profile,
		index < LIMIT_COUNT ? &limits[index] : &network_limits[index - LIMIT_COUNT], ret);
}
