/* SPDX-License-Identifier: Apache-2.0
 *
 * `limits` and `requirements`: what is not in the table of keys. A file may require something of
 * all its profiles, which none of them can say otherwise.
 */
#include "policy/read/values.h"

#include "policy/read/profile_parts.h"

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

int limits_check(const struct reading *reading)
{
	const struct profile *profile = reading->profile;

	if (values_check(reading, NEED_ALWAYS) != 0 ||
	    (profile->network == NETWORK_HOSTS && values_check(reading, NEED_FOR_HOSTS) != 0) ||
	    check_landlock(reading) != 0 || check_limits(reading) != 0)
		return -1;
	if (profile->numbers.wall_default_ms > profile->numbers.wall_max_ms)
		return reading_fail(reading, "limits.wall_default",
				    "greater than limits.wall_max; expected at most as much");
	return 0;
}
