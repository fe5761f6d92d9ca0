/* SPDX-License-Identifier: Apache-2.0
 *
 * A profile with its values understood, after inheritance: what goes into the plan and what
 * `msp-policy show` prints. All texts belong to the sources it was made from, which have to live
 * as long as it does.
 */
#ifndef POLICY_PROFILE_H
#define POLICY_PROFILE_H

#include "common/plan.h"
#include "policy/seccomp_groups.h"
#include "policy/source.h"

#include <stdbool.h>
#include <stdint.h>

#define PROFILE_ENVIRONMENT_MAX 64U
#define PROFILE_LIMITS_MAX 16U
#define PROFILE_LASTING 7U /* keys of `lasting` with one value */
#define PROFILE_HELD_MAX 64U

struct strings {
	char *const *items;
	uint32_t count;
};

enum profile_network {
	NETWORK_UNSAID = 0,
	NETWORK_NONE,     /* no TCP at all: Landlock handles it and allows no port */
	NETWORK_LOOPBACK, /* the network namespace, with nothing but loopback, is the wall */
};

/* As struct plan_mount, with texts. */
struct profile_mount {
	uint32_t kind;
	uint32_t phase;
	uint32_t flags;
	uint32_t mode;
	const char *source;
	const char *target;
	const char *place; /* NULL: what is written there does not last */
	uint64_t size_bytes;
	uint64_t inodes;
	uint64_t device;
	bool is_noexec;
	bool is_writable; /* a bind through which the host's files are changed */
	struct origin origin;
	bool is_implied; /* a parent or mount point that the file did not have to mention */
};

struct profile_rule {
	const char *path;
	uint64_t rights;
	struct strings words;
	struct origin origin;
};

struct profile_language {
	const char *name;
	const char *program;
	const char *file;
	struct strings aliases;
	struct strings run;
	bool ahead;
	struct origin origin;
};

/* Where the values of a profile that have no records of their own were said. */
struct profile_origins {
	struct origin name, extends, description, hostname, cwd, shell, network, refuse;
	struct origin landlock_abi, limits_mode;
	struct origin limits[PROFILE_LIMITS_MAX]; /* in the order of the table in limits.c */
	struct origin lasting[PROFILE_LASTING];   /* numbers first, as lasting.c has them */
	struct origin held[PROFILE_HELD_MAX];
	struct origin environment[PROFILE_ENVIRONMENT_MAX];
	struct origin groups[SECCOMP_GROUPS_MAX]; /* as struct plan_profile has them */
	struct origin refused[SECCOMP_CALLS_MAX]; /* of seccomp.refused, one for each */
};

struct profile {
	const char *name;
	const struct profile *parent; /* what it extends; NULL: nothing */
	const char *description;
	const char *hostname;
	const char *cwd;
	enum profile_network network;
	struct strings shell;
	struct seccomp_policy seccomp;
	struct profile_origins origins;
	struct plan_profile numbers; /* limits, requirements, Landlock, what lasts; its offsets stay
				      * 0 */
	uint32_t said;               /* which limits and requirements have been given */
	uint32_t said_lasting;       /* which keys of `lasting` */
	uint32_t environment_count, mount_count, rule_count, language_count, owned_count,
		held_count;
	const char *environment[PROFILE_ENVIRONMENT_MAX];
	struct profile_mount mounts[PLAN_MOUNTS_MAX];
	struct profile_rule rules[PLAN_RULES_MAX];
	struct profile_language languages[PLAN_LANGUAGES_MAX];
	const char *held[PROFILE_HELD_MAX]; /* patterns, with those of the parents */
	char *owned[PLAN_MOUNTS_MAX];       /* paths of implied directories */
};

/* Where a profile is said: an entry of `profiles` in a file. */
struct profile_place {
	const struct source *source;
	uint32_t index;
	bool is_builtin; /* the file is one of the program's own */
};

/* Is the name one that a profile of that file can have? 0, or -1 with *error set. */
int profile_check_name(const struct profile_place *place, struct policy_error *error);

/*
 * Make a profile of what is said there on top of `parent` (NULL: nothing), which has to live as
 * long, and check that it is complete and that its parts fit together. NULL and *error set on a
 * mistake. The caller's.
 */
struct profile *profile_new(const struct profile_place *place, const struct profile *parent,
			    struct policy_error *error);

/* Do its sandboxes keep anything? */
bool profile_lasts(const struct profile *profile);

/* Accept limits without cgroups, because `origin` says so of all profiles. */
void profile_accept_fallback(struct profile *profile, const struct origin *origin);

/* Frees it and returns NULL. */
struct profile *profile_free(struct profile *profile);

/* "list", "read", ...; NULL behind the last. */
const char *profile_right_name(uint32_t index);

/* As a file says it: "bind", "tmpfs", ... */
const char *profile_mount_kind_name(uint32_t kind);

#endif
