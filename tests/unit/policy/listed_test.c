/* SPDX-License-Identifier: Apache-2.0
 *
 * What `msp-policy seccomp PROFILE` prints, read again and compared with what the filter answers.
 */
#include "oracle.h"
#include "policy/write/show.h"
#include "support.h"

#include <criterion/criterion.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS 601U
#define VALUES 14U

enum said { UNSAID = 0, ALLOWED, CONDITIONAL, REFUSED, HIDDEN };

struct listing {
	enum said said[NUMBERS];
	char group[NUMBERS][32];
	uint32_t groups;
	bool says_unknown, says_foreign;
};

static struct builtin builtin;

static void open_plan(void)
{
	builtin = builtin_open();
}

static void close_plan(void)
{
	builtin_close(&builtin);
}

TestSuite(listed, .init = open_plan, .fini = close_plan);

static uint32_t number_of(const char *call)
{
	const int number = seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, call);

	cr_assert(number >= 0 && (uint32_t)number < NUMBERS, "%s", call);
	return (uint32_t)number;
}

/* A word, and perhaps the place that says so. */
static enum said said_by(char *word)
{
	word[strcspn(word, " ")] = '\0';
	if (strcmp(word, "allowed") == 0)
		return ALLOWED;
	return strcmp(word, "EPERM") == 0 ? REFUSED : strcmp(word, "ENOSYS") == 0 ? HIDDEN : UNSAID;
}

static void read_calls(struct listing *listing, const char *group, enum said said, char *calls)
{
	char *rest = NULL;

	for (char *call = strtok_r(calls, " ", &rest); call; call = strtok_r(NULL, " ", &rest)) {
		const uint32_t number = number_of(call);

		cr_expect_eq(listing->said[number], UNSAID, "%s is listed twice", call);
		listing->said[number] = said;
		(void)snprintf(listing->group[number], sizeof(listing->group[number]), "%s", group);
	}
}

/* "    call: why, or EPERM" */
static void read_exception(struct listing *listing, char *line)
{
	char *colon = strchr(line, ':');

	cr_assert_not_null(colon, "%s", line);
	*colon = '\0';
	cr_expect_gt(strlen(colon + 1), 4);
	listing->said[number_of(line + 4)] =
		strncmp(colon + 1, " EPERM", strlen(" EPERM")) == 0 ? REFUSED : CONDITIONAL;
}

static void read_group(struct listing *listing, char **rest, char *line)
{
	char *colon = strchr(line, ':');
	char *reason = strsep(rest, "\n"), *calls = strsep(rest, "\n");
	const struct seccomp_group *group;
	int index;

	cr_assert(colon != NULL && reason != NULL && calls != NULL, "%s", line);
	*colon = '\0';
	index = seccomp_group_find(line);
	cr_assert_geq(index, 0, "%s", line);
	group = seccomp_group_at((uint32_t)index);
	cr_expect_str_eq(reason + 2, group->reason);
	cr_expect_str_eq(calls + 2, group->calls);
	cr_expect_neq(said_by(colon + 2), UNSAID, "%s: %s", line, colon + 2);
	read_calls(listing, line, said_by(colon + 2), calls);
	listing->groups++;
}

static void read_listing(struct listing *listing, char *text)
{
	memset(listing, 0, sizeof(*listing));
	for (char *line = strsep(&text, "\n"); line != NULL; line = strsep(&text, "\n")) {
		if (strcmp(line, "every other number: ENOSYS") == 0)
			listing->says_unknown = true;
		else if (strcmp(line, "i386 and x32: killed") == 0)
			listing->says_foreign = true;
		else if (strncmp(line, "    ", 4) == 0)
			read_exception(listing, line);
		else if (*line != '\0')
			read_group(listing, &text, line);
	}
}

/* What the filter does with a number, over arguments that the conditions know. */
static enum said done_by(const struct oracle_profile *profile, uint32_t number)
{
	static const uint64_t values[VALUES] = {
		0, 1, 4, 6, 8, 12, 23, 35, 0100, 02000, 04000, 0x5412, 0x40000, 0x20000000
	};
	uint32_t allowed = 0, refused = 0, hidden = 0;

	for (uint32_t i = 0; i < VALUES * VALUES * VALUES; i++) {
		const uint64_t a = values[i % VALUES], b = values[i / VALUES % VALUES],
			       c = values[i / VALUES / VALUES];
		const uint64_t arguments[6] = { a, b, c, b | c, c };
		const uint32_t answer =
			builtin_answer(&builtin.plan, profile->name, number, arguments);

		allowed += answer == FILTER_ALLOW || answer == FILTER_PRETEND;
		refused += answer == oracle_refused(profile);
		hidden += answer == FILTER_ENOSYS;
	}
	cr_expect_eq(allowed + refused + hidden, VALUES * VALUES * VALUES, "%u", number);
	if (allowed > 0 && refused > 0)
		return CONDITIONAL;
	return allowed > 0 ? ALLOWED : refused > 0 ? REFUSED : HIDDEN;
}

static void check_profile(const struct oracle_profile *expected)
{
	static struct listing listing;
	struct buffer text = { .bytes = NULL };

	policy_show_seccomp(policy_find(builtin.policy, expected->name), &text);
	buffer_append(&text, "", 1);
	read_listing(&listing, text.bytes);
	buffer_done(&text);
	cr_expect_eq(listing.groups, seccomp_group_count());
	cr_expect(listing.says_unknown && listing.says_foreign);
	for (uint32_t number = 0; number < NUMBERS; number++) {
		const enum said said =
			listing.said[number] != UNSAID ? listing.said[number] : HIDDEN;

		cr_expect_eq(done_by(expected, number), said, "%s: %u (%s): said %d, done %d",
			     expected->name, number, listing.group[number], (int)said,
			     (int)done_by(expected, number));
	}
}

Test(listed, the_list_is_what_the_filter_does, .timeout = 100)
{
	for (size_t i = 0; i < oracle_profile_count; i++)
		check_profile(&oracle_profiles[i]);
}
