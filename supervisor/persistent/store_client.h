/* SPDX-License-Identifier: Apache-2.0
 *
 * The supervisor's end of msp-store. store/store.h has the questions.
 */
#ifndef SUPERVISOR_PERSISTENT_STORE_CLIENT_H
#define SUPERVISOR_PERSISTENT_STORE_CLIENT_H

/* Ask the msp-store at the other end of `socket`, which is the callee's from now on. 0, or -errno
 * of the state directory. The end of msp-store from then on is that of the supervisor: without it
 * no limit of files on disk holds. */
int store_connect(int socket);

#endif
