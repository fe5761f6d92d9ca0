/* SPDX-License-Identifier: Apache-2.0
 *
 * The launcher's part in requests that msp-http reads: its own certificate authority, which is in
 * memory alone; the directory of certificates that sandboxes trust, in the place of the host's; and
 * the secrets, which go to a server of msp-http over a channel that leads nowhere else.
 */
#ifndef LAUNCHER_START_TRUST_H
#define LAUNCHER_START_TRUST_H

#include <stdint.h>

#include "common/plan/plan.h"
#include "launcher/host/pins.h"
#include "launcher/start/certificates.h"
#include "launcher/start/config.h"

struct images;

/* Profiles whose requests are read, of all plans in use. */
#define TRUST_SERVERS_MAX 16

/* A server of msp-http, or one that msp-cable will have when it is needed. */
struct trust_server {
	int plan_fd; /* -1: free */
	int channel; /* -1: it has ended */
	uint32_t profile;
	uint64_t begun_us;
	struct plan plan;
};

/* Descriptors are -1 when absent: most starts need none of it. */
struct trust {
	int gateway; /* to msp-cable, */
	int cable;   /* and its end, until that is handed over */
	struct certificates certificates;
	struct pins_trust pins;
	uint32_t count;
	struct trust_server servers[TRUST_SERVERS_MAX];
};

#define TRUST_NONE                                                                                 \
	{                                                                                          \
		.gateway = -1, .cable = -1,                                                        \
		.certificates = { .authority = -1, .roots = -1, .directory = -1 },                 \
		.pins = PINS_TRUST_NONE                                                            \
	}

/* Begin without a server. trust_prepare() does it, too. */
void trust_begin(struct trust *trust);

/* Make the channel to msp-cable, unless there is one: a later policy may need it. 0 or -errno. */
int trust_connect(struct trust *trust);

/*
 * Prepare what a plan needs, which is then one with the paths of this start: the certificates, and
 * a server with its secrets for each profile, or for `needed` alone ("": the default one; NULL:
 * all). Without such a profile nothing is done. A profile whose secrets cannot be read has no
 * certificates, so that its sandboxes are refused. Servers of earlier plans get their secrets anew.
 * 0; or -1 with a line in `text` when nothing can
 * be made, or `needed` is such a profile.
 */
int trust_prepare(struct trust *trust, const struct images *images, struct config *config,
		  const char *needed, char text[CONFIG_TEXT_MAX]);

/* Begin all servers anew, for another msp-cable, which gets trust->cable. */
void trust_restart(struct trust *trust);

/* The channel of a server has ended: begin another, unless it ended at once. */
void trust_ended(struct trust *trust, uint32_t server);

/* Remove the directory: all sandboxes have ended. */
void trust_done(struct trust *trust);

#endif
