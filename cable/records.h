/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of connections that end, or are refused, in the audit log.
 */
#ifndef CABLE_RECORDS_H
#define CABLE_RECORDS_H

#include <stdint.h>

struct ipc_connection_end;
struct ipc_connection_refused;

/* Record the end of a connection, or what policy has refused, in the persistent sandbox with this
 * id (empty: in an ephemeral one). What cannot be recorded is counted in the next record. */
void records_end(const struct ipc_connection_end *end, const char *sandbox);
void records_refused(const struct ipc_connection_refused *refused, const char *sandbox);

#endif
