/* SPDX-License-Identifier: Apache-2.0
 *
 * Why the HTTP server refuses connections and requests, said on stderr once in a while: whoever can
 * connect could otherwise write as much there as they like.
 */
#ifndef BROKER_HTTP_TROUBLE_H
#define BROKER_HTTP_TROUBLE_H

#include <stdint.h>

enum trouble {
	TROUBLE_HOST,
	TROUBLE_TOKEN,
	TROUBLE_PEER,
	TROUBLE_NOT_HTTP,
	TROUBLE_SLOW,
	TROUBLE_TOO_LARGE,
	TROUBLE_FULL,
	TROUBLE_NOT_READING,
	TROUBLE_SESSIONS,
	TROUBLE_CONNECTIONS,
	TROUBLE_COUNT,
};

/* An all-zero struct has seen none. */
struct troubles {
	uint32_t counts[TROUBLE_COUNT]; /* since it was said last */
	int64_t said_ms[TROUBLE_COUNT];
};

/* One more; said at once, or with those that follow within a minute. */
void trouble_note(struct troubles *troubles, enum trouble trouble);

#endif
