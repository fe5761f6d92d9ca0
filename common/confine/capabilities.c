/* SPDX-License-Identifier: Apache-2.0 */
#include "common/confine/capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Every bit of the securebits, each locked: uid 0 never means anything here. */
#define SECUREBITS                                                                                 \
	(SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |        \
	 SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |                      \
	 SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

int capabilities_set(uint32_t keep)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { .effective = keep, .permitted = keep } };

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
		return -errno;
	return syscall(SYS_capset, &header, data) == 0 ? 0 : -errno;
}

int capabilities_drop(uint32_t keep)
{
	for (unsigned long capability = 0;; capability++) {
		if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0)
			continue;
		if (errno == EINVAL && capability > CAP_LAST_CAP)
			break; /* beyond the last one this kernel knows */
		return -errno;
	}
	if (prctl(PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0) != 0)
		return -errno;
	return capabilities_set(keep);
}
