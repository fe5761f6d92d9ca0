/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/profile.h"

#include "common/confine/landlock.h"
#include "common/limits.h"
#include "policy/profile_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"

struct right {
	const char *word;
	uint64_t rights;
};

static const struct right rights[] = {
	{ "list", LANDLOCK_ACCESS_FS_READ_DIR },
	{ "read", LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR },
	{ "execute", LANDLOCK_ACCESS_FS_EXECUTE },
	{ "write", LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE },
	{ "create", LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |
			    LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_MAKE_FIFO |
			    LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_REMOVE_FILE |
			    LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REFER },
	{ "ioctl", LANDLOCK_ACCESS_FS_IOCTL_DEV },
};

const char *reading_key(char *ret, const char *list, uint32_t index, const char *key)
{
	(void)snprintf(ret, KEY_MAX, "%s[%u]%s%s", list, index, *key != '\0' ? "." : "", key);
	return ret;
}

bool reading_is_path(const char *text)
{
	if (text[0] != '/' || strlen(text) >= IPC_PATH_MAX)
		return false;
	for (const char *part = text; *part == '/'; part += strcspn(part + 1, "/") + 1) {
		const size_t length = strcspn(part + 1, "/");

		if (length == 0 || (length == 1 && part[1] == '.') ||
		    (length == 2 && part[1] == '.' && part[2] == '.'))
			return false;
	}
	return true;
}

static bool is_word(const char *text, const char *allowed, size_t most)
{
	const size_t length = strlen(text);

	return length > 0 && length <= most && strspn(text, allowed) == length;
}

static bool is_line(const char *text)
{
	for (const char *at = text; *at != '\0'; at++) {
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return false;
	}
	return *text != '\0' && strlen(text) <= 200;
}

static int apply_names(const struct reading *reading)
{
	const struct source *source = reading->source;
	const struct source_profile *said = source->profile;
	struct profile *profile = reading->profile;

	if (said->name == NULL)
		return source_fail(source, reading->error, "name", "missing");
	if (!is_word(said->name, LOWER DIGITS "-_", IPC_NAME_MAX - 1))
		return source_fail(source, reading->error, "name",
				   "\"%s\" is not a name; expected up to %d of a-z, 0-9, - and _",
				   said->name, IPC_NAME_MAX - 1);
	if (said->description != NULL && !is_line(said->description))
		return source_fail(source, reading->error, "description",
				   "expected one line of 1 to 200 characters");
	if (said->hostname != NULL && !is_word(said->hostname, LOWER DIGITS "-", 63))
		return source_fail(source, reading->error, "hostname",
				   "\"%s\" is not a host name; expected up to 63 of a-z, 0-9 and -",
				   said->hostname);
	if (said->cwd != NULL && !reading_is_path(said->cwd))
		return source_fail(source, reading->error, "cwd", "\"%s\" is not " READING_PATH,
				   said->cwd);
	profile->origin = source_origin(source, "name");
	profile->name = said->name;
	profile->extends = said->extends;
	profile->description = said->description != NULL ? said->description : profile->description;
	profile->hostname = said->hostname != NULL ? said->hostname : profile->hostname;
	profile->cwd = said->cwd != NULL ? said->cwd : profile->cwd;
	return 0;
}

static int apply_shell(const struct reading *reading)
{
	const struct source_profile *said = reading->source->profile;

	if (said->shell == NULL)
		return 0;
	if (said->shell_count == 0 || said->shell[0][0] != '/')
		return source_fail(reading->source, reading->error, "shell",
				   "expected the shell's absolute path and its options, such as "
				   "[/bin/bash, -c]");
	reading->profile->shell = (struct strings){ said->shell, said->shell_count };
	return 0;
}

static int apply_network(const struct reading *reading)
{
	const char *said = reading->source->profile->network;

	if (said == NULL)
		return 0;
	if (strcmp(said, "none") != 0 && strcmp(said, "loopback") != 0)
		return source_fail(reading->source, reading->error, "network",
				   "\"%s\" is not known; expected none or loopback", said);
	reading->profile->network = said[0] == 'n' ? NETWORK_NONE : NETWORK_LOOPBACK;
	reading->profile->network_origin = source_origin(reading->source, "network");
	return 0;
}

