/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of msp-http: gateway/http/http.h has their order.
 */
#ifndef COMMON_IPC_IPC_HTTP_H
#define COMMON_IPC_IPC_HTTP_H

#include "common/ipc/ipc_gateway.h"

/* clang-format off */

/* A server's connections at once; beyond them http_done says CONNECTION_END_LIMIT. */
#define HTTP_CONNECTIONS_MAX 1024U

/* From msp-cable: start an msp-http for a profile. fds: its channel to msp-egress (IPC_HTTP to
 * IPC_EGRESS), its channel to the launcher (IPC_HTTP to IPC_LAUNCHER), the sealed policy blob */
IPC_MESSAGE(http_begin, (U32, profile)); /* index in the blob */

/* Serve a connection. fds: the workload's socket and the host's, which do not block. The host's
 * entry in the plan says whether both speak TLS. */
IPC_MESSAGE(http_open,
	(U64, number), /* counts connections; comes back */
	(U32, port),
	(U32, is_counted), /* it asks for more with http_moved */
	(U32, idle_s),     /* without a byte for so long, it is ended; 0: not so soon */
	(STR, host, IPC_HOST_MAX));

/* The connection has moved HTTP_PORTION bytes since it began or since the last http_more, and moves
 * no more before the next one. */
IPC_MESSAGE(http_moved,
	(U64, number),
	(U64, sent), (U64, received)); /* so far, as in http_done */

/* Move on. */
IPC_MESSAGE(http_more, (U64, number));

/* End a connection: its sandbox has ended or moved its bytes, or its host is taken away. http_done
 * comes, if it has not already. */
IPC_MESSAGE(http_end,
	(U64, number),
	(U32, reason)); /* enum connection_end */

/* A request or a connection is refused by policy. Sent before the workload hears of it. */
IPC_MESSAGE(http_refused,
	(U64, number),
	(U32, reason)); /* enum connection_refused: HOST, TLS, REQUEST or SECRET */

/* The connection has ended, and its sockets are closed. The last message with its number. */
IPC_MESSAGE(http_done,
	(U64, number),
	(U64, sent), (U64, received), /* as in connection_end: bytes of the sockets, with those of TLS */
	(U32, reason)); /* enum connection_end */

/* From the launcher, the first message. fds: the key and the certificate of the CA (P-256, PEM,
 * the key first); the certificates that hosts are checked with (PEM), which may be an empty list
 * only if no entry of the profile is HTTPS */
IPC_MESSAGE(http_trust, (U32, reserved));

/* A secret's value, which takes the place of the one before. fd: HTTP_SECRET_MIN to HTTP_SECRET_MAX
 * bytes, each from 0x20 to 0x7e, neither the first nor the last a space; or no byte at all: the
 * value cannot be had, and requests with the secret are refused */
IPC_MESSAGE(http_secret, (U32, index)); /* in the profile's secrets */

#define HTTP_SECRET_MIN 8
#define HTTP_SECRET_MAX 4096

/* clang-format on */

#endif
