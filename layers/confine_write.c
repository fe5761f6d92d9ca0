/* SPDX-License-Identifier: Apache-2.0 */
#include "confine.h"

#include "common/confine/seccomp.h"
#include "seccomp_write_filter.h"

int confine_install_write_filter(void)
{
	return seccomp_install(seccomp_filter, sizeof(seccomp_filter) / sizeof(seccomp_filter[0]));
}
