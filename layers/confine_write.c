/* SPDX-License-Identifier: Apache-2.0 */
#include "confine.h"

#include "common/confine/seccomp.h"
#include "common/confine/steps.h"
#include "seccomp_write_filter.h"

void confine_install_write_filter(void)
{
	CONFINE_FILTER(seccomp_filter);
}
