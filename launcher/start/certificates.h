/* SPDX-License-Identifier: Apache-2.0
 *
 * The certificates of one start: an authority of its own, whose key is in memory alone, and a
 * directory for sandboxes with the host's certificates and the authority's.
 */
#ifndef LAUNCHER_START_CERTIFICATES_H
#define LAUNCHER_START_CERTIFICATES_H

#include "common/limits.h"
#include "launcher/start/config.h"

struct certificates {
	int authority; /* key and certificate in PEM, sealed */
	int roots; /* the host's certificates in PEM, sealed: SSL_CERT_FILE's, or the system's */
	int directory; /* locked for as long as it is used */
	char path[IPC_PATH_MAX];
};

/* Make them, with msp-http from its image. A directory that its start has left behind is removed.
 * 0; or -1 with a line in `text` and nothing left. */
int certificates_make(int http, struct certificates *ret, char text[CONFIG_TEXT_MAX]);

/* Remove the directory, and close all. */
void certificates_remove(struct certificates *certificates);

#endif
