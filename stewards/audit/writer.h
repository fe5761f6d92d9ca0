/* SPDX-License-Identifier: Apache-2.0
 *
 * The work of msp-audit: records come in, and are written in their order.
 *
 * A record with a number is one without which something must not happen: it is written or refused,
 * and its supervisor is told. A record without one tells what has happened: it waits until it can
 * be written, however long the lock is kept or the disk is full.
 */
#ifndef STEWARDS_AUDIT_WRITER_H
#define STEWARDS_AUDIT_WRITER_H

#include "common/ipc/channel.h"

/* Write the records of `channel`, in phase IPC_SERVE, until its peer has ended and nothing waits.
 * `path` is the log's directory, for messages. `open_error` is the error of audit_file_open():
 * then every record is refused. 0; -errno when the peer broke the protocol. */
int writer_run(const struct channel *channel, const char *path, int open_error);

#endif
