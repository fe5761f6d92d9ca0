/* SPDX-License-Identifier: Apache-2.0
 *
 * A profile with its values parsed, after inheritance: the plan gets them and `msp-policy show`
 * prints them. All texts belong to the sources of the profile, which must live as long as it does.
 */
#ifndef POLICY_READ_PROFILE_H
#define POLICY_READ_PROFILE_H

#include "common/limits.h"
#include "common/plan/plan.h"
#include "gateway/hosts/address.h"
#include "gateway/hosts/pattern.h"
#include "policy/read/keys.h"
#include "policy/read/seccomp_groups.h"
#include "policy/read/source.h"

#include <stdbool.h>
#include <stdint.h>

/* Entries of `files`, with the directories that they imply. A plan has room for the launcher's,
 * too. */
#define PROFILE_MOUNTS_MAX 128U
/* With kept binds, and a layer for each. */
#define PROFILE_MOUNTS_ROOM (PROFILE_MOUNTS_MAX + 2 * BINDS_MAX)
#define PROFILE_ENVIRONMENT_MAX 64U
#define PROFILE_HELD_MAX 64U

enum profile_network {
	NETWORK_UNSAID = 0,
	NETWORK_NONE,     /* no TCP at all: Landlock handles it and allows no port */
	NETWORK_LOOPBACK, /* only the network namespace, which has just loopback, confines */
	NETWORK_HOSTS,    /* as LOOPBACK, with a way to the profile's hosts */
	NETWORK_COUNT
};

/* Rights to a file or directory of the host. */
enum mount_access {
	MOUNT_READ = 0,
	MOUNT_COPY, /* copy-on-write */
	MOUNT_WRITE,
	MOUNT_ACCESS_COUNT
};

/* An entry like struct plan_mount, with texts. */
struct profile_mount {
	uint32_t kind;
	uint32_t phase;
	uint32_t flags;
	uint32_t mode;
	const char *source;
	const char *target;
	const char *place; /* the place; NULL: changes do not persist */
	uint64_t size_bytes;
	uint64_t inodes;
	uint64_t device;
	enum mount_access access;
	bool is_optional;
	bool is_noexec;
	bool is_writable; /* a bind that can change the host's files */
	struct origin origin;
	bool is_implied;   /* a parent or mount point that the file omits */
	bool is_builtin;   /* an entry of a built-in profile */
	bool is_toolchain; /* an entry of `toolchain` */
	bool is_system;    /* a bind that `system: writable` makes an overlay, with a frame */
};

