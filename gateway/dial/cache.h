/* SPDX-License-Identifier: Apache-2.0
 *
 * The addresses of names, for as long as their records say. A cached address is judged anew before
 * each connection.
 */
#ifndef GATEWAY_DIAL_CACHE_H
#define GATEWAY_DIAL_CACHE_H

#include "gateway/dial/resolve.h"
#include "gateway/hosts/name.h"

#define CACHE_NAMES_MAX 256U
#define CACHE_TTL_MAX_S 300U
#define CACHE_NO_NAME_S 5U /* for a name that does not exist */

/* Return what is known of a name at `now_ms`, until the next call of cache_keep(); or NULL. */
const struct resolution *cache_find(const char *name, uint64_t now_ms);

/* Keep the result of a resolution; a failed one is not kept. The name nearest to its end makes
 * room. */
void cache_keep(const char *name, const struct resolution *resolution, uint64_t now_ms);

/* Forget all names: other servers may know others. */
void cache_clear(void);

#endif
