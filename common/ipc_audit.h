/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages between a supervisor and the msp-audit that writes its records.
 */
#ifndef COMMON_IPC_AUDIT_H
#define COMMON_IPC_AUDIT_H

#include <stdint.h>

#include "common/limits.h"

/* The first message, before the supervisor has heard anybody but its launcher. */
struct ipc_audit_start {
	uint8_t schema[IPC_SCHEMA_BYTES];
	uint32_t pid;            /* the supervisor's, for its records */
	char path[IPC_PATH_MAX]; /* the directory's, for messages */
};

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
struct ipc_audit_record {
	uint64_t number;  /* that audit_written answers with; 0: no answer is wanted, and the record
			   * is kept until it can be written */
	uint64_t lost;    /* how many records the supervisor could not send before it */
	uint32_t wait_ms; /* longest wait for the log's lock, if the record has a number */
	uint32_t cpu;     /* to run on: where the supervisor waits, waking is fastest */
	uint32_t event;   /* enum audit_event */
	uint32_t field_count;
	uint32_t texts_size;
	uint32_t reserved;
	struct ipc_audit_field fields[IPC_AUDIT_FIELDS_MAX];
	uint8_t texts[IPC_AUDIT_TEXTS_MAX];
};

/* A record with a number was written, or will not be. */
struct ipc_audit_written {
	uint64_t number;
	uint32_t error; /* errno; 0: it was written. ETIMEDOUT: another process keeps the lock */
};

#endif
