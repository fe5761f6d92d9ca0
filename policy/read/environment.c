/* SPDX-License-Identifier: Apache-2.0
 *
 * `environment` of a profile: its variables on top of its parent's.
 */
#include "policy/read/profile_parts.h"

#include "common/limits.h"

#include <string.h>

#define NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

static bool is_variable(const char *text)
{
	const size_t length = strspn(text, NAME_BYTES);

	return length > 0 && text[length] == '=' && (text[0] < '0' || text[0] > '9');
}

/* Return whether an earlier entry of the list has the same name. */
static bool is_named_again(const struct reading *entry, size_t length)
{
	for (const struct node *other = entry->first; other < entry->said; other++) {
		if (strncmp(other->text, entry->said->text, length) == 0)
			return true;
	}
	return false;
}

/* Return the index of the variable with the name of NAME=...; environment_count: there is none. */
static uint32_t find_variable(const struct profile *profile, const char *variable)
{
	const size_t length = strcspn(variable, "=") + 1;
	uint32_t place = 0;

	while (place < profile->environment_count &&
	       strncmp(profile->environment[place], variable, length) != 0)
		place++;
	return place;
}

bool environment_has(const struct profile *profile, const char *variable)
{
	return find_variable(profile, variable) < profile->environment_count;
}

static int set_variable(const struct reading *entry)
{
	struct profile *profile = entry->profile;
	const char *variable = entry->said->text;
	const size_t length = strcspn(variable, "=") + 1;
	const uint32_t place = find_variable(profile, variable);

	if (!is_variable(variable))
		return reading_fail(entry, "", "\"%s\" is not a variable; expected NAME=value",
				    variable);
	if (is_named_again(entry, length))
		return reading_fail(entry, "", "%.*s given twice; expected once", (int)(length - 1),
				    variable);
	if (place == PROFILE_ENVIRONMENT_MAX)
		return reading_fail(entry, "", "too many variables; expected at most %u",
				    PROFILE_ENVIRONMENT_MAX);
	profile->environment[place] = variable;
	profile->origins.environment[place] = reading_origin(entry, "");
	profile->is_own_variable[place] = !entry->place.is_builtin;
	if (place == profile->environment_count)
		profile->environment_count++;
	return 0;
}

int environment_apply(const struct reading *reading)
{
	size_t bytes = 0;

	if (reading_each(reading, "environment", set_variable) != 0)
		return -1;
	for (uint32_t i = 0; i < reading->profile->environment_count; i++)
		bytes += strlen(reading->profile->environment[i]) + 1;
	/* Half of the bytes of an execution; the rest is for the request. */
	if (bytes > IPC_ENVIRONMENT_MAX / 2)
		return reading_fail(reading, "environment",
				    "too long; expected at most %d bytes in all",
				    IPC_ENVIRONMENT_MAX / 2);
	return 0;
}
