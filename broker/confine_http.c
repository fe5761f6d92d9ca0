/* SPDX-License-Identifier: Apache-2.0 */
#include "confine_http.h"

#include "common/confine/seccomp.h"
#include "seccomp_http_filter.h"

int confine_install_http_filter(void)
{
	return seccomp_install(seccomp_filter, sizeof(seccomp_filter) / sizeof(seccomp_filter[0]));
}
