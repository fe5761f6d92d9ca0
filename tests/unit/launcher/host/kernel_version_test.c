/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/host/kernel_version.h"

#include <criterion/criterion.h>
#include <string.h>

/* From the oldest to the newest. */
static const char *const versions[] = {
	"",
	"5.10.0-9-amd64",
	"5.10.0-30-amd64",
	"6.1.0-9-amd64",
	"6.1.0-10-amd64",
	"6.1.0-10-cloud-amd64",
	"6.9",
	"6.9-amd64",
	"6.9.7+bpo-amd64",
	"6.9.10",
	"6.10~rc3-amd64",
	"6.10-rc4-amd64",
	"6.10-rc12",
	"6.10",
	"6.10-amd64",
	"6.10+deb13-amd64",
	"6.10.0-rc1",
	"6.10.0",
	"6.10.0-1-amd64",
	"6.10.2-amd64",
	"6.12.9-amd64",
	"6.12.12-amd64",
	"6.12.12+bpo-amd64",
	"6.12.12+deb12-amd64",
	"6.12.12+deb13-amd64",
	"10.0",
};

Test(kernel_version, order)
{
	const size_t count = sizeof(versions) / sizeof(versions[0]);
	int wrong = 0;

	for (size_t i = 0; i < count; i++) {
		cr_expect_eq(kernel_version_compare(versions[i], versions[i]), 0, "%s",
			     versions[i]);
		for (size_t j = i + 1; j < count; j++) {
			cr_expect_lt(kernel_version_compare(versions[i], versions[j]), 0,
				     "%s is older than %s", versions[i], versions[j]);
			cr_expect_gt(kernel_version_compare(versions[j], versions[i]), 0,
				     "%s is newer than %s", versions[j], versions[i]);
			wrong += strcmp(versions[i], versions[j]) > 0;
		}
	}
	cr_expect_gt(wrong, 0, "the control: the order of texts is another one");
}

Test(kernel_version, zeros_in_front_do_not_count)
{
	cr_expect_eq(kernel_version_compare("6.01", "6.1"), 0);
	cr_expect_lt(kernel_version_compare("6.09", "6.10"), 0);
}
