/* SPDX-License-Identifier: Apache-2.0
 *
 * A record of the audit log as text.
 */
#ifndef SUPERVISOR_AUDIT_LINE_H
#define SUPERVISOR_AUDIT_LINE_H

#include "common/audit.h"

/* One field of a record: a text, a SHA-256, or else a number. Nothing that a client or a workload
 * wrote may be a text. */
struct audit_field {
	const char *key;
	const char *text;
	const uint8_t *hash;
	uint64_t number;
};

#define AUDIT_NUMBER(key_, number_)                                                                \
	(struct audit_field)                                                                       \
	{                                                                                          \
		.key = (key_), .number = (number_)                                                 \
	}
#define AUDIT_TEXT(key_, text_)                                                                    \
	(struct audit_field)                                                                       \
	{                                                                                          \
		.key = (key_), .text = (text_)                                                     \
	}
#define AUDIT_SHA256(key_, hash_)                                                                  \
	(struct audit_field)                                                                       \
	{                                                                                          \
		.key = (key_), .hash = (hash_)                                                     \
	}

/* Longest text of a field; of a longer one the rest is left out. */
#define AUDIT_FIELD_TEXT_MAX 200
#define AUDIT_FIELDS_MAX 16

/* The fields of every record. */
struct audit_stamp {
	uint64_t seq;
	uint64_t time_us;
	uint32_t pid;
	enum audit_event event;
};

struct audit_line {
	size_t used;
	char bytes[AUDIT_LINE_MAX];
};

/* Write a record that follows the one with the hash `previous`; its own hash goes to `ret_hash`.
 * At most AUDIT_FIELDS_MAX fields. */
void audit_line_write(struct audit_line *line, const struct audit_stamp *stamp,
		      const struct audit_field *fields, size_t count,
		      const char previous[AUDIT_HASH_MAX], char ret_hash[AUDIT_HASH_MAX]);

#endif
