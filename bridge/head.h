/* SPDX-License-Identifier: Apache-2.0
 *
 * The first request head of a connection, as far as it says whom its sender takes us for. A page of
 * any site can have its own name resolve to 127.0.0.1 (DNS rebinding), and its browser then sends
 * that name as the Host. No heap, no system call.
 */
#ifndef BRIDGE_HEAD_H
#define BRIDGE_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum head_verdict {
	HEAD_MORE = 0, /* it is not complete */
	HEAD_OTHER,    /* no HTTP/1 request, as no browser sends: any bytes */
	HEAD_FINE,
	HEAD_BAD,    /* not as RFC 9112 has it */
	HEAD_HOST,   /* the Host is another machine, or has another port */
	HEAD_ORIGIN, /* the Origin is a page of another machine */
	HEAD_VERDICTS
};

/* Judge the first bytes of a connection to `port` of this machine. `is_end`: no more will come. */
enum head_verdict head_judge(const uint8_t *bytes, size_t size, bool is_end, uint16_t port);

#endif
