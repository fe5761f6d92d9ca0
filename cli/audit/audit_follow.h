/* SPDX-License-Identifier: Apache-2.0
 *
 * Records as they come.
 */
#ifndef CLI_AUDIT_AUDIT_FOLLOW_H
#define CLI_AUDIT_AUDIT_FOLLOW_H

#include "audit/audit_read.h"

/* Give what is written to the log from where `log` ends, across rotations, until the taker wants no
 * more: 0; or standard output, which it prints to, fails: -errno. */
int audit_follow(const struct audit_log *log, const struct audit_taker *taker);

#endif
