/* SPDX-License-Identifier: Apache-2.0
 *
 * `toolchain` of a profile: directories of the host with compilers or interpreters. Each becomes an
 * entry of `files` at its own path, since toolchains have their paths in their files, a rule of
 * `landlock`, and the first directory of PATH.
 */
#include "policy/read/profile_parts.h"

#include <string.h>

#define KEY "toolchain"
#define EXPECTED READING_PATH ", or ~/ and the rest of a path, such as ~/.nvm/versions/node/v22.4.0"
#define BIN "/bin"

struct profile_mount *toolchain_show(struct profile *profile, const char *source,
				     const char *target, struct origin origin)
{
	static char read[] = "read", execute[] = "execute";
	static char *const words[] = { read, execute };
	struct profile_mount *mount = &profile->mounts[profile->mount_count];
	struct profile_rule *rule = &profile->rules[profile->rule_count];

	if (profile->mount_count == PROFILE_MOUNTS_ROOM || profile->rule_count == PLAN_RULES_MAX)
		return NULL;
	profile->mount_count++;
	profile->rule_count++;
	*rule = (struct profile_rule){ .path = target, .words = { words, 2 }, .origin = origin };
	for (uint32_t i = 0; i < rule->words.count; i++)
		rule->rights |= profile_right(words[i]);
	*mount = (struct profile_mount){ .kind = PLAN_BIND,
					 .flags = PLAN_PINNED,
					 .source = source,
					 .target = target,
					 .is_toolchain = true,
					 .origin = origin };
	return mount;
}

/* Put a directory before those of PATH. */
static int add_to_path(const struct reading *entry, const char *path)
{
	struct profile *profile = entry->profile;
	const size_t length = strlen(path), suffix = strlen(BIN);
	const bool is_bin = length > suffix && strcmp(path + length - suffix, BIN) == 0;
	const char *rest = ":/usr/bin:/bin", *before;
	uint32_t place = 0;

	while (place < profile->environment_count &&
	       strncmp(profile->environment[place], "PATH=", strlen("PATH=")) != 0)
		place++;
	if (place == PROFILE_ENVIRONMENT_MAX)
		return reading_fail(entry, "", "too many variables; expected at most %u with PATH",
				    PROFILE_ENVIRONMENT_MAX);
	before = profile_own(profile, "PATH=", path, is_bin ? "" : BIN);
	if (place < profile->environment_count)
		rest = profile_own(profile, ":", profile->environment[place] + strlen("PATH="), "");
	else
		profile->environment_count++;
	profile->environment[place] = profile_own(profile, before, rest, "");
	profile->origins.environment[place] = reading_origin(entry, "");
	return 0;
}

/* Show a directory at its own path, unless the profile shows one around it there. */
static int add_files(const struct reading *entry, const char *path)
{
	const struct profile_mount *around = mounts_around(entry->profile, path);
	struct profile_mount *mount;

	if (around != NULL && around->kind == PLAN_BIND &&
	    strcmp(around->source, around->target) == 0)
		return 0;
	mount = entry->profile->mount_count < PROFILE_MOUNTS_MAX
			? toolchain_show(entry->profile, path, path, reading_origin(entry, ""))
			: NULL;
	if (mount == NULL)
		return reading_fail(entry, "",
				    "one entry too many; expected at most %u of files and %u of "
				    "landlock in all",
				    PROFILE_MOUNTS_MAX, PLAN_RULES_MAX);
	mount->is_builtin = entry->place.is_builtin;
	if (mount->is_builtin)
		mount->flags = 0;
	return 0;
}

static int add_toolchain(const struct reading *entry)
{
	const char *said = entry->said->text, *home = entry->place.home;
	const bool is_home = said[0] == '~' && said[1] == '/';
	const char *path;

	if (!reading_is_path(is_home ? said + 1 : said))
		return reading_fail(entry, "", "\"%s\" is not a path; expected " EXPECTED, said);
	if (is_home && home == NULL)
		return reading_fail(entry, "",
				    "\"%s\" is in a home that is not known here, as root's is "
				    "not; expected an absolute path",
				    said);
	if (reading_is_again(entry, ""))
		return reading_fail(entry, "", "%s given twice; expected once", said);
	/* Three more texts for PATH. */
	if (entry->profile->owned_count + 4 > PROFILE_MOUNTS_MAX)
		return reading_fail(entry, "", "one entry too many; expected fewer toolchains");
	path = profile_own(entry->profile, is_home ? home : "", is_home ? said + 1 : said, "");
	return add_files(entry, path) != 0 ? -1 : add_to_path(entry, path);
}

int toolchain_apply(const struct reading *reading)
{
	return reading_each(reading, KEY, add_toolchain);
}
