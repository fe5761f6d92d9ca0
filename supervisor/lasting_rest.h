/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of the sandboxes that last are looked at in each turn of the loop. The others rest: nothing
 * about them changes before their time or until sandbox_stir().
 */
#ifndef SUPERVISOR_LASTING_REST_H
#define SUPERVISOR_LASTING_REST_H

#include "state.h"

/* It rests, until sandbox->due_us at the latest. */
void rest_begin(const struct sandbox *sandbox);

/* Those that rest are looked at again, if one of them is due. UINT64_MAX: in any case. */
void rest_end_due(uint64_t now);

/* The next one that does not rest, behind that one or (NULL) the first; NULL: there is none. */
struct sandbox *rest_next(const struct sandbox *sandbox);

#endif
