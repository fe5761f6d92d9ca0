/* SPDX-License-Identifier: Apache-2.0
 *
 * The supervisor's end of msp-store. stewards/store/store.h has the questions.
 */
#ifndef SUPERVISOR_BASE_STORE_CLIENT_H
#define SUPERVISOR_BASE_STORE_CLIENT_H

#include "common/limits.h"

/* Ask the msp-store at the other end of `socket`, which is the callee's from now on. 0, or -errno
 * of the state directory. The end of msp-store from then on is that of the supervisor: without it
 * no limit of files on disk holds. */
int store_connect(int socket);

/* Call `each` for each sandbox, damaged or not. With `destroyed`, not NULL, store_sweep() comes
 * first and calls that; if it fails, expired sandboxes stay and are listed. What the functions
 * return says nothing. Return how many were destroyed, or -errno: then the list is not whole. */
int store_list(int (*destroyed)(void *context, const char id[IPC_ID_MAX]),
	       int (*each)(void *context, const char id[IPC_ID_MAX]), void *context);

#endif
