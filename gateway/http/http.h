/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface of msp-http to the programs that start it and talk with it.
 *
 * Start: msp-cable executes it without an argument, as it does msp-egress (program_start()), in the
 * network namespace with nothing in it. It has one descriptor beside the standard ones and closes
 * others: 3, a channel to msp-cable, which says IPC_SUPERVISOR to IPC_GATEWAY: gateway_start, then
 * http_begin for each profile of a plan that has an entry of kind HTTP or HTTPS.
 *
 * The first process is the starter. It has no file and reads nothing but http_begin, for which it
 * forks a server: one for each profile of a plan, so that a secret is never in the memory of a
 * server of another profile. A server has the three descriptors of http_begin and no other:
 *
 *   IPC_HTTP to IPC_EGRESS    http_open, http_more, http_end come; http_refused, http_moved,
 *                             http_done go
 *   IPC_HTTP to IPC_LAUNCHER  http_trust comes first, then http_secret for each of the profile's
 *                             secrets, with or without a value; then http_secret whenever a value
 *                             has changed
 *
 * All messages are of the phase SERVE; no hello goes over the two channels. A server takes no
 * connection before it has http_trust and all secrets: msp-egress may send http_open at any time,
 * it waits in the channel. A server ends when one of its channels is closed at the other end, and
 * the starter when msp-cable's is; servers end with the starter. The end of a server is seen by
 * msp-egress as the end of the channel: all connections of the profile are reset.
 *
 * A connection is judged by the plan alone: host and port of http_open lead to the first entry that
 * covers them (host_list_find()), which has to be HTTP or HTTPS. Else the server ends (-EPROTO).
 * The client's first byte is not read before http_open: msp-egress must not read it either.
 *
 * The argument `authority` makes another program of it: it makes a CA, P-256 and valid for ten
 * years, writes key and certificate in PEM to descriptor 3 (what http_trust wants) and the
 * certificate alone to descriptor 4, empty memory files both, and ends with 0. The caller seals
 * them. With the argument `java` it writes the certificates of a file in PEM, descriptor 3, to
 * descriptor 4 in the form that programs of Java read.
 */
#ifndef GATEWAY_HTTP_HTTP_H
#define GATEWAY_HTTP_HTTP_H

#define HTTP_ARGUMENT_AUTHORITY "authority"
#define HTTP_ARGUMENT_JAVA "java"
#define HTTP_FD_AUTHORITY 3
#define HTTP_FD_CERTIFICATE 4

/* Bytes to both sides of a connection, if its sandbox's are counted, before it waits for http_more.
 */
#define HTTP_PORTION 131072U

#endif
