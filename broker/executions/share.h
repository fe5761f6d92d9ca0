/* SPDX-License-Identifier: Apache-2.0
 *
 * How much of something that is bounded in total one principal may take. The rule is that of
 * dynamic thresholds (Choudhury and Hahne, 1998): a principal may hold three times what is left.
 * One principal alone gets three quarters, two get three sevenths each, and something is left for a
 * newcomer as long as there are fewer principals than a third of the total.
 */
#ifndef BROKER_EXECUTIONS_SHARE_H
#define BROKER_EXECUTIONS_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * May `principal`, who holds `own` of the `used` of `total`, take `wanted` more? Principal 0 shares
 * with nobody: it is there only where nobody has to say who they are.
 */
bool share_allows(uint32_t principal, size_t own, size_t used, size_t total, size_t wanted);

/* With this little used of a total, nobody can have too much of it. */
bool share_is_plenty(size_t used, size_t total);

#endif
