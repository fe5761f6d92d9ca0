/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of persistent sandboxes that each turn of the loop looks at. The others rest: nothing
 * about them changes before their time or until sandbox_stir().
 */
#ifndef SUPERVISOR_RUN_PERSISTENT_REST_H
#define SUPERVISOR_RUN_PERSISTENT_REST_H

#include "base/state.h"

/* Let the sandbox rest, until sandbox->persistent.due_us at the latest. */
void rest_begin(const struct sandbox *sandbox);

/* End the rest of all sandboxes if one of them is due. UINT64_MAX: in any case. */
void rest_end_due(uint64_t now);

/* Return the next sandbox that does not rest, behind `sandbox` or (NULL) the first; NULL: none. */
struct sandbox *rest_next(const struct sandbox *sandbox);

#endif
