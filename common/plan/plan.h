/* SPDX-License-Identifier: Apache-2.0
 *
 * The plan: policy as compiled by msp-policy, a sealed blob that the supervisor, the factory and
 * the inits map read-only. Fixed-size records and offsets from the blob's first byte; every array
 * is 8-byte aligned; a string is an offset to a NUL-terminated text; offset 0 means "none" (the
 * header is there, so no string can be). Its last byte is NUL, so every string ends inside it.
 * A record's parent directories have records before it, and so have the mount points of phase
 * SANDBOX.
 *
 * plan_open() checks all of it once; after that the accessors cannot fail.
 */
#ifndef COMMON_PLAN_PLAN_H
#define COMMON_PLAN_PLAN_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/limits.h"

#define PLAN_MAGIC 0x4e4c504dU /* "MPLN" */
#define PLAN_VERSION 17U
#define PLAN_SIZE_MAX (1U << 20)
#define PLAN_PROFILES_MAX 64U
#define PLAN_MOUNTS_MAX 256U
#define PLAN_LAYERS_MAX 127U
#define PLAN_RULES_MAX 64U
#define PLAN_LANGUAGES_MAX 48U
#define PLAN_RLIMITS_MAX 16U
#define PLAN_CALLS_MAX 512U
#define PLAN_GROUPS_MAX 64U
#define PLAN_HOSTS_MAX 256U
#define PLAN_REQUESTS_MAX 256U
#define PLAN_SECRETS_MAX 32U
#define PLAN_HASH_BYTES 32U

struct plan_header {
	uint32_t magic, version, size;
	uint32_t profile_count;
	uint32_t profiles; /* offset of struct plan_profile[] */
	uint32_t group_count;
	uint32_t groups; /* offset of struct plan_group[] */
	uint32_t call_count;
	uint32_t calls; /* offset of struct plan_call[], by number */

	/* Settings of the operator's file for all profiles. */
	uint32_t file;                  /* its name; 0: there is none */
	uint32_t missing, missing_size; /* profiles without their image: name and cause in turn */
	uint32_t default_profile;       /* the one that a request without a name means */
	uint32_t run_as;                /* the account that root changes to; 0: not said */
	uint32_t workspaces, workspaces_size; /* directories that may be shown; none: any */
	uint32_t protect, protect_size;       /* paths that must not be, beyond the usual */
	uint32_t unprotect, unprotect_size;   /* hidden files of a home that may be, too */
	uint32_t limits_fallback;             /* 1: LIMITS_FALLBACK is accepted */
	uint32_t audit_optional;              /* 1: what cannot be audited may run */
	uint32_t sandboxes_max;               /* that last, of the user; at most SANDBOXES_MAX */
	uint32_t audit_text;                  /* 1: the audit log has the words of commands */
	/* On disk: all of those sandboxes (of both, 0 is none), and the layers of all images. */
	uint64_t sandboxes_bytes, images_bytes;
};

/* The place in the operator's file; file 0: it follows from the program itself. */
struct plan_origin {
	uint32_t file; /* its name */
	uint32_t line;
};

/* A group of system calls that policy speaks of as one. */
enum plan_group_kind {
	PLAN_GROUP_ALLOWABLE = 0, /* a profile may allow it */
	PLAN_GROUP_NEVER,         /* EPERM in every profile */
	PLAN_GROUP_HIDDEN,        /* ENOSYS in every profile */
};

struct plan_group {
	uint32_t name;
	uint32_t kind;
	uint32_t reason;
	uint32_t reserved;
};

struct plan_call {
	uint32_t number;
	uint32_t name;
	uint32_t group;     /* index */
	uint32_t condition; /* refuses a part of an allowed call; 0: nothing */
	uint32_t argument;  /* the one that tells the condition's refusals apart, 0 to 5 */
};

/* Answers of a profile to a call; numbers of no call get ENOSYS. */
enum plan_answer {
	PLAN_ALLOWED = 0,
	PLAN_PRETENDED,   /* 0, and nothing is done */
	PLAN_CONDITIONAL, /* for the arguments that the call's condition leaves */
	PLAN_REFUSED,     /* EPERM: its group is not allowed */
	PLAN_TAKEN_OUT,   /* EPERM: its group is, but `refuse` names it */
	PLAN_HIDDEN,      /* ENOSYS; the last one */
};

