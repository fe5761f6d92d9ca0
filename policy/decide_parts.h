/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of decide share.
 */
#ifndef POLICY_DECIDE_PARTS_H
#define POLICY_DECIDE_PARTS_H

#include "policy/decide.h"

#include <stdbool.h>

#define PLACE_PATH_MAX 4096U

/* Where a path of the sandbox leads. */
enum place_state {
	PLACE_THERE = 0,     /* to what a record makes, or to the root */
	PLACE_INSIDE,        /* into a mount, of whose contents the plan knows nothing */
	PLACE_ABSENT,        /* its directory is there and has no such name */
	PLACE_LOST,          /* not even its directory is there */
	PLACE_NOT_DIRECTORY, /* something on the way is a file */
	PLACE_CLOSED,        /* a directory on the way has a mode that lets nobody through */
	PLACE_LOOP,          /* too many links */
};

struct place {
	enum place_state state;
	bool is_optional;                   /* a record on the way depends on the host */
	const struct plan_mount *cover;     /* the innermost mount; NULL: the read-only base */
	const struct plan_mount *parent;    /* the same of its directory */
	const struct plan_mount *record;    /* that made exactly this; NULL: none, or the root */
	const struct plan_mount *directory; /* that made its directory; NULL: none, or the root */
	char path[PLACE_PATH_MAX];          /* canonical, as far as the plan knows */
};

struct question {
	const struct plan *plan;
	const struct plan_profile *profile;
	const struct operation *operation;
	struct decision *ret;
};

/* Follow a path through the plan's mounts and links; `follow`: the last name's link, too. */
void place_find(const struct plan *plan, const struct plan_profile *profile, const char *path,
		bool follow, struct place *ret);

/* Landlock's rights at a canonical path: of all rules on the way to the root. *ret_nearest is the
 * innermost of them, NULL: there is none. */
uint64_t place_rights(const struct plan *plan, const struct plan_profile *profile, const char *path,
		      const struct plan_rule **ret_nearest);

/* "read, write" of rights; words as profiles say them. */
#define RIGHTS_TEXT_MAX 64U
void rights_print(uint64_t rights, char text[RIGHTS_TEXT_MAX]);

/* The kind as profiles say it. */
const char *mount_kind_name(const struct plan_mount *mount);

/* Does it hold files of the host's? */
bool mount_is_host(const struct plan_mount *mount);

void decide_file(const struct question *question);
void decide_network(const struct question *question);
void decide_call(const struct question *question);

/* Is the call refused whatever its arguments are? Then that is the decision. */
bool decide_refused_call(const struct question *question, const char *name);

/* The last words of a question. */
void decision_allow(struct decision *ret, const char *layer);
void decision_refuse(struct decision *ret, const char *layer, int error);

#define PRINTF_LIKE(at, first) __attribute__((format(printf, at, first)))

/* A text in `size` bytes; one that does not fit ends in "...". */
void decision_write(char *to, size_t size, const char *format, ...) PRINTF_LIKE(3, 4);

#define DECISION_SAY(field, ...) decision_write(field, sizeof(field), __VA_ARGS__)

#endif
