/* SPDX-License-Identifier: Apache-2.0
 *
 * `limits` and `requirements`: what is not in the table of keys, and the variables that follow from
 * limits. A file may require something of all its profiles, which none of them can say otherwise.
 */
#include "policy/read/values.h"

#include "policy/read/profile_parts.h"

#include <stdio.h>
#include <string.h>

static int check_landlock(const struct reading *reading)
{
	static const char key[] = "requirements.landlock";
	const struct source *source = reading->place.source;
	const char *said = node_text(reading->said, key);
	const char *of_all = node_text(&source->root, key);

	if (said == NULL || of_all == NULL || strcmp(said, of_all) == 0)
		return 0;
	return reading_fail(reading, key,
			    "%s, but line %u requires %.20s of all profiles; expected one of the "
			    "two",
			    said, source_origin(source, key).line, of_all);
}

static int check_limits(const struct reading *reading)
{
	static const char key[] = "requirements.limits";
	const struct source *source = reading->place.source;
	const char *of_all = node_text(&source->root, "limits");

	if (!reading_says(reading, key) || reading->profile->numbers.limits_fallback != 0 ||
	    of_all == NULL || strcmp(of_all, "fallback") != 0)
		return 0;
	return reading_fail(reading, key,
			    "required, but line %u accepts limits: fallback for all profiles; "
			    "expected one of the two",
			    source_origin(source, "limits").line);
}

/* Lower the memory to the share of a machine that is known. A sandbox reserves all of it, so one of
 * a small machine could not start. */
static void apply_share(const struct reading *reading)
{
	struct plan_profile *numbers = &reading->profile->numbers;
	const uint64_t share = reading->place.machine_bytes / 100 * reading->profile->memory_share;
	const uint64_t least = key_table[KEY_limits_memory].least;

	if (share > 0 && numbers->memory_bytes > share)
		numbers->memory_bytes = share > least ? share / VALUE_M * VALUE_M : least;
}

int limits_check(const struct reading *reading)
{
	const struct profile *profile = reading->profile;

	if (values_check(reading, NEED_ALWAYS) != 0 ||
	    (profile->network == NETWORK_HOSTS && values_check(reading, NEED_FOR_HOSTS) != 0) ||
	    check_landlock(reading) != 0 || check_limits(reading) != 0)
		return -1;
	apply_share(reading);
	if (profile->numbers.wall_default_ms > profile->numbers.wall_max_ms)
		return reading_fail(reading, "limits.wall_default",
				    "greater than limits.wall_max; expected at most as much");
	return 0;
}

/* A variable by which a runtime keeps to the limits instead of the machine's memory or processors.
 */
struct visible {
	const char *before; /* the number */
	uint32_t tenths;    /* share of the memory; 0: the number is that of the processors */
	uint32_t unit;      /* bytes; 1: the number is hexadecimal */
	const char *suffix; /* behind a number of memory */
	const char *after;  /* and then in front of the processors; NULL: nothing */
};

/* A runtime that collects garbage does so before the limit ends it. The JVM takes all of the memory
 * as that of a machine, and a quarter of it for its heap. nproc(1) goes by OMP_THREAD_LIMIT too,
 * and prints no more than the machine has. */
static const struct visible visible[] = {
	{ "NODE_OPTIONS=--max-old-space-size=", 7, VALUE_M, "", NULL },
	{ "DENO_V8_FLAGS=--max-old-space-size=", 7, VALUE_M, "", NULL },
	{ "JDK_JAVA_OPTIONS=-XX:MaxRAM=", 10, VALUE_M, "m", " -XX:ActiveProcessorCount=" },
	{ "GOMEMLIMIT=", 9, VALUE_M, "MiB", NULL },
	{ "GOMAXPROCS=", 0, 0, "", NULL },
	{ "DOTNET_GCHeapHardLimit=", 7, 1, "", NULL },
	{ "DOTNET_PROCESSOR_COUNT=", 0, 1, "", NULL },
	{ "CARGO_BUILD_JOBS=", 0, 0, "", NULL },
	{ "OMP_THREAD_LIMIT=", 0, 0, "", NULL },
};

/* Return whether the profile or its image has the variable of NAME=... */
static bool is_said(const struct profile *profile, const char *variable)
{
	const size_t length = strcspn(variable, "=") + 1;
	const char *own;
	bool is_images = false;

	for (uint32_t i = 0; profile->tree != NULL && (own = image_variable(profile, i)); i++)
		is_images = is_images || strncmp(own, variable, length) == 0;
	return is_images || environment_has(profile, variable);
}

/* Return the processors that the profile allows; 0: as many as there are. */
static uint32_t count_processors(const struct profile *profile)
{
	return (profile->numbers.cpu_percent + 99) / 100;
}

static void print_visible(const struct profile *profile, const struct visible *row,
			  char ret[LIMITS_VARIABLE_MAX])
{
	const uint32_t processors = count_processors(profile);
	const unsigned long long memory = profile->numbers.memory_bytes * row->tenths / 10;
	int size;

	if (row->tenths == 0)
		size = snprintf(ret, LIMITS_VARIABLE_MAX, row->unit == 1 ? "%s%x" : "%s%u",
				row->before, processors);
	else if (row->unit == 1)
		size = snprintf(ret, LIMITS_VARIABLE_MAX, "%s%llx", row->before, memory);
	else
		size = snprintf(ret, LIMITS_VARIABLE_MAX, "%s%llu%s", row->before,
				memory / row->unit, row->suffix);
	if (row->after != NULL && processors > 0)
		(void)snprintf(ret + size, LIMITS_VARIABLE_MAX - (size_t)size, "%s%u", row->after,
			       processors);
}

bool limits_print_variable(const struct profile *profile, uint32_t index,
			   char ret[LIMITS_VARIABLE_MAX], struct origin *ret_origin)
{
	const bool is_there = index < sizeof(visible) / sizeof(visible[0]);
	const bool is_memory = is_there && visible[index].tenths > 0;

	if (!is_there || profile->name[0] == '_')
		return false;
	*ret_origin = profile->origins.keys[is_memory ? KEY_limits_memory : KEY_limits_cpu_percent];
	print_visible(profile, &visible[index], ret);
	if (is_said(profile, ret) || (!is_memory && count_processors(profile) == 0))
		ret[0] = '\0';
	return true;
}