/* Kinds of mounts that a record makes at `target` (absolute, inside the sandbox). */
enum plan_mount_kind {
	PLAN_DIRECTORY = 1, /* a directory with `mode` */
	PLAN_SYMLINK,       /* a symbolic link with the text `source` */
	PLAN_FILE,          /* a file with `mode` and the text `source` */
	PLAN_COPY,          /* a file with `mode` and what the host's regular file `source` holds */
	PLAN_BIND,          /* the host's file or directory `source` */
	PLAN_DEVICE,        /* the host's character device `source`; st_rdev must be `device` */
	PLAN_TMPFS, /* this and the next two: a new file system of type `source` with `options` */
	PLAN_PROC,
	PLAN_DEVPTS,
	PLAN_MASK,    /* /dev/null over a file, an empty directory over a directory */
	PLAN_OVERLAY, /* the host's directory `source` below a new tmpfs with `options`: what is
			 written goes there */
	PLAN_IMAGE,   /* the root, and the first record of a profile with an image: its layers. In
			 phase SANDBOX it can be written, to a new tmpfs with `options` */
	PLAN_MOUNT_KIND_COUNT,
};

enum plan_mount_phase {
	PLAN_PHASE_BASE = 0,    /* once per factory: the read-only tree all sandboxes start from */
	PLAN_PHASE_SANDBOX = 1, /* in each sandbox */
};

enum plan_mount_flag {
	PLAN_OPTIONAL = 1, /* leave out, without an error, what the host does not have */
	PLAN_PINNED = 2,   /* `source` is a path of the operator's: only what the launcher opened */
	PLAN_TRUST = 4,    /* likewise, the launcher's own directory of trusted certificates */
	PLAN_GIVEN = 8,    /* likewise, a path of the command's: --ro */
	PLAN_MACHINE =
		16, /* likewise, the directory of the virtual machine in the state directory */
	PLAN_PACKAGES = 32, /* likewise, the directory of the packages' configuration */
};

struct plan_mount {
	uint32_t kind;
	uint32_t phase;
	uint32_t flags;
	uint32_t mode;
	uint32_t source;
	uint32_t target;
	uint32_t options, options_size; /* key and value in turn, a NUL after each */
	uint64_t attributes;            /* MOUNT_ATTR_*, for the kinds that mount */
	uint64_t device;                /* as makedev(3) gives it */
	struct plan_origin origin;
	uint32_t place; /* name under which a persistent sandbox keeps what is written here, for
			 * TMPFS, BIND, OVERLAY, IMAGE and git's DIRECTORY; 0: it keeps nothing of
			 * it */
	uint32_t frame; /* path of an OVERLAY's tree of directories, which lies on `source` so that
			 * its directories are the user's; 0: there is none */
};

/* The place that the workspace of the host is shown at. */
#define PLAN_PLACE_WORKSPACE "workspace"

/* The place, a directory, that git's data outside of the workspace is shown at, if it is. */
#define PLAN_PLACE_GIT "git"

/* The source of a record with PLAN_PACKAGES until the launcher knows the directory. */
#define PLAN_PACKAGES_SOURCE "/@etc"

/* The file, beside the packages' files, of the paths whose change makes a kept plan old: a NUL
 * behind each. */
#define PLAN_PACKAGES_WATCHED "watched"

/* In each base tree and root: everybody may read it by its mode, and no rule of Landlock covers it
 * unless one covers the whole tree. */
#define PLAN_SEALED_FILE "/.sealed"

/* Room for the name of a place: a name of a directory in each layer, beside what else is there. */
#define PLAN_PLACE_MAX 32

/* Can this be the name of a place? */
bool plan_is_place(const char *name);

/* A Landlock path rule; a path that does not exist in the sandbox is left out. */
struct plan_rule {
	uint32_t path;
	uint32_t reserved;
	struct plan_origin origin;
	uint64_t rights; /* LANDLOCK_ACCESS_FS_* */
};

/* One way to run code of a language. The first record of a name whose program exists is used. */
struct plan_language {
	uint32_t name;
	uint32_t aliases, aliases_size; /* names with a NUL after each */
	uint32_t program;               /* absolute path that must exist in the sandbox */
	uint32_t host_program;          /* the host's file that is there; empty: none is */
	uint32_t file;                  /* absolute path where the code is put */
	uint32_t argv, argv_size;       /* arguments with a NUL after each; the caller's follow */
	uint32_t standby;               /* 1: in a persistent sandbox, one may wait for its code */
	uint32_t reserved;
};

