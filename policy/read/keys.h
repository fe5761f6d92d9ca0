/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of keys: the name of each, its shape, the values that it may have, and the field in
 * which its value is kept. Reading, messages and `show` follow it.
 */
#ifndef POLICY_READ_KEYS_H
#define POLICY_READ_KEYS_H

#include <stddef.h>
#include <stdint.h>

/* Keys that stand together. */
enum key_set {
	SET_file = 0,
	SET_audit,
	SET_sandboxes,
	SET_images,
	SET_machine, /* `requirements` of all profiles */
	SET_agents,  /* an entry */
	SET_agent_keys,
	SET_agent_login,
	SET_agent_files,
	SET_profile,
	SET_hosts, /* an entry, as in the next three */
	SET_secrets,
	SET_files,
	SET_landlock,
	SET_seccomp,
	SET_limits,
	SET_requirements,
	SET_lasting,
	SET_languages, /* an entry */
};

enum key_id {
#define KEY(set, name, ...) KEY_##set##_##name,
#include "policy/read/keys.def"
#undef KEY
	KEY_COUNT
};

enum key_type {
	TYPE_TEXT = 0,
	TYPE_WORD, /* one of a closed set */
	TYPE_SIZE,
	TYPE_DURATION,
	TYPE_WALL,    /* likewise, or `none`: PLAN_WALL_NONE */
	TYPE_SECONDS, /* written as a duration, kept in whole seconds */
	TYPE_NUMBER,
	TYPE_TEXTS,   /* a list of texts */
	TYPE_ENTRIES, /* a list of sets of keys */
	TYPE_KEYS,
};

/* Profiles without a value that is kept. */
enum key_need {
	NEED_NEVER = 0,
	NEED_ALWAYS,
	NEED_FOR_HOSTS, /* a profile with hosts */
	NEED_TO_LAST,   /* a profile with a persistent mount */
};

struct key {
	const char *name;
	enum key_set of;
	enum key_type type;
	enum key_need need;
	enum key_set keys;        /* the keys within, of TYPE_KEYS and TYPE_ENTRIES; else 0, but for
				   * `audit` and `hosts` */
	uint64_t least, most;     /* the range of a number; a list has at most `most` entries */
	const char *const *words; /* by value, `most` places; NULL: that value has none */
	const char *expected;     /* the values, for messages; NULL: the words */
	size_t kept, kept_bytes;  /* the field; 0 bytes: the value is not kept as it is */
};

extern const struct key key_table[KEY_COUNT];

/* Find a key of a set by its name. KEY_COUNT: there is none. */
enum key_id key_find(enum key_set set, const char *name);

#define VALUE_K (1ULL << 10)
#define VALUE_M (1ULL << 20)
#define VALUE_G (1ULL << 30)
#define VALUE_T (1ULL << 40)
#define VALUE_DAY (24ULL * 60 * 60)

#endif
