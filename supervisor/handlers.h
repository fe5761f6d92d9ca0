/* SPDX-License-Identifier: Apache-2.0
 *
 * What a frontend may ask and the factory may answer.
 */
#ifndef SUPERVISOR_HANDLERS_H
#define SUPERVISOR_HANDLERS_H

/* Put together what a welcome says. */
void handlers_prepare(void);

/* Watch both channels of `supervisor`. 0 or -errno. */
int handlers_watch(void);

#endif
