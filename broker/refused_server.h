/* SPDX-License-Identifier: Apache-2.0
 *
 * MCP for one client of an msp that may run nothing, because the machine or the configuration lacks
 * a requirement: many clients show no standard error, so that their user would only see "failed".
 */
#ifndef BROKER_REFUSED_SERVER_H
#define BROKER_REFUSED_SERVER_H

#include <event2/event.h>

/* The longest text that a client is told, in bytes: some ten findings of the doctor. */
#define REFUSED_TEXT_MAX 16384

/* Read the reason from a sealed file of at most REFUSED_TEXT_MAX bytes. The text is the caller's to
 * free; NULL: `fd` is not such a file. */
char *refused_read_text(int fd);

/* Serve the client on `in` and `out`, which stay the caller's, until it is gone: one tool returns
 * `text`. Returns MSP_EXIT_REFUSED, the exit code that the start would have ended with. */
int refused_serve(struct event_base *base, int in, int out, const char *text);

#endif
