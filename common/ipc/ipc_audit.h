/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between a supervisor and the msp-audit that writes its records.
 */
#ifndef COMMON_IPC_IPC_AUDIT_H
#define COMMON_IPC_IPC_AUDIT_H

#include "common/ipc/ipc_message.h"

/* clang-format off */

/* The first message, before the supervisor has heard anybody but its launcher. */
IPC_MESSAGE(audit_start,
	(RAW, schema, IPC_SCHEMA_BYTES),
	(U32, pid),                 /* the supervisor's, for its records */
	(STR, path, IPC_PATH_MAX)); /* the directory's, for messages */

/* One field: a number, or a text, SHA-256 or command of `value` bytes, which lies in the record's
 * texts behind those of the fields before it. */
struct ipc_audit_field {
	uint32_t key;  /* enum audit_key */
	uint32_t kind; /* enum audit_kind */
	uint64_t value;
};

/* Longest command: as much as the history of a sandbox keeps. In the line of its record a byte of
 * it has up to IPC_AUDIT_ESCAPE_MAX. */
#define IPC_AUDIT_COMMAND_MAX 480
#define IPC_AUDIT_ESCAPE_MAX 6

#define IPC_AUDIT_ANY_CPU UINT32_MAX

/* Write a record. */
IPC_MESSAGE(audit_record,
	/* that audit_written answers with; 0: no answer is wanted, and the record is kept until it
	 * can be written */
	(U64, number),
	(U64, lost),    /* how many records the supervisor could not send before it */
	(U32, wait_ms), /* longest wait for the log's lock, if the record has a number */
	(U32, cpu),     /* to run on: where the supervisor waits, waking is fastest */
	(U32, event),   /* enum audit_event */
	(U32, field_count), (STRUCTS, fields, ipc_audit_field, IPC_AUDIT_FIELDS_MAX),
	(BYTES, texts, IPC_AUDIT_TEXTS_MAX), (U32, reserved));

/* A record with a number was written, or will not be. */
IPC_MESSAGE(audit_written,
	(U64, number),
	(U32, error)); /* errno; 0: it was written. ETIMEDOUT: another process keeps the lock */

/* clang-format on */

#endif
