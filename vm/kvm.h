/* SPDX-License-Identifier: Apache-2.0
 *
 * The processor's virtual machines, tried and not assumed: a /dev/kvm that opens may belong to a
 * kernel that interprets each instruction, where no kernel of Debian starts.
 */
#ifndef VM_KVM_H
#define VM_KVM_H

#include <stdbool.h>

#define KVM_REASON_MAX 128

/* Run a few instructions in a virtual machine of this processor, within a second. False: why not,
 * in the reason. */
bool kvm_try(char reason[KVM_REASON_MAX]);

#endif
