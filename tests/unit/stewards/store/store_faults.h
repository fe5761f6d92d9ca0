/* SPDX-License-Identifier: Apache-2.0
 *
 * Between the store and the system: each call is counted, one of them can be made to fail or to be
 * the last one of the process, and what the disk's syncs take is measured.
 */
#ifndef UNIT_STORE_FAULTS_H
#define UNIT_STORE_FAULTS_H

#include <stdint.h>

/* What fault_die() makes the exit code. */
#define FAULT_DIED 99

/* The n-th call from now on, from 1, fails with this errno; 0: none. */
void fault_fail(int number, int error);

/* After the n-th call the process ends. */
void fault_die(int number);

/* Did that call come? */
int fault_is_over(void);

/* Of all syncs. */
extern uint64_t fault_sync_ns;
extern uint64_t fault_syncs;

#endif
