/* SPDX-License-Identifier: Apache-2.0
 *
 * The top-level keys of a configuration, which hold for all its profiles.
 */
#ifndef POLICY_READ_SETTINGS_H
#define POLICY_READ_SETTINGS_H

#include "policy/read/policy.h"

/* Return the settings that hold without a file. */
struct policy_settings settings_default(void);

/* Take over the settings of `source` beside its profiles. 0, or -1 with *error set. The texts stay
 * the source's. */
int settings_read(const struct source *source, struct policy_settings *ret,
		  struct policy_error *error);

#endif
