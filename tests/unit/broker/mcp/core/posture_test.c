/* SPDX-License-Identifier: Apache-2.0
 *
 * What was measured of each profile, and how clients see it.
 */
#include "mcp/core/posture.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "common/ipc/ipc_client.h"
#include "common/ipc/ipc_posture.h"
#include "common/ipc/limits_mode.h"
#include "common/text/names.h"

#define CGROUP_BIT POSTURE_BIT(POSTURE_CGROUP)

static struct posture posture;

static struct ipc_posture_full measured(uint32_t untried)
{
	return (struct ipc_posture_full){
		.is_measured = 1,
		.limits = LIMITS_CGROUP,
		.controllers = POSTURE_CONTROLLER_CPU | POSTURE_CONTROLLER_IO,
		.seccomp_mode = 2,
		.filter_hash = { 0xab, 0x01 },
		.measured = { .landlock_abi = 4,
			      .namespaces = POSTURE_BIT(POSTURE_NAMESPACE_PID) |
					    POSTURE_BIT(POSTURE_NAMESPACE_NET),
			      .layers_untried = untried,
			      .layers_closed = POSTURE_ALL & ~untried }
	};
}

/* Return the barriers without an act of a profile; NULL: it was not measured. */
static const uint32_t *untried_of(const char *profile)
{
	const struct ipc_posture_full *is = posture_find(&posture, profile);

	return is ? &is->measured.layers_untried : NULL;
}

static void begin(void)
{
	static const struct ipc_welcome none;

	posture_from_welcome(&none, &posture);
}

TestSuite(mcp_posture, .init = begin);

Test(mcp_posture, what_was_not_measured_is_not_known)
{
	cr_assert_null(posture_find(&posture, "default"));
}

Test(mcp_posture, profiles_have_their_own)
{
	struct ipc_posture_full is = measured(0);

	posture_learn(&posture, "default", &is);
	is = measured(CGROUP_BIT);
	posture_learn(&posture, "strict", &is);
	cr_assert_eq(*untried_of("default"), 0);
	cr_assert_eq(*untried_of("strict"), CGROUP_BIT);
	cr_assert_null(untried_of("careful"));
	is = measured(POSTURE_BIT(POSTURE_LANDLOCK_TCP));
	posture_learn(&posture, "default", &is); /* the newest counts */
	cr_assert_eq(*untried_of("default"), POSTURE_BIT(POSTURE_LANDLOCK_TCP));
	cr_assert_eq(posture.measured_count, 2);
}

Test(mcp_posture, the_welcome_may_bring_it)
{
	static struct ipc_welcome welcome = { .posture_profile = "careful" };

	welcome.posture = measured(0);
	posture_from_welcome(&welcome, &posture);
	cr_assert_eq(*untried_of("careful"), 0);
}

Test(mcp_posture, there_is_an_end_to_them)
{
	const struct ipc_posture_full is = measured(0);
	char name[16];

	for (int i = 0; i < (int)PLAN_PROFILES_MAX + 1; i++) {
		(void)snprintf(name, sizeof(name), "profile-%d", i);
		posture_learn(&posture, name, &is);
	}
	cr_assert_eq(posture.measured_count, PLAN_PROFILES_MAX);
	cr_assert_null(posture_find(&posture, name));
}
