/* SPDX-License-Identifier: Apache-2.0
 *
 * In place of host_list_find(): a msp-dial whose every list has every host.
 */
#include "gateway/hosts/list.h"

const struct plan_host *__real_host_list_find(const struct plan *plan,
					      const struct plan_profile *profile,
					      const struct host_wanted *wanted, uint16_t port);
const struct plan_host *__wrap_host_list_find(const struct plan *plan,
					      const struct plan_profile *profile,
					      const struct host_wanted *wanted, uint16_t port);

const struct plan_host *__wrap_host_list_find(const struct plan *plan,
					      const struct plan_profile *profile,
					      const struct host_wanted *wanted, uint16_t port)
{
	static const struct plan_host any = { .kind = PLAN_HOST_TCP };
	const struct plan_host *found = __real_host_list_find(plan, profile, wanted, port);

	return found ? found : &any;
}