static bool is_variable(const char *text)
{
	const size_t length = strspn(text, LOWER DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");

	return length > 0 && text[length] == '=' && (text[0] < '0' || text[0] > '9');
}

static int set_variable(const struct reading *reading, uint32_t index)
{
	struct profile *profile = reading->profile;
	const char *variable = reading->source->profile->environment[index];
	const size_t length = strcspn(variable, "=") + 1;
	char key[KEY_MAX];

	(void)reading_key(key, "environment", index, "");
	if (!is_variable(variable))
		return source_fail(reading->source, reading->error, key,
				   "\"%s\" is not a variable; expected NAME=value", variable);
	for (uint32_t i = 0; i < profile->environment_count; i++) {
		if (strncmp(profile->environment[i], variable, length) == 0) {
			profile->environment[i] = variable;
			return 0;
		}
	}
	if (profile->environment_count == PROFILE_ENVIRONMENT_MAX)
		return source_fail(reading->source, reading->error, key, "more than %u variables",
				   PROFILE_ENVIRONMENT_MAX);
	profile->environment[profile->environment_count++] = variable;
	return 0;
}

static int apply_environment(const struct reading *reading)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < reading->source->profile->environment_count; i++) {
		if (set_variable(reading, i) != 0)
			return -1;
	}
	for (uint32_t i = 0; i < reading->profile->environment_count; i++)
		bytes += strlen(reading->profile->environment[i]) + 1;
	/* Half of what one execution may have; the rest is the caller's. */
	if (bytes > IPC_ENVIRONMENT_MAX / 2)
		return source_fail(reading->source, reading->error, "environment",
				   "longer than %d bytes in all", IPC_ENVIRONMENT_MAX / 2);
	return 0;
}

static int read_rights(const struct reading *reading, uint32_t index, uint64_t *ret)
{
	const struct source_rule *said = &reading->source->profile->landlock[index];
	char key[KEY_MAX];

	*ret = 0;
	(void)reading_key(key, "landlock", index, "rights");
	for (uint32_t i = 0; i < said->rights_count; i++) {
		uint64_t found = 0;

		for (size_t j = 0; j < sizeof(rights) / sizeof(rights[0]); j++)
			found |=
				strcmp(rights[j].word, said->rights[i]) == 0 ? rights[j].rights : 0;
		if (found == 0)
			return source_fail(reading->source, reading->error, key,
					   "\"%s\" is not known; expected list, read, execute, "
					   "write, create or ioctl",
					   said->rights[i]);
		*ret |= found;
	}
	return *ret != 0 ? 0 : source_fail(reading->source, reading->error, key, "missing");
}

static int set_rule(const struct reading *reading, uint32_t index)
{
	const struct source_rule *said = &reading->source->profile->landlock[index];
	struct profile *profile = reading->profile;
	struct profile_rule rule = { .path = said->path,
				     .words = { said->rights, said->rights_count } };
	uint32_t place = 0;
	char key[KEY_MAX];

	(void)reading_key(key, "landlock", index, "path");
	rule.origin = source_origin(reading->source, key);
	if (rule.path == NULL)
		return source_fail(reading->source, reading->error, key, "missing");
	if (strcmp(rule.path, "/") != 0 && !reading_is_path(rule.path))
		return source_fail(reading->source, reading->error, key,
				   "\"%s\" is not " READING_PATH, rule.path);
	for (uint32_t i = 0; i < index; i++) {
		if (strcmp(reading->source->profile->landlock[i].path, rule.path) == 0)
			return source_fail(reading->source, reading->error, key, "%s given twice",
					   rule.path);
	}
	if (read_rights(reading, index, &rule.rights) != 0)
		return -1;
	while (place < profile->rule_count && strcmp(profile->rules[place].path, rule.path) != 0)
		place++;
	if (place == PLAN_RULES_MAX)
		return source_fail(reading->source, reading->error, key, "more than %u rules",
				   PLAN_RULES_MAX);
	profile->rules[place] = rule;
	if (place == profile->rule_count)
		profile->rule_count++;
	return 0;
}

static int apply_landlock(const struct reading *reading)
{
	for (uint32_t i = 0; i < reading->source->profile->landlock_count; i++) {
		if (set_rule(reading, i) != 0)
			return -1;
	}
	return 0;
}

static int allow_groups(const struct reading *reading, const struct source_seccomp *said)
{
	struct seccomp_policy *policy = &reading->profile->seccomp;
	char key[KEY_MAX];

	memset(policy->is_allowed, 0, sizeof(policy->is_allowed));
	for (uint32_t i = 0; i < seccomp_group_count(); i++)
		reading->profile->group_origins[i] =
			source_origin(reading->source, "seccomp.allow");
	for (uint32_t i = 0; i < said->allow_count; i++) {
		const char *name = said->allow[i] + (said->allow[i][0] == '@' ? 1 : 0);
		const int group = seccomp_group_find(name);

		(void)reading_key(key, "seccomp.allow", i, "");
		if (group < 0)
			return source_fail(reading->source, reading->error, key,
					   "\"%s\" is not a group; `msp-policy groups` lists them",
					   said->allow[i]);
		if (seccomp_group_at((uint32_t)group)->kind != SECCOMP_ALLOWABLE)
			return source_fail(reading->source, reading->error, key,
					   "group %s can never be allowed: %s", name,
					   seccomp_group_at((uint32_t)group)->reason);
		policy->is_allowed[group] = true;
		reading->profile->group_origins[group] = source_origin(reading->source, key);
	}
	return 0;
}

