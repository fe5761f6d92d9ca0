/* SPDX-License-Identifier: Apache-2.0
 *
 * A record of the audit log before it is text: its event and fields, as a supervisor names them
 * and msp-audit takes them.
 */
#ifndef COMMON_IPC_AUDIT_RECORD_H
#define COMMON_IPC_AUDIT_RECORD_H

#include "common/records/audit.h"

struct ipc_audit_record;

enum audit_key {
	AUDIT_KEY_NONE,
#define AUDIT_KEY(name) AUDIT_KEY_##name,
#include "common/records/audit_key.def"
#undef AUDIT_KEY
	AUDIT_KEY_COUNT
};

enum audit_kind {
	AUDIT_KIND_NUMBER = 1,
	AUDIT_KIND_TEXT,
	AUDIT_KIND_SHA256,
	AUDIT_KIND_COMMAND,
	AUDIT_KIND_COUNT
};

/* One field. Nothing that a client or a workload wrote may be a text: its arguments are a command,
 * whose line has each byte. */
struct audit_field {
	enum audit_key key; /* AUDIT_KEY_NONE: the field is left out */
	enum audit_kind kind;
	uint64_t number;   /* the bytes' size, but of a text */
	const void *bytes; /* a text, SHA256_BYTES of a hash, or arguments with a NUL after each */
};

#define AUDIT_NUMBER(key_, number_)                                                                \
	(struct audit_field)                                                                       \
	{                                                                                          \
		.key = AUDIT_KEY_##key_, .kind = AUDIT_KIND_NUMBER, .number = (number_)            \
	}
#define AUDIT_TEXT(key_, text_)                                                                    \
	(struct audit_field)                                                                       \
	{                                                                                          \
		.key = AUDIT_KEY_##key_, .kind = AUDIT_KIND_TEXT, .bytes = (text_)                 \
	}
#define AUDIT_SHA256(key_, hash_)                                                                  \
	(struct audit_field)                                                                       \
	{                                                                                          \
		.key = AUDIT_KEY_##key_, .kind = AUDIT_KIND_SHA256, .number = SHA256_BYTES,        \
		.bytes = (hash_)                                                                   \
	}
#define AUDIT_COMMAND(key_, argv_, size_)                                                          \
	(struct audit_field)                                                                       \
	{                                                                                          \
		.key = AUDIT_KEY_##key_, .kind = AUDIT_KIND_COMMAND, .number = (size_),            \
		.bytes = (argv_)                                                                   \
	}

/* Return the name of a key. Static storage. */
const char *audit_key_name(enum audit_key key);

/* Make the event and fields of `ret`; its number, wait and count of lost records become 0. Of a
 * text longer than IPC_AUDIT_TEXT_MAX, and a command longer than IPC_AUDIT_COMMAND_MAX, the rest is
 * left out. At most IPC_AUDIT_FIELDS_MAX fields with a key, and IPC_AUDIT_TEXTS_MAX bytes: more end
 * the process. */
void audit_record_make(struct ipc_audit_record *ret, enum audit_event event,
		       const struct audit_field *fields, size_t count);

/* Return whether a record that came over a channel is one that audit_record_make() can make, and
 * that fits into a line. */
bool audit_record_is_right(const struct ipc_audit_record *record);

#endif
