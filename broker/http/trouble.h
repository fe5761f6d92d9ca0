/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports on stderr why the HTTP server refuses connections and requests. Reports are bounded,
 * because any process that can connect could otherwise fill the log.
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

/* Counts of troubles; an all-zero struct has none. */
struct troubles {
	uint32_t counts[TROUBLE_COUNT]; /* since the last report */
	int64_t said_ms[TROUBLE_COUNT];
};

/* Count a trouble; reported at once, or together with the next within a minute. */
void trouble_note(struct troubles *troubles, enum trouble trouble);

#endif
