/* SPDX-License-Identifier: Apache-2.0
 *
 * Types and functions that the files of decide share.
 */
#ifndef POLICY_DECIDE_DECIDE_PARTS_H
#define POLICY_DECIDE_DECIDE_PARTS_H

#include "gateway/hosts/list.h"
#include "policy/decide/decide.h"

#include <stdbool.h>

#define PLACE_PATH_MAX 4096U

/* The result of following a path of the sandbox. */
enum place_state {
	PLACE_THERE = 0,     /* a record makes it, or it is the root */
	PLACE_INSIDE,        /* it is in a mount whose contents the plan does not know */
	PLACE_ABSENT,        /* its directory exists and has no such name */
	PLACE_LOST,          /* its directory does not exist */
	PLACE_NOT_DIRECTORY, /* a file is on the way */
	PLACE_CLOSED,        /* the mode of a directory on the way refuses everybody */
	PLACE_LOOP,          /* too many links */
};

struct place {
	enum place_state state;
	bool is_optional;                   /* a record on the way depends on the host */
	const struct plan_mount *cover;     /* the innermost mount; NULL: the read-only base */
	const struct plan_mount *parent;    /* the innermost mount of its directory */
	const struct plan_mount *record;    /* the record that made it; NULL: none, or the root */
	const struct plan_mount *directory; /* the record of its directory; NULL: none, or root */
	char path[PLACE_PATH_MAX];          /* canonical, as far as the plan knows */
};

struct question {
	const struct plan *plan;
	const struct plan_profile *profile;
	const struct operation *operation;
	struct decision *ret;
	struct host_wanted wanted; /* the target, of an operation on a host; else of no meaning */
};

/* Follow a path through the plan's mounts and links; `follow`: the last name's link, too. */
void place_find(const struct question *question, const char *path, bool follow, struct place *ret);

/* Return Landlock's rights at a canonical path, from all rules between it and the root.
 * *ret_nearest is the innermost rule; NULL: there is none. */
uint64_t place_rights(const struct question *question, const char *path,
		      const struct plan_rule **ret_nearest);

/* Print rights in the words of profiles: "read, write". */
#define RIGHTS_TEXT_MAX 64U
void rights_print(uint64_t rights, char text[RIGHTS_TEXT_MAX]);

/* Return the mount's kind in the word of profiles. */
const char *mount_kind_name(const struct plan_mount *mount);

/* Return whether the mount shows files of the host. */
bool mount_is_host(const struct plan_mount *mount);

void decide_file(const struct question *question);
void decide_network(const struct question *question);
void decide_name(const struct question *question);

/* Decide a connection to a host outside of the sandbox, in a profile with `network: hosts`. */
void decide_host(const struct question *question);

/* Say as the remedy what lets a profile reach the host: its entry in `hosts`, with other keys
 * before and after it; or why nothing does. */
void decide_advise_host(const struct question *question, const char *before, const char *after);

/* Decide a question for a host's name or address, in a profile with `network: hosts`. */
void decide_host_name(const struct question *question);

/* Find the entry of the profile that covers the host and port of the question, or NULL. */
const struct plan_host *decide_find_host(const struct question *question);

/* Cite the entry of a host (NULL: the list). */
void decide_cite_host(const struct question *question, const struct plan_host *host);

void decide_request(const struct question *question);
void decide_use(const struct question *question);

void decide_call(const struct question *question);

/* Refuse the question if the call is refused for any arguments. Return whether it is. */
bool decide_refused_call(const struct question *question, const char *name);

/* Return whether an entry of a profile can show the path of the host; `found`: the canonical path,
 * as far as the plan knows, which differs if a link is on the way. */
bool decide_can_be_shown(const char *path, const char *found);

/* Return whether an entry of a profile can make the path of the host writable. */
bool decide_can_be_written(const char *path);

/* The beginning of a remedy that is a change of the operator's. */
#define OPERATORS "in the operator's profile, "

/* Set the answer, and the layer that decides it. */
void decision_allow(struct decision *ret, const char *layer);
void decision_refuse(struct decision *ret, const char *layer, int error);

#define PRINTF_LIKE(at, first) __attribute__((format(printf, at, first)))

/* Print a text into `size` bytes; if it does not fit, it ends in "...". */
void decision_write(char *to, size_t size, const char *format, ...) PRINTF_LIKE(3, 4);

#define DECISION_SAY(field, ...) decision_write(field, sizeof(field), __VA_ARGS__)

#endif
