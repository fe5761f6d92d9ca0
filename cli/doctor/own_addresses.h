/* SPDX-License-Identifier: Apache-2.0
 *
 * Entries of `hosts` that name an address, compared with the addresses of this machine.
 */
#ifndef CLI_DOCTOR_OWN_ADDRESSES_H
#define CLI_DOCTOR_OWN_ADDRESSES_H

#include "common/plan/plan.h"

/* Log a line for each entry of a plan that msp-dial would refuse by the addresses that this machine
 * has at this moment. They may change, so the plan is not wrong. */
void own_addresses_log(const struct plan *plan);

#endif
