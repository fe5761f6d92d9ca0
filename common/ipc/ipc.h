/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages between our processes: their types, their one encoder and their one decoder. They
 * are described by subject in ipc_*.h (ipc_message.h), in which a comment on a message says first
 * what descriptors go with it. A file includes the headers of the messages that it handles;
 * ipc_all.h has all.
 *
 * A struct never goes over the wire as memory: ipc_schema.c makes a list of each struct's fields
 * from its description, and the encoder and decoder walk that list. Wire format: u32 type, then the
 * fields in order, native byte order, no padding; strings and byte ranges carry a u32 length and no
 * terminator.
 *
 * Field rules (checked by the decoder, so that a handler need not): STR holds 1 to size-1 bytes
 * without NUL and arrives terminated; OPT may also be empty; BYTES holds 0 to size bytes, and its
 * field `x` has its length beside it in `x_size`.
 */
#ifndef COMMON_IPC_IPC_H
#define COMMON_IPC_IPC_H

#include <stddef.h>
#include <stdint.h>

#include "common/limits.h"

enum ipc_role {
	IPC_LAUNCHER = 1,
	IPC_FRONTEND,
	IPC_SUPERVISOR,
	IPC_FACTORY,
	IPC_INIT,
	IPC_LAYERS,
	IPC_AUDIT,
	IPC_STORE,
	IPC_GATEWAY, /* a program of the gateway, or all of them to the supervisor */
	IPC_EGRESS,
	IPC_DIAL,
	IPC_HTTP,
	IPC_BRIDGE,
	IPC_WORKLOAD, /* its first process, before it executes the workload's program */
};

enum ipc_phase {
	IPC_SETUP = 1,
	IPC_SERVE,
};

enum ipc_type {
	IPC_TYPE_NONE,
#define IPC(name, sender, receiver, phase, fds) IPC_TYPE_##name,
#include "common/ipc/ipc_messages.def"
#undef IPC
	IPC_TYPE_COUNT
};

/* Errors of the decoder and the channel. Closed set; never mixed with errno. */
enum ipc_error {
	IPC_OK,
	IPC_ERROR_TYPE,      /* unknown type */
	IPC_ERROR_SHORT,     /* ends before its fields do */
	IPC_ERROR_TRAILING,  /* bytes after the last field */
	IPC_ERROR_EMPTY,     /* a STR of length zero */
	IPC_ERROR_NUL,       /* a NUL inside a string */
	IPC_ERROR_TOO_LONG,  /* a length beyond the field's room */
	IPC_ERROR_DIRECTION, /* this sender or receiver may not */
	IPC_ERROR_PHASE,     /* not now */
	IPC_ERROR_FDS,       /* too many or too few descriptors, or of the wrong kind */
	IPC_ERROR_TRUNCATED, /* the kernel cut data or descriptors */
};

enum ipc_field_kind {
	IPC_FIELD_U32,
	IPC_FIELD_U64,
	IPC_FIELD_RAW, /* fixed size, copied */
	IPC_FIELD_STR, /* this and those below travel with their size */
	IPC_FIELD_OPT,
	IPC_FIELD_BYTES, /* its length is the u32 at size_offset */
};

struct ipc_field {
	uint32_t kind;
	uint32_t offset;
	uint32_t size;        /* room in the struct */
	uint32_t size_offset; /* BYTES: offset of its size field */
};

/* One row of ipc_messages.def with its struct's fields. */
struct ipc_message {
	const char *name;
	enum ipc_role sender;
	enum ipc_role receiver;
	enum ipc_phase phase;
	char fds[IPC_FDS_MAX + 1]; /* no pointer, which the loader would have to relocate */
	const struct ipc_field *fields;
	uint32_t field_count;
	uint32_t struct_size;
};

/* The row of a type; NULL for IPC_TYPE_NONE and beyond the table. */
const struct ipc_message *ipc_message(uint32_t type);

/* SHA-256 of the SCHEMA_FILES of CMakeLists.txt, computed by the build. */
extern const uint8_t ipc_schema_hash[IPC_SCHEMA_BYTES];

/*
 * Write the message `type` from its struct into `buffer`.
 * Sets *ret_size and returns IPC_OK, or returns what is wrong with the struct; then *ret_size is
 * untouched. `room` of IPC_MESSAGE_MAX is always enough.
 */
enum ipc_error ipc_encode(uint32_t type, const void *message, uint8_t *buffer, size_t room,
			  size_t *ret_size);

/* Make `message`, of ipc_message(type)->struct_size bytes, an empty one: everything in it is 0 but
 * what lies in the rooms of its sized fields, behind the size that each says. */
void ipc_clear(uint32_t type, void *message);

/*
 * Read one whole message into the struct of its type. `message` must hold
 * ipc_message(type)->struct_size bytes and is cleared first, as by ipc_clear(); pass the bytes that
 * it has as `room`; IPC_BODY_MAX are enough for any. On an error the struct's content is not to be
 * used.
 */
enum ipc_error ipc_decode(const uint8_t *buffer, size_t size, void *message, size_t room,
			  uint32_t *ret_type);

/* A short text for an error, for logs. Static storage. */
const char *ipc_error_text(enum ipc_error error);

#endif
