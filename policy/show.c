/* SPDX-License-Identifier: Apache-2.0
 *
 * A profile for people: its effective values, after inheritance.
 */
#include "policy/policy.h"
#include "policy/profile_parts.h"
#include "policy/units.h"

#include <string.h>
#include <sys/sysmacros.h>

static void show_list(struct buffer *text, const struct strings *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		buffer_printf(text, "%s%s", i > 0 ? " " : "", list->items[i]);
}

static void show_mount_values(const struct profile_mount *mount, struct buffer *text)
{
	char size[32], inodes[32];

	if (mount->kind == PLAN_TMPFS) {
		units_print_size(mount->size_bytes, size);
		units_print_size(mount->inodes, inodes);
		buffer_printf(text, " size %s, inodes %s, mode %04o", size, inodes, mount->mode);
	} else if (mount->kind == PLAN_SYMLINK) {
		buffer_printf(text, " to %s", mount->source);
	} else if (mount->kind == PLAN_DEVICE) {
		buffer_printf(text, " %u:%u", major(mount->device), minor(mount->device));
	} else if (mount->kind == PLAN_FILE) {
		buffer_printf(text, " %zu bytes, mode %04o", strlen(mount->source), mount->mode);
	} else if (mount->kind == PLAN_DIRECTORY) {
		buffer_printf(text, " mode %04o", mount->mode);
	} else if ((mount->kind == PLAN_BIND || mount->kind == PLAN_COPY) &&
		   strcmp(mount->source, mount->target) != 0) {
		buffer_printf(text, " from %s", mount->source);
	}
}

static void show_mounts(const struct profile *profile, struct buffer *text)
{
	buffer_printf(text, "files: %u entries\n", profile->mount_count);
	for (uint32_t i = 0; i < profile->mount_count; i++) {
		const struct profile_mount *mount = &profile->mounts[i];

		buffer_printf(text, "  %-9s %s", profile_mount_kind_name(mount->kind),
			      mount->target);
		show_mount_values(mount, text);
		buffer_printf(text, "%s%s\n", mount->is_noexec ? ", noexec" : "",
			      (mount->flags & PLAN_OPTIONAL) != 0 ? " (if the host has it)" : "");
	}
}

static void show_landlock(const struct profile *profile, struct buffer *text)
{
	buffer_printf(text,
		      "landlock: ABI %u or newer, files, %sscopes of abstract sockets and "
		      "signals; all refused but\n",
		      profile->numbers.landlock_abi_min,
		      profile->numbers.landlock_net != 0 ? "TCP, " : "");
	for (uint32_t i = 0; i < profile->rule_count; i++) {
		buffer_printf(text, "  %-13s ", profile->rules[i].path);
		show_list(text, &profile->rules[i].words);
		buffer_printf(text, "\n");
	}
}

static void show_seccomp_line(const struct profile *profile, struct buffer *text)
{
	struct filter_program program = { .count = 0 };

	(void)seccomp_compile(&profile->seccomp, &program); /* count stays 0 and shows it */
	buffer_printf(text, "seccomp: %u system calls allowed, %u instructions\n ",
		      seccomp_allowed_count(&profile->seccomp), program.count);
	for (uint32_t i = 0; i < seccomp_group_count(); i++) {
		if (profile->seccomp.is_allowed[i])
			buffer_printf(text, " %s", seccomp_group_at(i)->name);
	}
	buffer_printf(text, "\n");
}

static void show_languages(const struct profile *profile, struct buffer *text)
{
	if (profile->language_count > 0)
		buffer_printf(text, "languages: the first entry of a name whose program exists\n");
	for (uint32_t i = 0; i < profile->language_count; i++) {
		const struct profile_language *language = &profile->languages[i];

		buffer_printf(text, "  %-11s", language->name);
		if (language->aliases.count > 0) {
			buffer_printf(text, " (");
			show_list(text, &language->aliases);
			buffer_printf(text, ")");
		}
		buffer_printf(text, " %s\n", language->program);
	}
}

void policy_show(const struct profile *profile, struct buffer *text)
{
	buffer_printf(text, "name: %s\n", profile->name);
	if (profile->extends != NULL)
		buffer_printf(text, "extends: %s\n", profile->extends);
	buffer_printf(text, "description: %s\nhostname: %s\ncwd: %s\nshell: ", profile->description,
		      profile->hostname, profile->cwd);
	show_list(text, &profile->shell);
	buffer_printf(text, "\nnetwork: %s\nenvironment:\n",
		      profile->network == NETWORK_NONE ? "none" : "loopback");
	for (uint32_t i = 0; i < profile->environment_count; i++)
		buffer_printf(text, "  %s\n", profile->environment[i]);
	show_mounts(profile, text);
	show_landlock(profile, text);
	show_seccomp_line(profile, text);
	buffer_printf(text, "limits:\n");
	limits_show(profile, text);
	buffer_printf(text, "requirements: landlock %u, limits %s\n",
		      profile->numbers.landlock_abi_min,
		      profile->numbers.limits_fallback != 0 ? "fallback" : "cgroup");
	show_languages(profile, text);
}

static const char *answer_of(const struct profile *profile, uint32_t index)
{
	if (seccomp_group_at(index)->kind == SECCOMP_HIDDEN)
		return "ENOSYS";
	return profile->seccomp.is_allowed[index] ? "allowed" : "EPERM";
}

static void show_call(const struct profile *profile, const char *call, struct buffer *text)
{
	const struct seccomp_condition *condition = seccomp_condition_find(call);

	if (seccomp_is_refused(&profile->seccomp, (uint32_t)seccomp_number(call)))
		buffer_printf(text, "    %s: EPERM\n", call);
	else if (condition != NULL)
		buffer_printf(text, "    %s: %s\n", call, condition->reason);
}

void policy_show_seccomp(const struct profile *profile, struct buffer *text)
{
	char call[32];

	for (uint32_t i = 0; i < seccomp_group_count(); i++) {
		const struct seccomp_group *group = seccomp_group_at(i);
		const char *calls = group->calls;

		buffer_printf(text, "%s: %s\n  %s\n  %s\n", group->name, answer_of(profile, i),
			      group->reason, group->calls);
		while (profile->seccomp.is_allowed[i] && seccomp_next_call(&calls, call))
			show_call(profile, call, text);
	}
	buffer_printf(text, "every other number: ENOSYS\ni386 and x32: killed\n");
}

void policy_show_groups(struct buffer *text)
{
	static const char *const kinds[] = { "", " (never)", " (hidden)" };

	for (uint32_t i = 0; i < seccomp_group_count(); i++) {
		const struct seccomp_group *group = seccomp_group_at(i);

		buffer_printf(text, "%s%s: %s\n", group->name, kinds[group->kind], group->reason);
	}
}