static int refuse_calls(const struct reading *reading, const struct source_seccomp *said)
{
	struct seccomp_policy *policy = &reading->profile->seccomp;
	char key[KEY_MAX];

	if (said->refuse_count > 0)
		reading->profile->refuse_origin = source_origin(reading->source, "seccomp.refuse");
	for (uint32_t i = 0; i < said->refuse_count; i++) {
		const int group = seccomp_group_of(said->refuse[i]);

		(void)reading_key(key, "seccomp.refuse", i, "");
		if (group < 0)
			return source_fail(reading->source, reading->error, key,
					   "\"%s\" is not a system call of x86_64",
					   said->refuse[i]);
		if (!policy->is_allowed[group])
			return source_fail(reading->source, reading->error, key,
					   "%s is not allowed anyway: its group is %s",
					   said->refuse[i],
					   seccomp_group_at((uint32_t)group)->name);
		if (policy->refused_count == SECCOMP_CALLS_MAX)
			return source_fail(reading->source, reading->error, key, "too many");
		policy->refused[policy->refused_count++] =
			(uint32_t)seccomp_number(said->refuse[i]);
	}
	return 0;
}

static int apply_seccomp(const struct reading *reading)
{
	const struct source_seccomp *said = reading->source->profile->seccomp;

	if (said == NULL)
		return 0;
	if (said->allow != NULL && allow_groups(reading, said) != 0)
		return -1;
	return refuse_calls(reading, said);
}

static int check_cwd(const struct reading *reading)
{
	const struct profile_mount *around = mounts_around(reading->profile, reading->profile->cwd);

	if (around == NULL ||
	    (strcmp(around->target, reading->profile->cwd) != 0 && around->kind != PLAN_BIND))
		return source_fail(reading->source, reading->error, "cwd",
				   "%s is not made by any entry of files", reading->profile->cwd);
	return 0;
}

static int check_complete(const struct reading *reading)
{
	const struct profile *profile = reading->profile;
	const struct {
		const char *key;
		bool is_there;
	} needs[] = {
		{ "description", profile->description != NULL },
		{ "hostname", profile->hostname != NULL },
		{ "cwd", profile->cwd != NULL },
		{ "shell", profile->shell.count > 0 },
		{ "network", profile->network != NETWORK_UNSAID },
		{ "files", profile->mount_count > 0 },
		{ "landlock", profile->rule_count > 0 },
		{ "seccomp.allow", seccomp_allowed_count(&profile->seccomp) > 0 },
	};

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		if (!needs[i].is_there)
			return source_fail(reading->source, reading->error, needs[i].key,
					   "missing");
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
}

static int read_all(const struct reading *reading)
{
	static int (*const parts[])(const struct reading *) = {
		apply_names,    apply_shell,   apply_network, apply_environment, mounts_apply,
		apply_landlock, apply_seccomp, limits_apply,  languages_apply,   check_complete,
		limits_check,   mounts_check,  check_cwd,     languages_check,
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i](reading) != 0)
			return -1;
	}
	return 0;
}

struct profile *profile_new(const struct source *source, const struct profile *parent,
			    struct policy_error *error)
{
	struct profile *profile = memory_zeroed(1, sizeof(*profile));
	const struct reading reading = { source, profile, error };

	if (parent != NULL) {
		*profile = *parent;
		forget_implied(profile);
	}
	if (read_all(&reading) != 0)
		return profile_free(profile);
	profile->numbers.landlock_fs = LANDLOCK_FS_ALL;
	profile->numbers.landlock_net = profile->network == NETWORK_NONE ? LANDLOCK_NET_ALL : 0;
	profile->numbers.landlock_scopes = LANDLOCK_SCOPE_ALL;
	return profile;
}

struct profile *profile_free(struct profile *profile)
{
	if (profile == NULL)
		return NULL;
	for (uint32_t i = 0; i < profile->owned_count; i++)
		free(profile->owned[i]);
	free(profile);
	return NULL;
}
