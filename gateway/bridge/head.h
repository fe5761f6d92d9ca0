/* SPDX-License-Identifier: Apache-2.0
 *
 * The head of a request, as far as it says whom its sender takes us for and which page it is of. A
 * page of any site can have its own name resolve to 127.0.0.1 (DNS rebinding), and its browser then
 * sends that name as the Host; or it can name 127.0.0.1 in an image, a frame or a link, and the
 * browser says that the site is another one. No heap, no system call.
 */
#ifndef GATEWAY_BRIDGE_HEAD_H
#define GATEWAY_BRIDGE_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum head_verdict {
	HEAD_MORE = 0, /* it is not complete */
	HEAD_OTHER,    /* no HTTP/1 request, as no browser sends: any bytes */
	HEAD_FINE,
	HEAD_BAD,    /* not as RFC 9112 has it */
	HEAD_HOST,   /* the Host is another machine, or has another port */
	HEAD_ORIGIN, /* the Origin or the Referer is a page of another machine */
	HEAD_SITE,   /* a browser says that a page of another site asks */
	HEAD_VERDICTS
};

/* In the place of a size: no later head can be found. */
#define HEAD_ENDLESS UINT64_MAX

/* Judge the bytes of a connection to `port` of this machine, from the beginning of a request on.
 * `is_end`: no more will come. HEAD_FINE with the size of head and body in *ret_size, which may be
 * more than `size`; with others it is HEAD_ENDLESS. */
enum head_verdict head_judge(const uint8_t *bytes, size_t size, bool is_end, uint16_t port,
			     uint64_t *ret_size);

#endif