struct profile_rule {
	const char *path;
	uint64_t rights;
	struct strings words;
	bool is_implied; /* it follows from the image's root; `path` is in rule_paths */
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

/* A host and a port as in struct plan_host. */
struct profile_host {
	char pattern[HOST_PATTERN_MAX_SIZE];
	uint16_t port;
	uint8_t kind;
	bool has_kind; /* the entry says it */
	bool is_private;
	struct host_address to; /* an address of this machine that is dialled for the name */
	uint16_t to_port;       /* 0: there is none */
	const char *to_said;    /* both, as the file has them */
	bool is_registry;       /* the user's own */
	struct origin origin;
};

/* A request rule, which becomes a struct plan_request for each of its hosts' entries. */
struct profile_request {
	uint8_t hosts[PLAN_HOSTS_MAX / 8]; /* bits, as in struct plan_secret */
	uint32_t methods;
	char host[HOST_PATTERN_MAX_SIZE];
	char path[sizeof(((struct plan_request *)NULL)->path)];
	struct origin origin;
};

/* A secret as in struct plan_secret. */
struct profile_secret {
	uint8_t hosts[PLAN_HOSTS_MAX / 8]; /* bits, as in struct plan_secret */
	const char *name;
	const char *header;
	struct strings wanted; /* its hosts */
	struct strings source;
	enum plan_secret_source source_kind;
	bool is_cleartext; /* it may go to a host of kind http */
	bool is_optional;
	struct origin origin;
};

/* The origins of those values of a profile that have no records of their own. */
struct profile_origins {
	struct origin keys[KEY_COUNT]; /* the profile's or its parents'; no file: none says it */
	struct origin held[PROFILE_HELD_MAX];
	struct origin environment[PROFILE_ENVIRONMENT_MAX];
	struct origin groups[SECCOMP_GROUPS_MAX]; /* indexed as in struct plan_profile */
	struct origin refused[SECCOMP_CALLS_MAX]; /* one for each seccomp.refused */
};

struct profile {
	const char *name;
	const struct profile *parent; /* the extended profile; NULL: none */
	const char *description;
	const char *image;               /* a name or a digest, or IMAGE_AWAITED; NULL: none */
	const struct images_entry *tree; /* the image, once it is found; NULL: none */
	char *missing;                   /* the reason why there is no such image; NULL */
	const char *hostname;
	const char *cwd;
	bool is_root_writable;
	bool is_system_writable; /* without an image: above the host's programs */
	bool is_user_root;
	bool is_cwd_of_image;  /* no key says it */
	uint32_t memory_share; /* percent of this machine's that `memory` is at most; 0: not said */
	enum profile_network network;
	struct strings runner; /* before every command; none: no words */
	struct strings shell;
	struct seccomp_policy seccomp;
	struct profile_origins origins;
	struct plan_profile numbers; /* limits, requirements, Landlock, `lasting`, `host_approval`,
				      * `through`, `user`; its offsets stay 0 */
	uint32_t environment_count, mount_count, rule_count, language_count, owned_count,
		held_count, host_count, request_count, secret_count;
	uint32_t host_groups; /* that `hosts` has, as bits: the index in host_groups[] */
	const struct registries *registries;           /* the user's; NULL: none */
	bool is_own_variable[PROFILE_ENVIRONMENT_MAX]; /* the operator says it */
	const char *environment[PROFILE_ENVIRONMENT_MAX];
	struct profile_mount mounts[PROFILE_MOUNTS_ROOM];
	struct profile_rule rules[PLAN_RULES_MAX];
	struct profile_language languages[PLAN_LANGUAGES_MAX];
	struct profile_host hosts[PLAN_HOSTS_MAX];
	struct profile_request requests[PLAN_REQUESTS_MAX];
	struct profile_secret secrets[PLAN_SECRETS_MAX];
	char *held[PROFILE_HELD_MAX];    /* patterns, with those of the parents */
	char *owned[PROFILE_MOUNTS_MAX]; /* paths of implied directories; the name of a copy */
	uint32_t owned_rules;
	char *rule_paths[PLAN_RULES_MAX]; /* paths of implied rules */
};

struct images;
struct images_entry;
struct registries;

/* The entry of a profile in `profiles` of a file. */
struct profile_place {
	const struct source *source;
	uint32_t index;
	bool is_builtin;                     /* the file is built-in */
	struct images *images;               /* shared by all profiles; NULL: none */
	const char *home;                    /* the directory of ~/; NULL: it is not known */
	const struct registries *registries; /* the user's; NULL: none is used */
	uint64_t machine_bytes;              /* the machine's memory; 0: not known */
};

/* Check that a profile of the file can have its name. 0, or -1 with *error set. */
int profile_check_name(const struct profile_place *place, struct policy_error *error);

/*
 * Make a profile from its entry on top of `parent` (NULL: none), which must live as long, and check
 * that it is complete and consistent. Free it with profile_free(). NULL with *error set on a
 * mistake.
 */
struct profile *profile_new(const struct profile_place *place, const struct profile *parent,
			    struct policy_error *error);

/* Return whether each sandbox of the profile has a root of its own that can be written, on empty
 * layers instead of an image's. */
static inline bool profile_has_system(const struct profile *profile)
{
	return profile->image == NULL && profile->is_system_writable;
}

/* Return whether the profile has a place, so that its sandboxes can be persistent. */
bool profile_lasts(const struct profile *profile);

/* Return whether the profile has hosts that a request can take away. */
bool profile_has_hosts(const struct profile *profile);

/* Make a copy of a profile, which must live as long. */
struct profile *profile_copy(const struct profile *profile);

/* Likewise without its hosts, and with PLAN_NARROWED in the name, before a suffix. */
struct profile *profile_narrow(const struct profile *profile);

/* Join three texts, in memory that goes with the profile. */
const char *profile_own(struct profile *profile, const char *before, const char *text,
			const char *after);

/* Free the profile and return NULL. */
struct profile *profile_free(struct profile *profile);

/* Return the rights of Landlock that a word means; 0: it is not known. */
uint64_t profile_right(const char *word);

/* Return a right's name: "list", "read", ...; NULL behind the last. */
const char *profile_right_name(uint32_t index);

/* Return a mount's kind in the word of a file: "bind", "tmpfs", ... */
const char *profile_mount_kind_name(uint32_t kind);

#endif
