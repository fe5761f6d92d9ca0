/* SPDX-License-Identifier: Apache-2.0 */
#include "http/trouble.h"

#include "common/log.h"
#include "io/clock.h"

#define SAID_MS 60000

void trouble_note(struct troubles *troubles, enum trouble trouble)
{
	static const char *const texts[TROUBLE_COUNT] = {
		[TROUBLE_HOST] = "from a web page or with a Host that is not this machine",
		[TROUBLE_TOKEN] = "without a token of the token file",
		[TROUBLE_PEER] = "from another user of this machine",
		[TROUBLE_NOT_HTTP] = "that were not valid HTTP",
		[TROUBLE_SLOW] = "that took too long to arrive",
		[TROUBLE_TOO_LARGE] = "beyond the size limit of requests",
		[TROUBLE_FULL] = "beyond the memory limit of arriving requests",
		[TROUBLE_NOT_READING] = "whose client did not read the answer",
		[TROUBLE_SESSIONS] = "beyond the limit of sessions",
		[TROUBLE_CONNECTIONS] = "beyond the limit of connections",
	};
	const int64_t now = clock_steady_ms();

	troubles->counts[trouble]++;
	if (troubles->said_ms[trouble] != 0 && now - troubles->said_ms[trouble] < SAID_MS)
		return;
	log_line("refused %u request%s %s", troubles->counts[trouble],
		 troubles->counts[trouble] == 1 ? "" : "s", texts[trouble]);
	troubles->said_ms[trouble] = now;
	troubles->counts[trouble] = 0;
}
