/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/read/keys.h"

#include "common/ipc/workspace_mode.h"
#include "common/limits.h"
#include "policy/read/agents.h"
#include "policy/read/policy.h"

#include <string.h>

/* The Landlock ABIs that policy can ask for: 1 has no right to move a file to another directory,
 * which msp's own processes need; 7 is the newest that msp makes use of. */
#define LANDLOCK_ABI_LEAST 2
#define LANDLOCK_ABI_MOST 7

/* The most disk that the largest number of sandboxes can use together. */
#define DISK_MOST (1024 * VALUE_T)

/* clang-format off: the types of keys.def */
#define TEXT .type = TYPE_TEXT
#define WORDS(count, ...)                                                                          \
	.type = TYPE_WORD, .most = (count), .words = (const char *const[count])                    \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define FLAG WORDS(2, "false", "true"), .expected = "true or false"
#define RANGE(kind, lowest, highest, example)                                                      \
	.type = (kind), .least = (lowest), .most = (highest), .expected = (example)
#define SIZE(least, most) RANGE(TYPE_SIZE, least, most, "a size such as 64M or 2G")
#define AMOUNT(least, most) RANGE(TYPE_SIZE, least, most, "an amount such as 500, 64K or 1M")
#define DURATION(least, most) RANGE(TYPE_DURATION, least, most, "a time such as 500ms, 60s or 10m")
#define WALL(least, most) RANGE(TYPE_WALL, least, most, "a time such as 30m or 8h, or none")
#define SECONDS(least, most)                                                                       \
	RANGE(TYPE_SECONDS, least, most, "whole seconds such as 30s, or 0s for no limit")
#define SPAN(least, most) RANGE(TYPE_SECONDS, least, most, "a span such as 30s, 10m or 7d")
#define NUMBER(least, most) RANGE(TYPE_NUMBER, least, most, "a whole number")
#define ABI(least, most) RANGE(TYPE_NUMBER, least, most, "the least Landlock ABI, such as 6")
#define TEXTS(count) .type = TYPE_TEXTS, .most = (count)
#define ENTRIES(set, count) .type = TYPE_ENTRIES, .keys = SET_##set, .most = (count)
#define KEYS(set) .type = TYPE_KEYS, .keys = SET_##set
#define IN(type, field)                                                                            \
	.kept = offsetof(struct type, field), .kept_bytes = sizeof(((struct type *)NULL)->field)
#define IN_SETTINGS(field) IN(policy_settings, field)
#define IN_PROFILE(field) IN(profile, field)
#define IN_ENTRY(entry, field) IN(profile_##entry, field)
#define NEEDED .need = NEED_ALWAYS
#define NEEDED_FOR_HOSTS .need = NEED_FOR_HOSTS
#define NEEDED_TO_LAST .need = NEED_TO_LAST

const struct key key_table[KEY_COUNT] = {
#define KEY(set, key, ...) { .name = #key, .of = SET_##set, __VA_ARGS__ },
#include "policy/read/keys.def"
#undef KEY
};
/* clang-format on */

enum key_id key_find(enum key_set set, const char *name)
{
	enum key_id key = 0;

	while (key < KEY_COUNT &&
	       (key_table[key].of != set || strcmp(key_table[key].name, name) != 0))
		key++;
	return key;
}
