/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of connections in the audit log. They go to msp-audit over the supervisor's end of
 * its channel; the answers come to the supervisor, which passes them on.
 */
#ifndef CABLE_RECORDS_H
#define CABLE_RECORDS_H

#include <stdint.h>

struct ipc_connection_begin;
struct ipc_connection_end;
struct ipc_connection_refused;

/* Record that a connection will be dialled, in the persistent sandbox with this id (empty: in an
 * ephemeral one). The answer has the connection's number, with IPC_AUDIT_GATEWAY. 0, or -errno:
 * there will be no record. */
int records_begin(const struct ipc_connection_begin *begin, const char *sandbox);

/* Record the end of a connection, or what policy has refused. What cannot be recorded is counted in
 * the next record. */
void records_end(const struct ipc_connection_end *end, const char *sandbox);
void records_refused(const struct ipc_connection_refused *refused, const char *sandbox);

#endif
