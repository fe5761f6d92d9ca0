/* SPDX-License-Identifier: Apache-2.0
 *
 * Show a profile to people: its effective values, after inheritance, and their origins.
 */
#include "policy/write/show.h"

#include "gateway/hosts/groups.h"
#include "policy/read/profile_parts.h"
#include "policy/write/facts.h"
#include "policy/write/seccomp_rules.h"

#include <stdio.h>

static void show_section(const struct facts *facts, enum fact_section section, const char *before,
			 struct buffer *text)
{
	for (uint32_t i = 0; i < facts->count; i++) {
		const struct fact *fact = &facts->items[i];

		if (fact->section != section || fact->is_quiet)
			continue;
		buffer_format(text, "%s%s", before, fact->text);
		fact_print_origin(&fact->origin, text);
		buffer_format(text, "\n");
	}
}

/* Show a section of one line, if the profile has it. */
static void show_value(const struct facts *facts, enum fact_section section, struct buffer *text)
{
	char before[32];

	(void)snprintf(before, sizeof(before), "%s: ", fact_section_name(section));
	show_section(facts, section, before, text);
}

static void show_list(const struct facts *facts, enum fact_section section, struct buffer *text)
{
	show_section(facts, section, "  ", text);
}

/* Show a section that most profiles do not have. */
static void show_some(const struct facts *facts, enum fact_section section, struct buffer *text)
{
	struct buffer list = { .bytes = NULL };

	show_list(facts, section, &list);
	if (list.size > 0)
		buffer_format(text, "%s:\n%s", fact_section_name(section), list.bytes);
	buffer_done(&list);
}

/* Show the parent, its parent, and so on; the origin of each is in the profile before it. */
static void show_names(const struct profile *profile, struct buffer *text)
{
	buffer_format(text, "name: %s", profile->name);
	fact_print_origin(&profile->origins.keys[KEY_profile_name], text);
	for (const struct profile *at = profile; at->parent != NULL; at = at->parent) {
		buffer_format(text, "%s%s", at == profile ? "\nextends: " : ", ", at->parent->name);
		fact_print_origin(&at->origins.keys[KEY_profile_extends], text);
	}
	buffer_format(text, "\n");
}

static void show_landlock_line(const struct profile *profile, struct buffer *text)
{
	buffer_format(text,
		      "landlock: ABI %u or newer, files, %sscopes of abstract sockets and "
		      "signals; all refused but\n",
		      profile->numbers.landlock_abi_min,
		      profile->numbers.landlock_net != 0 ? "TCP, " : "");
}

static void show_seccomp_line(const struct profile *profile, struct buffer *text)
{
	struct filter_program program = { .count = 0 };

	(void)seccomp_compile(&profile->seccomp, false, &program); /* on a failure count stays 0 */
	buffer_format(text, "seccomp: %u system calls allowed, %u instructions\n",
		      seccomp_allowed_count(&profile->seccomp), program.count);
}

void policy_show(const struct profile *profile, struct buffer *text)
{
	struct facts facts = facts_of(profile);

	show_names(profile, text);
	show_value(&facts, FACT_DESCRIPTION, text);
	show_value(&facts, FACT_IMAGE, text);
	show_value(&facts, FACT_ROOT, text);
	show_value(&facts, FACT_SYSTEM, text);
	if (profile->is_user_root)
		show_value(&facts, FACT_USER, text);
	show_value(&facts, FACT_PRETEND, text);
	show_value(&facts, FACT_COMMAND, text);
	show_value(&facts, FACT_HOSTNAME, text);
	show_value(&facts, FACT_CWD, text);
	show_value(&facts, FACT_RUNNER, text);
	show_value(&facts, FACT_SHELL, text);
	show_value(&facts, FACT_NETWORK, text);
	if (profile->network == NETWORK_HOSTS)
		buffer_format(text, "hosts:%s\n", profile->host_count == 0 ? " none" : "");
	show_list(&facts, FACT_HOSTS, text);
	show_value(&facts, FACT_HOST_APPROVAL, text);
	show_value(&facts, FACT_THROUGH, text);
	show_some(&facts, FACT_REGISTRIES, text);
	show_some(&facts, FACT_REQUESTS, text);
	show_some(&facts, FACT_SECRETS, text);
	buffer_format(text, "environment:\n");
	show_list(&facts, FACT_ENVIRONMENT, text);
	buffer_format(text, "files: %u entries\n", profile->mount_count);
	show_list(&facts, FACT_FILES, text);
	show_landlock_line(profile, text);
	show_list(&facts, FACT_LANDLOCK, text);
	show_seccomp_line(profile, text);
	show_list(&facts, FACT_SECCOMP, text);
	buffer_format(text, "limits:\n");
	show_list(&facts, FACT_LIMITS, text);
	buffer_format(text, "requirements:\n");
	show_list(&facts, FACT_REQUIREMENTS, text);
	show_some(&facts, FACT_LASTING, text);
	if (profile->language_count > 0)
		buffer_format(text, "languages: the first entry of a name whose program exists\n");
	show_list(&facts, FACT_LANGUAGES, text);
	facts_done(&facts);
}

