/* SPDX-License-Identifier: Apache-2.0
 *
 * The top-level keys of a configuration, which hold for all its profiles.
 */
#ifndef POLICY_SETTINGS_H
#define POLICY_SETTINGS_H

#include "policy/policy.h"

/* What holds where no file says anything. */
struct policy_settings settings_default(void);

/* Take over what `source` says beside its profiles. 0, or -1 with *error set. The texts are the
 * source's. */
int settings_read(const struct source *source, struct policy_settings *ret,
		  struct policy_error *error);

#endif
