/* SPDX-License-Identifier: Apache-2.0
 *
 * The audit log as it lies on disk, for the supervisor that writes it and the msp that reads it.
 *
 * A record is one line, a flat JSON object of numbers and strings:
 *
 *   {"seq":7,"time_us":1,"pid":2,"event":"stop",...,"previous":"HEX64","hash":"HEX64"}
 *
 * `hash` is the SHA-256 of the line up to and without `,"hash":`, `previous` the hash of the record
 * before it, 64 zeros in the first one of all. audit.jsonl is written to; audit.1.jsonl is the file
 * before it, and so on. The chain goes through all of them.
 *
 * `head` says where the log ended when it was last written. Whoever writes holds its lock.
 */
#ifndef COMMON_RECORDS_AUDIT_H
#define COMMON_RECORDS_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/sha256.h"

#define AUDIT_HEAD "head"
#define AUDIT_HEAD_BYTES 131

/* A file that would grow beyond it becomes the one before, and as many of those are kept. */
#define AUDIT_FILE_BYTES (8 * 1024 * 1024)
#define AUDIT_KEPT 8

/* Longest record with its newline. */
#define AUDIT_LINE_MAX 4096

#define AUDIT_NAME_MAX 24
#define AUDIT_HASH_MAX SHA256_TEXT_MAX

enum audit_event {
#define AUDIT(name, text) AUDIT_##name,
#include "common/records/audit.def"
#undef AUDIT
	AUDIT_EVENT_COUNT
};

/* How an event is called in its records. Static storage. */
const char *audit_event_name(enum audit_event event);

/* The last record of a chain, and where it ends in its file. Before the first one: all 0. */
struct audit_head {
	uint64_t seq;
	uint64_t size;
	char hash[AUDIT_HASH_MAX];
};

/* A chain without a record. */
struct audit_head audit_head_none(void);

/* To and from the content of the file `head`. False when it is none. */
void audit_head_write(const struct audit_head *head, char ret[AUDIT_HEAD_BYTES]);
bool audit_head_read(const char text[AUDIT_HEAD_BYTES], struct audit_head *ret);

/* The file's name: number 0 is the one that is written to, higher ones are older. */
void audit_file_name(unsigned int number, char ret[AUDIT_NAME_MAX]);

/* SHA-256 as text: of these bytes, and one that is known. */
void audit_hash(const void *data, size_t size, char ret[AUDIT_HASH_MAX]);

/* How each record ends: this, a hash and a quote, the next, a hash, and the last. */
#define AUDIT_PREVIOUS ",\"previous\":\""
#define AUDIT_HASH ",\"hash\":\""
#define AUDIT_END "\"}\n"

/* A record as a link of the chain. */
struct audit_link {
	uint64_t seq;
	char previous[AUDIT_HASH_MAX];
	char hash[AUDIT_HASH_MAX];
	bool is_intact; /* the hash is that of the line */
};

/* Read a line, with its newline; false when it has not the form of a record. */
bool audit_link_read(const char *line, size_t size, struct audit_link *ret);

/* Can these `size` bytes without a newline be the beginning of record `seq`? */
bool audit_is_torn(const char *bytes, size_t size, uint64_t seq);

#endif