/* Show the part of a call that is answered otherwise than its group. */
static void show_pretended(const struct profile *profile, const char *call, struct buffer *text)
{
	const struct seccomp_condition *condition = seccomp_condition_find(call);
	const uint32_t number = (uint32_t)seccomp_number(call);
	const char *answer = "0, and nothing is done";

	if (!seccomp_is_pretended(&profile->seccomp, number))
		answer = profile->seccomp.pretends_ownership && condition != NULL
				 ? condition->pretended
				 : NULL;
	if (answer == NULL || seccomp_is_refused(&profile->seccomp, number))
		return;
	buffer_format(text, "    %s: %s", call, answer);
	fact_print_origin(&profile->origins.keys[KEY_profile_pretend], text);
	buffer_format(text, "\n");
}

static const char *answer_of(const struct profile *profile, uint32_t index)
{
	if (seccomp_group_at(index)->kind == SECCOMP_HIDDEN)
		return "ENOSYS";
	return profile->seccomp.is_allowed[index] ? "allowed" : "EPERM";
}

/* Show the origin of a group. Groups that no profile can allow have none. */
static void show_group_origin(const struct profile *profile, uint32_t index, struct buffer *text)
{
	if (seccomp_group_at(index)->kind == SECCOMP_ALLOWABLE)
		fact_print_origin(&profile->origins.groups[index], text);
}

static void show_call(const struct profile *profile, const char *call, struct buffer *text)
{
	const struct seccomp_condition *condition = seccomp_condition_find(call);
	const uint32_t number = (uint32_t)seccomp_number(call);

	if (!seccomp_is_refused(&profile->seccomp, number)) {
		if (condition != NULL)
			buffer_format(text, "    %s: %s\n", call, condition->reason);
		return;
	}
	for (uint32_t i = 0; i < profile->seccomp.refused_count; i++) {
		if (profile->seccomp.refused[i] != number)
			continue;
		buffer_format(text, "    %s: EPERM", call);
		fact_print_origin(&profile->origins.refused[i], text);
		buffer_format(text, "\n");
	}
}

void policy_show_seccomp(const struct profile *profile, struct buffer *text)
{
	char call[32];

	for (uint32_t i = 0; i < seccomp_group_count(); i++) {
		const struct seccomp_group *group = seccomp_group_at(i);
		const char *calls = group->calls;

		buffer_format(text, "%s: %s", group->name, answer_of(profile, i));
		show_group_origin(profile, i, text);
		buffer_format(text, "\n  %s\n  %s\n", group->reason, group->calls);
		while (seccomp_next_call(&calls, call)) {
			show_pretended(profile, call, text);
			if (profile->seccomp.is_allowed[i])
				show_call(profile, call, text);
		}
	}
	buffer_format(text, "every other number: ENOSYS\ni386 and x32: killed\n");
}

void policy_show_groups(struct buffer *text)
{
	static const char *const kinds[] = { "", " (never)", " (hidden)" };

	for (uint32_t i = 0; i < seccomp_group_count(); i++) {
		const struct seccomp_group *group = seccomp_group_at(i);

		buffer_format(text, "%s%s: %s\n", group->name, kinds[group->kind], group->reason);
	}
}

void policy_show_hosts(struct buffer *text)
{
	for (uint32_t i = 0; i < host_group_count; i++) {
		const struct host_group *group = &host_groups[i];

		buffer_format(text, "%s%c%s  %s", i > 0 ? "\n" : "", HOST_GROUP_MARK, group->name,
			      group->about);
		if (group->profile)
			buffer_format(text, "; profile %s", group->profile);
		buffer_format(text, "\n");
		for (const char *const *entry = group->entries; *entry != NULL; entry++)
			buffer_format(text, "  %s\n", *entry);
	}
}
