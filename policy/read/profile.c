/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/read/profile.h"

#include "common/confine/landlock.h"
#include "common/limits.h"
#include "lib/heap/memory.h"
#include "policy/read/profile_parts.h"
#include "policy/read/values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

/* With PLAN_NARROWED behind it a name has room in a message. */
#define NAME_LONGEST (IPC_NAME_MAX - sizeof(PLAN_NARROWED))

static bool is_line(const char *text)
{
	for (const char *at = text; *at != '\0'; at++) {
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return false;
	}
	return *text != '\0' && strlen(text) <= 200;
}

int profile_check_name(const struct profile_place *place, struct policy_error *error)
{
	const struct reading reading = reading_start(place, NULL, error);
	const char *name = node_text(reading.said, "name");

	if (name == NULL)
		return reading_fail(&reading, "name", "missing; expected a name");
	if (!reading_is_word(name, LOWER DIGITS "-_", NAME_LONGEST))
		return reading_fail(&reading, "name",
				    "\"%s\" is not a name; expected up to %zu of a-z, 0-9, - and _",
				    name, NAME_LONGEST);
	if (name[0] == '_' && !place->is_builtin)
		return reading_fail(&reading, "name",
				    "\"%s\" is a name of the program's own; expected one that "
				    "does not begin with _",
				    name);
	return 0;
}

static int check_names(const struct reading *reading)
{
	const struct profile *profile = reading->profile;

	if (profile->description != NULL && !is_line(profile->description))
		return reading_fail(reading, "description",
				    "expected one line of 1 to 200 characters");
	if (profile->hostname != NULL && !reading_is_word(profile->hostname, LOWER DIGITS "-", 63))
		return reading_fail(
			reading, "hostname",
			"\"%s\" is not a host name; expected up to 63 of a-z, 0-9 and -",
			profile->hostname);
	if (profile->cwd != NULL && !reading_is_path(profile->cwd))
		return reading_fail(reading, "cwd", "\"%s\" is not a path; expected " READING_PATH,
				    profile->cwd);
	if (value_origin(profile, KEY_profile_shell)->file != NULL &&
	    (profile->shell.count == 0 || profile->shell.items[0][0] != '/'))
		return reading_fail(reading, "shell",
				    "expected the shell's absolute path and its options, such as "
				    "[/bin/bash, -c]");
	return 0;
}

static int read_rights(const struct reading *entry, struct profile_rule *rule)
{
	for (uint32_t i = 0; i < rule->words.count; i++) {
		const uint64_t found = profile_right(rule->words.items[i]);

		if (found == 0)
			return reading_fail(entry, "rights",
					    "\"%s\" is not known; expected list, read, execute, "
					    "write, create or ioctl",
					    rule->words.items[i]);
		rule->rights |= found;
	}
	return rule->rights != 0
		       ? 0
		       : reading_fail(entry, "rights", "missing; expected a list such as [read]");
}

static int set_rule(const struct reading *entry)
{
	struct profile *profile = entry->profile;
	struct profile_rule rule = { .origin = reading_origin(entry, "path") };
	uint32_t place = 0;

	if (values_read(entry, SET_landlock, &rule) != 0)
		return -1;
	if (rule.path == NULL)
		return reading_fail(entry, "path", "missing; expected a path in the sandbox");
	if (strcmp(rule.path, "/") != 0 && !reading_is_path(rule.path))
		return reading_fail(entry, "path", "\"%s\" is not a path; expected " READING_PATH,
				    rule.path);
	if (reading_is_again(entry, "path"))
		return reading_fail(entry, "path", "%s given twice; expected once", rule.path);
	if (read_rights(entry, &rule) != 0)
		return -1;
	while (place < profile->rule_count && strcmp(profile->rules[place].path, rule.path) != 0)
		place++;
	if (place == PLAN_RULES_MAX)
		return reading_fail(entry, "path", "too many rules; expected at most %u",
				    PLAN_RULES_MAX);
	profile->rules[place] = rule;
	if (place == profile->rule_count)
		profile->rule_count++;
	return 0;
}

static int apply_landlock(const struct reading *reading)
{
	return reading_each(reading, "landlock", set_rule);
}

static int check_cwd(const struct reading *reading)
{
	const struct profile_mount *around = mounts_around(reading->profile, reading->profile->cwd);

	if (reading->profile->image != NULL) /* mounts_check() makes it */
		return 0;
	if (around == NULL || (strcmp(around->target, reading->profile->cwd) != 0 &&
			       around->kind != PLAN_BIND && around->kind != PLAN_OVERLAY))
		return reading_fail(reading, "cwd",
				    "%s is not made by any entry of files; expected a directory "
				    "that one makes",
				    reading->profile->cwd);
	return 0;
}

static int check_complete(const struct reading *reading)
{
	const struct profile *profile = reading->profile;
	const struct {
		const char *key;
		bool is_there;
		const char *expected;
	} needs[] = {
		{ "description", profile->description != NULL, "one line for people" },
		{ "hostname", profile->hostname != NULL, "a host name" },
		{ "cwd", profile->cwd != NULL, "a directory of the sandbox" },
		{ "shell", profile->shell.count > 0, "a list such as [/bin/sh, -c]" },
		{ "network", profile->network != NETWORK_UNSAID, "none, loopback or hosts" },
		{ "files", profile->mount_count > 0, "entries such as {at: /usr, kind: bind}" },
		{ "landlock", profile->rule_count > 0,
		  "entries such as {path: /usr, rights: [read]}" },
		{ "seccomp.allow", seccomp_allowed_count(&profile->seccomp) > 0,
		  "groups such as basic" },
	};

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		if (!needs[i].is_there)
			return reading_fail(reading, needs[i].key,
					    "missing; expected %s, or a profile to extend",
					    needs[i].expected);
	}
	return 0;
}