/* The uid and gid that a workload sees itself with. The host knows the user's own alone. */
enum plan_user {
	PLAN_USER_ROOT = 0, /* without a capability all the same */
	PLAN_USER_AGENT = 1000,
};

/* A resource limit of every workload process, soft and hard. */
struct plan_rlimit {
	uint32_t resource; /* RLIMIT_* */
	uint32_t reserved;
	uint64_t value;
};

enum plan_network {
	PLAN_NETWORK_NONE = 1, /* no TCP at all: Landlock handles it and allows no port */
	PLAN_NETWORK_LOOPBACK, /* the network namespace, with nothing but loopback, is the wall */
	PLAN_NETWORK_HOSTS,    /* beside loopback, a way to the profile's hosts alone */
	PLAN_NETWORK_COUNT,
};

/* The beginning of a connection to a host. */
enum plan_host_kind {
	PLAN_HOST_TCP = 0, /* any bytes */
	PLAN_HOST_TLS,     /* a ClientHello with the host's name */
	PLAN_HOST_HTTP,    /* requests of HTTP, which msp-http reads */
	PLAN_HOST_HTTPS, /* likewise, in TLS, which ends in msp-http: the entry has request rules or
			  * a secret */
	PLAN_HOST_KIND_COUNT
};

/* The right to let running sandboxes reach a host that their profile does not have. */
enum plan_host_approval {
	PLAN_HOST_APPROVAL_NEVER = 0, /* the list alone counts */
	PLAN_HOST_APPROVAL_PERSON,    /* a person at the command line */
	PLAN_HOST_APPROVAL_ASK,       /* likewise, or an agent whose client's user agrees to it */
	PLAN_HOST_APPROVAL_COUNT
};

/* The right to open a port of the host that leads to one of a persistent sandbox. */
enum plan_bridge {
	PLAN_BRIDGE_PERSON = 0, /* a person at the command line */
	PLAN_BRIDGE_ASK,        /* likewise, or an agent whose client's user agrees each time */
	PLAN_BRIDGE_COUNT
};

/* A host and a port that sandboxes of a profile may connect to. plan_open() checks that the array
 * is in the plan; hosts/ reads the patterns, for the processes that compare hosts. */
struct plan_host {
	char pattern[256]; /* in hosts' one spelling: a name, a wildcard or an IPv4 network */
	uint32_t line;     /* in the file of network_origin */
	uint16_t port;
	uint8_t kind;       /* enum plan_host_kind */
	uint8_t is_private; /* 1: the name may lead to a private address */
	uint8_t to[16];     /* a service of this machine that is dialled in the name's place, as
			     * in struct host_address */
	uint32_t to_port;   /* 0: there is none */
};

/* The HTTP proxy that a profile's hosts are reached through. Its name or IPv4 address is read by
 * hosts/, too. */
struct plan_proxy {
	char host[254]; /* in hosts' one spelling; empty: there is none */
	uint16_t port;
};

/* A request that a host's entry allows. An entry without any allows every request; rules and
 * secrets are those of the first entry that covers a host, so names come before wildcards. */
struct plan_request {
	char path[248];   /* "", or a prefix in the one spelling of gateway/hosts/request.h */
	uint32_t methods; /* bits of gateway/hosts/request.h; 0: every method */
	uint16_t host;    /* index of the entry, which is HTTP or HTTPS */
	uint16_t line;    /* in the file of network_origin */
};

/* The source of a secret's value. */
enum plan_secret_source {
	PLAN_SECRET_FILE = 0, /* a file of the user's, for nobody else: a path, or "~/" and one */
	PLAN_SECRET_ENV,      /* a variable of the launcher's environment */
	PLAN_SECRET_COMMAND,  /* a program's output: its arguments with a NUL after each */
	PLAN_SECRET_SOURCE_COUNT
};

