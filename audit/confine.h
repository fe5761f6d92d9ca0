/* SPDX-License-Identifier: Apache-2.0
 *
 * The confinement of msp-audit, before it receives the first record.
 */
#ifndef AUDIT_CONFINE_H
#define AUDIT_CONFINE_H

/* Check that the descriptors of enum audit_fd are there, and close all others but the standard
 * ones. Ends the process otherwise. */
void confine_descriptors(void);

/* Must: allow the files of the log's directory and nothing else. Must not: leave a capability, a
 * way to a new one, or a system call that is not in seccomp_list.def. Ends the process when a step
 * fails. */
void confine_audit(void);

#endif
