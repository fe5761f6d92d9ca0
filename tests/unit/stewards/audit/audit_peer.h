/* SPDX-License-Identifier: Apache-2.0
 *
 * The work of msp-audit in a child of the test, without its confinement.
 */
#ifndef UNIT_AUDIT_AUDIT_PEER_H
#define UNIT_AUDIT_AUDIT_PEER_H

#include <sys/types.h>

#include "common/ipc/audit_record.h"

struct audit_peer {
	pid_t pid;
	int channel; /* the supervisor's end */
};

/* Start one with the log in `folder`. The end that it returns is the caller's to close. */
struct audit_peer audit_peer_start(const char *folder);

/* Send the first message. A supervisor does that itself. */
void audit_peer_hello(const struct audit_peer *peer, const char *folder);

/* Wait until it has taken and written everything that was sent. */
void audit_peer_settle(const struct audit_peer *peer);

/* Wait for its end; its exit status, 128 for a signal. */
int audit_peer_end(struct audit_peer *peer);

/* Count the places where `text` is in the log, in all of its files. */
size_t audit_peer_count(const char *folder, const char *text);

/* Remove the log's files and its folder. */
void audit_peer_clear(const char *folder);

#endif
