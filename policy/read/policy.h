/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of profiles, read from YAML. A pure library: it uses no clock or environment, and of files
 * only those of images, of kept binds and of a home.
 */
#ifndef POLICY_READ_POLICY_H
#define POLICY_READ_POLICY_H

#include "lib/heap/buffer.h"
#include "policy/read/profile.h"
#include "policy/read/text.h"

struct agent;
struct agent_use;
struct agents;
struct packages;
struct registries;
struct policy;

/* The caller knows this of the machine, and keeps it. NULL: nothing. */
struct policy_shown {
	const struct packages *packages; /* with copies */
	const char *machine;             /* the path of the virtual machine */
	const char *frames;              /* the directory for frames (policy/packages/frames.h) */
};

/* A file's settings for all profiles. Texts belong to the policy; NULL and 0: not given. */
struct policy_settings {
	const char *file;            /* its name */
	uint32_t profiles_line;      /* the line of its `profiles` */
	const char *default_profile; /* never NULL */
	const char *run_as;
	struct strings workspaces;
	struct strings protect;
	struct strings unprotect;
	uint32_t landlock_abi; /* the least of every profile; 0: each decides */
	bool accepts_fallback;
	bool is_audit_optional;
	bool has_audit_text;    /* the audit log has the words of commands */
	bool is_public;         /* only the public registries are used */
	uint32_t sandboxes_max; /* from here: limits of all persistent sandboxes; 0: none */
	uint64_t sandboxes_bytes;
	uint64_t images_bytes; /* that the layers of all images may take */
};

/* Create an empty policy. Free it with policy_free(), which returns NULL. */
struct policy *policy_new(void);
struct policy *policy_free(struct policy *policy);

/* Look for images in the directory at this absolute path, once, before policy_add(). */
void policy_look_in(struct policy *policy, const char *images);

/* Have `~/` of the file mean a directory in this absolute path, which must live as long, and use
 * the registries that its owner's package managers use (policy/registries). NULL: there is no home,
 * and the registries are the machine's. */
void policy_live_in(struct policy *policy, const char *home);
const struct registries *policy_registries(const struct policy *policy);
/* Have `memory_share` mean a part of this much memory, before policy_add(). */
void policy_run_on(struct policy *policy, uint64_t machine_bytes);

/* Say what of this machine a plan shows, before it is compiled. */
void policy_set_shown(struct policy *policy, struct policy_shown shown);

const struct policy_shown *policy_shown(const struct policy *policy);

/* Add the built-in profiles. 0, or -1 with *error set. */
int policy_add_builtin(struct policy *policy, struct policy_error *error);

/*
 * Add a YAML file, its profiles and its settings, once; `file` is its name for messages. Its
 * profiles may extend each other, in any order, and earlier profiles. 0, or -1 with *error set:
 * then only policy_free() may follow.
 */
int policy_add(struct policy *policy, const char *file, const char *text, size_t size,
	       struct policy_error *error);

/* Read the built-in rows of agents, once; a file with `agents` does so itself. 0, or -1 with *error
 * set. Return the agents; NULL: they are not read. */
int policy_load_agents(struct policy *policy, struct policy_error *error);
const struct agents *policy_agents(const struct policy *policy);

/* Derive the profile of an agent, which belongs to the policy and is none of its profiles. NULL
 * with *error set: its parent or its row has changed, or there is no room. */
const struct profile *policy_derive_agent(struct policy *policy, const struct agent *agent,
					  const struct agent_use *use, struct policy_error *error);

/* Have policy_find() know the profile of an agent, without its keys, by a name that a person gives.
 * 0, also if it is no such name; or -1 with *error set. */
int policy_name_agent(struct policy *policy, const char *name, struct policy_error *error);

/* Derive a profile of each set of kept binds in a directory, after policy_add(). Append to
 * `watched` the paths whose change makes them old, a NUL after each. */
void policy_keep(struct policy *policy, const char *directory, struct buffer *watched);

/* Take a profile. False: there is no room, and it stays the caller's. */
bool policy_take(struct policy *policy, struct profile *profile);

const struct policy_settings *policy_settings(const struct policy *policy);

uint32_t policy_count(const struct policy *policy);

/* Return the number of records of its plan: one of each profile, and another one of each that has
 * hosts. 0 with *error set: there are too many. */
uint32_t policy_count_records(const struct policy *policy, struct policy_error *error);
const struct profile *policy_at(const struct policy *policy, uint32_t index);

/* Find a profile by its name, or return NULL. */
const struct profile *policy_find(const struct policy *policy, const char *name);

/* Append the profiles without their image to a plan, each name with the cause. Return the offset of
 * the list; 0: there are none. */
uint32_t policy_put_missing(const struct policy *policy, struct buffer *blob, uint32_t *ret_size);

#endif
