/* SPDX-License-Identifier: Apache-2.0
 *
 * `toolchain` of a profile: directories of the host with compilers or interpreters. Each becomes an
 * entry of `files` at its own path, since toolchains have their paths in their files, a rule of
 * `landlock`, and the first directory of PATH.
 */
#include "policy/read/profile_parts.h"

#include "lib/heap/memory.h"

#include <stdio.h>
#include <string.h>

#define KEY "toolchain"
#define EXPECTED READING_PATH ", or ~/ and the rest of a path, such as ~/.nvm/versions/node/v22.4.0"
#define BIN "/bin"

/* Make a text the profile's. */
static const char *own_text(struct profile *profile, const char *before, const char *text,
			    const char *after)
{
	const size_t size = strlen(before) + strlen(text) + strlen(after) + 1;
	char *owned = memory_get(size);

	(void)snprintf(owned, size, "%s%s%s", before, text, after);
	profile->owned[profile->owned_count++] = owned;
	return owned;
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
	before = own_text(profile, "PATH=", path, is_bin ? "" : BIN);
	if (place < profile->environment_count)
		rest = own_text(profile, ":", profile->environment[place] + strlen("PATH="), "");
	else
		profile->environment_count++;
	profile->environment[place] = own_text(profile, before, rest, "");
	profile->origins.environment[place] = reading_origin(entry, "");
	return 0;
}

/* Show a directory at its own path, unless the profile shows one around it there. */
static int add_files(const struct reading *entry, const char *path)
{
	static char read[] = "read", execute[] = "execute";
	static char *const words[] = { read, execute };
	struct profile *profile = entry->profile;
	const struct profile_mount *around = mounts_around(profile, path);
	struct profile_rule rule = { .path = path,
				     .words = { words, 2 },
				     .origin = reading_origin(entry, "") };

	if (around != NULL && around->kind == PLAN_BIND &&
	    strcmp(around->source, around->target) == 0)
		return 0;
	if (profile->mount_count == PROFILE_MOUNTS_MAX || profile->rule_count == PLAN_RULES_MAX)
		return reading_fail(entry, "",
				    "one entry too many; expected at most %u of files and %u of "
				    "landlock in all",
				    PROFILE_MOUNTS_MAX, PLAN_RULES_MAX);
	for (uint32_t i = 0; i < rule.words.count; i++)
		rule.rights |= profile_right(words[i]);
	profile->mounts[profile->mount_count++] = (struct profile_mount){
		.kind = PLAN_BIND,
		.flags = entry->place.is_builtin ? 0 : PLAN_PINNED,
		.source = path,
		.target = path,
		.is_builtin = entry->place.is_builtin,
		.is_toolchain = true,
		.origin = rule.origin,
	};
	profile->rules[profile->rule_count++] = rule;
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
	path = own_text(entry->profile, is_home ? home : "", is_home ? said + 1 : said, "");
	return add_files(entry, path) != 0 ? -1 : add_to_path(entry, path);
}

int toolchain_apply(const struct reading *reading)
{
	return reading_each(reading, KEY, add_toolchain);
}