/* A secret of the profile. Its value is in no plan: the launcher reads it from its source. */
struct plan_secret {
	char name[64];
	char placeholder[120]; /* visible characters, neither a part of another's nor equal to it */
	char header[64];       /* name of the one field of a request that the value is put in */
	uint32_t line;         /* in the file of network_origin */
	uint32_t source_kind;  /* enum plan_secret_source */
	uint32_t is_optional;  /* 1: without a value, requests with it are refused, and no more */
	uint8_t hosts[PLAN_HOSTS_MAX / 8]; /* a bit for each entry that it is for: bit i%8 of i/8 */
	char source[512];                  /* ends with two NULs */
};

/* The right to bring a sandbox's changes to the host. */
enum plan_apply {
	PLAN_APPLY_PERSON = 0, /* a person at the command line */
	PLAN_APPLY_ASK,        /* an agent, when its client's user agrees to it each time */
	PLAN_APPLY_AGENT,      /* an agent, but for what the host executes by itself: as ASK */
	PLAN_APPLY_COUNT
};

/* Behind the name of a profile: it without its hosts. */
#define PLAN_NARROWED "/none"

/* Between the name of a profile and the suffix of one that is derived from it for kept binds
 * (policy/read/kept.c). No file can have such a name, and no list shows it. */
#define PLAN_KEPT "+"

#define PLAN_WALL_NONE UINT32_MAX

struct plan_profile {
	uint32_t name;
	uint32_t extends; /* 0: nothing */
	uint32_t hostname;
	uint32_t cwd;
	uint32_t description;
	uint32_t shell, shell_size, runner_size; /* argv of the shell, e.g. "bash\0-c\0", behind the
						  * words before every command; without more,
						  * there is no shell */
	uint32_t environment, environment_size;  /* K=V with a NUL after each */
	uint32_t image;                          /* its digest; 0: the root is made by records */
	uint32_t layers, layers_size;   /* its directories on the host, the highest first */
	uint32_t command, command_size; /* argv where none is given; none: that is an error */
	uint32_t user;                  /* enum plan_user */
	uint32_t mounts, mount_count;
	uint32_t rules, rule_count;
	uint32_t languages, language_count;
	uint32_t filter, filter_count; /* struct sock_filter[] */
	uint32_t rlimits, rlimit_count;
	uint32_t text;    /* all of it for people: what `msp-policy show` prints */
	uint32_t network; /* enum plan_network */
	struct plan_origin origin, network_origin; /* for HOSTS the origin of the list */
	uint32_t hosts, host_count;                /* struct plan_host[] */
	uint32_t no_hosts;      /* index of the profile that is this one but for its hosts, which a
				 * request can choose; of itself, if it has none */
	uint32_t is_narrowed;   /* 1: it is that of another one, and no list shows it */
	uint32_t host_approval; /* enum plan_host_approval; NEVER without PLAN_NETWORK_HOSTS */
	struct plan_proxy through;        /* for PLAN_NETWORK_HOSTS */
	uint32_t requests, request_count; /* struct plan_request[] */
	uint32_t secrets, secret_count;   /* struct plan_secret[] */
	uint32_t answers;                 /* one byte for each call of the plan: enum plan_answer */
	uint32_t group_origins; /* struct plan_origin[], one for each group of the plan: the line
				 * that allows it, or that lists what is allowed and does not name
				 * it */
	struct plan_origin refuse_origin;     /* `refuse`'s */
	uint8_t filter_hash[PLAN_HASH_BYTES]; /* SHA-256 of the filter's bytes */
	uint32_t observes; /* 1: what the filter refuses it asks its listener about, the init */
	uint32_t filters_standby; /* 1: it allows what a process needs that waits for a request */

	uint32_t landlock_abi_min; /* requirement */
	uint32_t limits_fallback;  /* 1: the operator's file accepts LIMITS_FALLBACK */
	uint64_t landlock_fs;      /* handled rights, at the newest ABI we know */
	uint64_t landlock_net;
	uint64_t landlock_scopes;

	uint64_t memory_bytes;
	uint64_t file_bytes;   /* RLIMIT_FSIZE */
	uint64_t output_bytes; /* stdout and stderr together; 0: counted only */
	uint64_t log_bytes;    /* how much of them is kept for reading later */
	uint32_t pids;
	uint32_t open_files;  /* RLIMIT_NOFILE */
	uint32_t cpu_percent; /* percent of one CPU, for cpu.max; 0: no limit */
	uint32_t cpu_weight;
	uint32_t cpu_seconds; /* RLIMIT_CPU of each process; 0: no limit */
	uint32_t wall_default_ms;
	uint32_t wall_max_ms;
	uint32_t stack_bytes; /* RLIMIT_STACK */

