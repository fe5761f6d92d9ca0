/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings of persistent sandboxes: the persistent mounts (places), which `files` names, and
 * the keys of `lasting`.
 */
#include "policy/read/values.h"

#include <string.h>

#include "common/limits.h"
#include "policy/read/profile_parts.h"

static bool is_pattern(const char *text)
{
	char path[IPC_LIST_MAX];
	const size_t size = strlen(text);

	if (size == 0 || size + 2 > sizeof(path))
		return false;
	for (const char *at = text; *at != '\0'; at++) {
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return false;
	}
	path[0] = '/';
	memcpy(path + 1, text, size + 1);
	if (path[size] == '/')
		path[size] = '\0';
	return reading_is_path(path);
}

static int add_held(const struct reading *entry)
{
	struct profile *profile = entry->profile;
	char *pattern = entry->said->text;
	size_t bytes = strlen(pattern) + 1;

	if (!is_pattern(pattern))
		return reading_fail(entry, "",
				    "\"%s\" is not a pattern; expected a path in the workspace, "
				    "without / at its start, empty parts, . and .., such as "
				    "scripts/*.sh",
				    pattern);
	if (pattern[0] == '@' && strcmp(pattern, "@tools") != 0 &&
	    strcmp(pattern, "@dotfiles") != 0)
		return reading_fail(entry, "",
				    "\"%s\" is no group; expected \"@tools\" or \"@dotfiles\", or "
				    "[@] where a name begins with @",
				    pattern);
	for (uint32_t i = 0; i < profile->held_count; i++) {
		if (strcmp(profile->held[i], pattern) == 0)
			return reading_fail(entry, "", "%s is held already; expected it once",
					    pattern);
		bytes += strlen(profile->held[i]) + 1;
	}
	if (profile->held_count == PROFILE_HELD_MAX || bytes > IPC_LIST_MAX)
		return reading_fail(entry, "",
				    "too much; expected at most %u patterns of %d bytes in all",
				    PROFILE_HELD_MAX, IPC_LIST_MAX);
	profile->held[profile->held_count] = pattern;
	profile->origins.held[profile->held_count++] = reading_origin(entry, "");
	return 0;
}

int lasting_apply(const struct reading *reading)
{
	return reading_each(reading, "lasting.hold", add_held);
}

bool profile_lasts(const struct profile *profile)
{
	for (uint32_t i = 0; i < profile->mount_count; i++) {
		if (profile->mounts[i].place != NULL && profile->mounts[i].kind != PLAN_DIRECTORY)
			return true;
	}
	return false;
}

/* Return whether an earlier entry has the same place. */
static bool is_again(const struct profile *profile, uint32_t index)
{
	for (uint32_t i = 0; i < index; i++) {
		if (profile->mounts[i].place != NULL &&
		    strcmp(profile->mounts[i].place, profile->mounts[index].place) == 0)
			return true;
	}
	return false;
}

static int check_places(const struct reading *reading)
{
	const struct profile *profile = reading->profile;
	uint32_t count = 0;

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		const struct profile_mount *mount = &profile->mounts[i];

		if (mount->place == NULL)
			continue;
		if (is_again(profile, i))
			return reading_fail(reading, "files",
					    "%s: there is a place \"%s\" already; expected another "
					    "name",
					    mount->target, mount->place);
		if (++count > PLACES_MAX)
			return reading_fail(reading, "files",
					    "%s: too many places; expected at most %d",
					    mount->target, PLACES_MAX);
	}
	return 0;
}

/* Without the key, or above the most, executions in a sandbox have the time of all others. */
static void settle_wall(struct profile *profile)
{
	struct plan_profile *is = &profile->numbers;

	if (value_origin(profile, KEY_lasting_wall_default)->file == NULL ||
	    !profile_lasts(profile))
		is->wall_persistent_ms = is->wall_default_ms;
	if (is->wall_persistent_ms < is->wall_default_ms)
		is->wall_persistent_ms = is->wall_default_ms;
	if (is->wall_persistent_ms > is->wall_max_ms)
		is->wall_persistent_ms = is->wall_max_ms;
}

int lasting_check(const struct reading *reading)
{
	struct profile *profile = reading->profile;

	settle_wall(profile);
	if (profile->numbers.ttl_default_s > profile->numbers.ttl_max_s &&
	    profile->numbers.ttl_max_s > 0)
		return reading_fail(reading, "lasting.ttl",
				    "greater than lasting.ttl_most; expected at most as much");
	if (!profile_lasts(profile))
		return !reading_says(reading, "lasting")
			       ? 0
			       : reading_fail(reading, "lasting",
					      "this profile keeps no files; expected an entry of "
					      "files with a place, or no such key");
	return values_check(reading, NEED_TO_LAST) != 0 ? -1 : check_places(reading);
}
