/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STEWARDS_STORE_SERVE_H
#define STEWARDS_STORE_SERVE_H

#include "common/channel.h"

/* Answer the questions of `channel`, in phase IPC_SERVE, until its peer has ended. 0; -errno when
 * the peer broke the protocol: the connection and the process end. */
int store_serve(const struct channel *channel);

#endif