static void forget_implied(struct profile *profile)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		if (!profile->mounts[i].is_implied)
			profile->mounts[kept++] = profile->mounts[i];
	}
	profile->mount_count = kept;
	memset(profile->owned, 0, sizeof(profile->owned));
	profile->owned_count = 0;
	for (kept = 0; kept < profile->rule_count && !profile->rules[kept].is_implied;)
		kept++;
	profile->rule_count = kept; /* the implied ones follow the others */
	profile->owned_rules = 0;
	profile->tree = NULL;
	profile->missing = NULL; /* the parent's */
	if (profile->is_cwd_of_image)
		profile->cwd = NULL;
	profile->is_cwd_of_image = false;
}

static int read_values(const struct reading *reading)
{
	return values_read(reading, SET_profile, reading->profile);
}

static int read_all(const struct reading *reading)
{
	static int (*const parts[])(const struct reading *) = {
		read_values,    check_names,       image_apply,     network_apply,  through_apply,
		http_apply,     environment_apply, mounts_apply,    apply_landlock, toolchain_apply,
		seccomp_apply,  lasting_apply,     languages_apply, registry_apply, image_check,
		check_complete, limits_check,      network_check,   through_check,  own_ports_check,
		http_check,     mounts_check,      lasting_check,   check_cwd,      languages_check,
		runner_check,
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i](reading) != 0)
			return -1;
	}
	return 0;
}

struct profile *profile_new(const struct profile_place *place, const struct profile *parent,
			    struct policy_error *error)
{
	struct profile *profile = memory_get_zeroed(1, sizeof(*profile));
	const struct reading reading = reading_start(place, profile, error);

	if (parent != NULL) {
		*profile = *parent;
		forget_implied(profile);
	}
	profile->parent = parent;
	if (read_all(&reading) != 0)
		return profile_free(profile);
	profile->numbers.landlock_fs = LANDLOCK_FS_ALL;
	profile->numbers.landlock_net = profile->network == NETWORK_NONE ? LANDLOCK_NET_ALL : 0;
	profile->numbers.landlock_scopes = LANDLOCK_SCOPE_ALL;
	return profile;
}

void profile_each_variable(const struct profile *profile,
			   void (*take)(void *context, const char *variable,
					const struct origin *origin),
			   void *context)
{
	char added[HTTP_VARIABLE_MAX], limit[LIMITS_VARIABLE_MAX];
	struct origin origin;
	const char *text;

	for (uint32_t i = 0; i < profile->environment_count; i++) {
		if (!registry_replaces(profile, profile->environment[i]))
			take(context, profile->environment[i], &profile->origins.environment[i]);
	}
	for (uint32_t i = 0; (text = registry_variable(profile, i, &origin)) != NULL; i++) {
		if (text[0] != '\0')
			take(context, text, &origin);
	}
	for (uint32_t i = 0; http_print_variable(profile, i, added, &origin); i++) {
		if (added[0] != '\0')
			take(context, added, &origin);
	}
	for (uint32_t i = 0; limits_print_variable(profile, i, limit, &origin); i++) {
		if (limit[0] != '\0')
			take(context, limit, &origin);
	}
	for (uint32_t i = 0; profile->tree != NULL && (text = image_variable(profile, i)); i++) {
		if (text[0] != '\0' && !registry_replaces(profile, text))
			take(context, text, value_origin(profile, KEY_profile_image));
	}
}

bool profile_has_hosts(const struct profile *profile)
{
	return profile->network == NETWORK_HOSTS && profile->name[0] != '_';
}

const char *profile_own(struct profile *profile, const char *before, const char *text,
			const char *after)
{
	const size_t size = strlen(before) + strlen(text) + strlen(after) + 1;
	char *owned = memory_get(size);

	(void)snprintf(owned, size, "%s%s%s", before, text, after);
	profile->owned[profile->owned_count++] = owned;
	return owned;
}

struct profile *profile_copy(const struct profile *profile)
{
	struct profile *copy = memory_get(sizeof(*copy));

	*copy = *profile;
	copy->owned_count = 0;
	copy->owned_rules = 0; /* they stay the profile's */
	copy->missing = NULL;
	return copy;
}

struct profile *profile_narrow(const struct profile *profile)
{
	const size_t whole = strcspn(profile->name, PLAN_KEPT);
	struct profile *copy = profile_copy(profile);
	char name[IPC_NAME_MAX];

	(void)snprintf(name, sizeof(name), "%.*s", (int)whole, profile->name);
	copy->name = profile_own(copy, name, PLAN_NARROWED, profile->name + whole);
	copy->network = NETWORK_LOOPBACK;
	copy->numbers.is_narrowed = 1;
	return copy;
}

struct profile *profile_free(struct profile *profile)
{
	if (profile == NULL)
		return NULL;
	for (uint32_t i = 0; i < profile->owned_count; i++)
		free(profile->owned[i]);
	for (uint32_t i = 0; i < profile->owned_rules; i++)
		free(profile->rule_paths[i]);
	free(profile->missing);
	free(profile);
	return NULL;
}
