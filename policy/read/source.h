/* SPDX-License-Identifier: Apache-2.0
 *
 * A configuration as in its YAML file: the keys and their shapes. Every value is still text here,
 * NULL if the file does not have it; settings.c and profile.c parse the values.
 */
#ifndef POLICY_READ_SOURCE_H
#define POLICY_READ_SOURCE_H

#include "policy/read/places.h"
#include "policy/read/text.h"

#include <stdarg.h>
#include <stdint.h>

/* Room for about 64 profiles of the largest built-in one's size, more than a plan can hold. */
#define SOURCE_BYTES_MAX 262144U

struct source_mount {
	char *at, *kind, *from, *to, *text, *access, *size, *inodes, *mode, *device, *optional,
		*noexec, *place;
};

struct source_rule {
	char *path;
	char **rights;
	uint32_t rights_count;
};

struct source_language {
	char *name, *program, *file, *ahead;
	char **aliases;
	char **run;
	uint32_t aliases_count, run_count;
};

struct source_limits {
	char *memory, *file_size, *output, *log, *pids, *open_files, *cpu_percent, *cpu_weight,
		*cpu_seconds, *wall_default, *wall_max, *stack, *connections, *connection_rate,
		*connection_idle, *upload, *download;
};

struct source_seccomp {
	char **allow;
	char **add;
	char **remove;
	char **refuse;
	uint32_t allow_count, add_count, remove_count, refuse_count;
};

struct source_requirements {
	char *landlock, *limits;
};

/* A secret, by one of its three sources. */
struct source_secret {
	char *name, *header, *file, *env, *cleartext;
	char **hosts;
	char **command;
	uint32_t hosts_count, command_count;
};

/* A profile's settings of persistent sandboxes. */
struct source_lasting {
	char *disk, *inodes, *idle, *ttl, *ttl_most, *wall_default, *workspace, *apply, *bridge;
	char **hold;
	uint32_t hold_count;
};

/* The limits of all persistent sandboxes together. */
struct source_sandboxes {
	char *most, *disk;
};

/* The limit of all images together. */
struct source_images {
	char *disk;
};

/* The audit log's settings, where they are more than one word. */
struct source_audit {
	char *records, *commands;
};

struct source_profile {
	char *name, *extends, *description, *image, *root, *user, *hostname, *cwd, *network,
		*host_approval, *through;
	char **runner;
	char **shell;
	char **environment;
	char **pretend;
	char **hosts;
	char **requests;
	struct source_secret *secrets;
	struct source_mount *files;
	struct source_rule *landlock;
	struct source_language *languages;
	struct source_limits *limits;
	struct source_seccomp *seccomp;
	struct source_requirements *requirements;
	struct source_lasting *lasting;
	uint32_t runner_count, shell_count, environment_count, pretend_count, files_count,
		landlock_count, languages_count, hosts_count, requests_count, secrets_count;
};

struct source_config {
	char *default_profile, *run_as, *limits;
	char *audit; /* one word, or else NULL, and the keys in `audit_keys` */
	struct source_audit *audit_keys;
	char **workspaces;
	char **protect;
	char **unprotect;
	char **offer;
	struct source_sandboxes *sandboxes;
	struct source_images *images;
	struct source_requirements *requirements; /* `landlock` alone */
	struct source_profile *profiles;
	uint32_t workspaces_count, protect_count, unprotect_count, offer_count, profiles_count;
};

/* A line of a file; NULL and 0: none. */
struct origin {
	const char *file;
	uint32_t line;
};

struct source {
	char *file; /* its name, for messages */
	struct places places;
	bool has_audit_keys;
	struct source_config *config;
};

/* Read `size` bytes of YAML; `file` is the name for messages. NULL and *error set on a mistake. */
struct source *source_load(const char *file, const char *text, size_t size,
			   struct policy_error *error);

/* Set *error to "file:line: key: ..." and return -1. `key` is like "profiles[1].files[3].size", or
 * "" for the file as a whole. */
int source_fail(const struct source *source, struct policy_error *error, const char *key,
		const char *format, ...) __attribute__((format(printf, 4, 5)));
void source_vfail(const struct source *source, struct policy_error *error, const char *key,
		  const char *format, va_list arguments) __attribute__((format(printf, 4, 0)));

/* Return whether the file has `key`, also with an empty value. */
bool source_says(const struct source *source, const char *key);

/* Return the origin of `key`, or of the nearest key around it; it belongs to the source. */
struct origin source_origin(const struct source *source, const char *key);

/* Free the source and return NULL. */
struct source *source_free(struct source *source);

#endif
