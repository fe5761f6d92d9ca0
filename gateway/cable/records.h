/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of connections that end, or are refused, in the audit log.
 */
#ifndef GATEWAY_CABLE_RECORDS_H
#define GATEWAY_CABLE_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

struct ipc_connection_end;
struct ipc_connection_refused;
struct ipc_network_grant;
struct party;

/* Record the end of a connection, or what policy has refused, in the persistent sandbox with this
 * id (empty: in an ephemeral one). What cannot be recorded is counted in the next record. */
void records_end(const struct ipc_connection_end *end, const char *sandbox);
void records_refused(const struct ipc_connection_refused *refused, const char *sandbox);

/* Record what a person or a client's user grants, or a person takes away. 0, or -errno: there will
 * be no record. */
int records_grant(const struct ipc_network_grant *grant, const struct party *to,
		  const char *sandbox, bool is_broker);

#endif
