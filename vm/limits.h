/* SPDX-License-Identifier: Apache-2.0
 *
 * The resource limits that a machine's command gets from msp-vm's own.
 */
#ifndef VM_LIMITS_H
#define VM_LIMITS_H

#include <sys/resource.h>

#include "vm/wire.h"

static const unsigned int vm_limits[WIRE_LIMITS] = { RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_STACK,
						     RLIMIT_CORE, RLIMIT_NOFILE };

#endif
