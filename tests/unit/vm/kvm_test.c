/* SPDX-License-Identifier: Apache-2.0
 *
 * The trial of KVM: its answer depends on the machine, its form does not.
 */
#include "vm/kvm.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

Test(kvm, answer_has_a_reason_or_none)
{
	char reason[KVM_REASON_MAX] = "";
	const bool is_good = kvm_try(reason);

	cr_expect_eq(is_good, reason[0] == '\0', "%s", reason);
	if (access("/dev/kvm", R_OK | W_OK) != 0)
		cr_expect_not(is_good);
	if (!is_good)
		cr_expect_not_null(strstr(reason, "/dev/kvm"), "%s", reason);
}

Test(kvm, same_answer_again_and_no_process_left)
{
	char first[KVM_REASON_MAX] = "", second[KVM_REASON_MAX] = "";

	cr_expect_eq(kvm_try(first), kvm_try(second));
	cr_expect_str_eq(first, second);
	cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1);
	cr_expect_eq(errno, ECHILD);
}
