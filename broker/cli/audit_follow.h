/* SPDX-License-Identifier: Apache-2.0
 *
 * Records as they come.
 */
#ifndef CLI_AUDIT_FOLLOW_H
#define CLI_AUDIT_FOLLOW_H

#include "audit_read.h"

/* Print what is written to the log from where `log` ends, across rotations, until standard output
 * fails: -errno. Ends with the process otherwise. */
int audit_follow(const struct audit_log *log, bool is_json);

#endif