	struct network_limits network_limits; /* for PLAN_NETWORK_HOSTS */

	/* Limits of persistent sandboxes. */
	uint64_t disk_bytes;      /* most in one sandbox's layers */
	uint64_t disk_inodes;     /* files and directories of one sandbox's layers */
	uint32_t idle_s;          /* without an execution for so long, its processes end */
	uint32_t ttl_default_s;   /* it is removed so long after its last use */
	uint32_t ttl_max_s;       /* most that may be asked for */
	uint32_t workspace_mode;  /* enum workspace_mode; what may be asked for beside it is up to
				   * plan_may_work() */
	uint32_t apply;           /* enum plan_apply */
	uint32_t bridge;          /* enum plan_bridge */
	uint32_t held, held_size; /* patterns of what the host executes, beyond the usual */
	uint32_t wall_persistent_ms; /* wall_default_ms of executions in one */
	uint32_t wall_terminal_ms;   /* default of executions with a terminal; 0: as of others;
				      * PLAN_WALL_NONE: no clock is armed */
};

struct plan {
	const uint8_t *bytes;
	uint32_t size;
	uint32_t slot; /* under which it is kept where there are several; else 0 */
};

/* Check a mapped blob of `size` bytes; 0 and *ret set, or -EBADMSG. The bytes stay the caller's. */
int plan_open(const void *bytes, size_t size, struct plan *ret);

/* Map a sealed memfd and check it; 0, -EBADMSG or another -errno. The mapping is undone by
 * plan_close(), or never. */
int plan_open_fd(int fd, struct plan *ret);
void plan_close(struct plan *plan);

uint32_t plan_profile_count(const struct plan *plan);
const struct plan_profile *plan_profile(const struct plan *plan, uint32_t index);

/* Index of a profile by name, or -1. */
int plan_profile_find(const struct plan *plan, const char *name);

/* May a sandbox of the profile be asked for with this enum workspace_mode? READ changes nothing of
 * the host's, so it may be where COPY may; WRITE only where the profile says it. */
bool plan_may_work(const struct plan_profile *profile, uint32_t workspace_mode);

/* Does a sandbox of the profile keep anything? Else it cannot last. git's place alone, which is a
 * directory, is none that keeps. */
bool plan_lasts(const struct plan *plan, const struct plan_profile *profile);

/* Is it for a helper of ours? Then nobody may ask for it, and clients are not shown it. Such a name
 * begins with '_'. */
bool plan_is_internal(const struct plan *plan, const struct plan_profile *profile);

const char *plan_string(const struct plan *plan, uint32_t offset);
const uint8_t *plan_bytes(const struct plan *plan, uint32_t offset);
const struct plan_mount *plan_mounts(const struct plan *plan, const struct plan_profile *profile);
const struct plan_rule *plan_rules(const struct plan *plan, const struct plan_profile *profile);
const struct plan_language *plan_languages(const struct plan *plan,
					   const struct plan_profile *profile);
const struct plan_rlimit *plan_rlimits(const struct plan *plan, const struct plan_profile *profile);
const struct plan_host *plan_hosts(const struct plan *plan, const struct plan_profile *profile);
const struct plan_request *plan_requests(const struct plan *plan,
					 const struct plan_profile *profile);
const struct plan_secret *plan_secrets(const struct plan *plan, const struct plan_profile *profile);
const struct sock_filter *plan_filter(const struct plan *plan, const struct plan_profile *profile);
const struct plan_origin *plan_group_origins(const struct plan *plan,
					     const struct plan_profile *profile);

const struct plan_header *plan_header(const struct plan *plan);
const struct plan_group *plan_groups(const struct plan *plan);
const struct plan_call *plan_calls(const struct plan *plan);

/* The call with this number, or NULL. */
const struct plan_call *plan_call_find(const struct plan *plan, uint32_t number);

/* A profile's answer to one of the plan's calls. */
enum plan_answer plan_answer_to(const struct plan *plan, const struct plan_profile *profile,
				const struct plan_call *call);

#endif
