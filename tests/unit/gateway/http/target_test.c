/* SPDX-License-Identifier: Apache-2.0
 *
 * The target of a connection, and the values of Host that name it.
 */
#include "gateway/http/target.h"

#include <criterion/criterion.h>
#include <string.h>

#include "rig.h"

static bool names(const struct target *target, const char *value)
{
	return target_is_named(target, value, strlen(value));
}

Test(target, host_field)
{
	struct rig rig;

	rig_make(&rig);
	cr_expect(names(&rig.api, "api.example"));
	cr_expect(names(&rig.api, "API.Example."));
	cr_expect(names(&rig.api, "api.example:443"));
	cr_expect(names(&rig.open, "a.open.example:8443"));
	cr_expect(names(&rig.plain, "plain.example"));
	cr_expect(names(&rig.plain, "plain.example:80"));
	cr_expect_not(names(&rig.api, "api.example:80"));
	cr_expect_not(names(&rig.api, "api.example:0443"));
	cr_expect_not(names(&rig.api, "api.example:+443"));
	cr_expect_not(names(&rig.api, "api.example:443:443"));
	cr_expect_not(names(&rig.api, "api.example:"));
	cr_expect_not(names(&rig.api, "api.example:65979")); /* 443 in 16 bits */
	cr_expect_not(names(&rig.api, "a.open.example"));
	cr_expect_not(names(&rig.api, "b.api.example"));
	cr_expect_not(names(&rig.api, "api.example, evil.example"));
	cr_expect_not(names(&rig.api, "user@api.example"));
	cr_expect_not(names(&rig.open, "a.open.example"));
	cr_expect_not(names(&rig.open, "b.open.example:8443"));
	cr_expect_not(target_is_named(&rig.api, "api.example\0.evil", 17));
}

Test(target, only_terminated_hosts)
{
	struct rig rig;
	struct target target;

	rig_make(&rig);
	cr_expect_not(target_find(&rig.plan, rig.profile, "api.example", 80, &target));
	cr_expect_not(target_find(&rig.plan, rig.profile, "other.example", 443, &target));
	cr_expect_not(target_find(&rig.plan, rig.profile, "192.0.2.1", 443, &target));
	cr_expect_not(target_find(&rig.plan, rig.profile, "a..b", 443, &target));
	cr_expect_eq(rig.plain.index, 2);
	cr_expect(target_is_tls(&rig.api) && !target_is_tls(&rig.plain));
}

Test(target, hosts_with_rules)
{
	struct rig rig;

	rig_make(&rig);
	cr_expect(target_has_rules(&rig.api));
	cr_expect_not(target_has_rules(&rig.open));
}
