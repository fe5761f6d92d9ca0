/* SPDX-License-Identifier: Apache-2.0
 *
 * A profile as its YAML file says it: which keys exist and what shape they have. Every value is
 * still text here, NULL when the file does not say it; profile.c gives the values their meaning.
 */
#ifndef POLICY_SOURCE_H
#define POLICY_SOURCE_H

#include "policy/buffer.h"
#include "policy/places.h"

#include <stdint.h>

#define SOURCE_BYTES_MAX 65536U

struct source_mount {
	char *at, *kind, *from, *to, *text, *size, *inodes, *mode, *device, *optional, *noexec;
};

struct source_rule {
	char *path;
	char **rights;
	uint32_t rights_count;
};

struct source_language {
	char *name, *program, *file;
	char **aliases;
	char **run;
	uint32_t aliases_count, run_count;
};

struct source_limits {
	char *memory, *file_size, *output, *log, *pids, *open_files, *cpu_percent, *cpu_weight,
		*cpu_seconds, *wall_default, *wall_max, *stack;
};

struct source_seccomp {
	char **allow;
	char **refuse;
	uint32_t allow_count, refuse_count;
};

struct source_requirements {
	char *landlock, *limits;
};

struct source_profile {
	char *name, *extends, *description, *hostname, *cwd, *network;
	char **shell;
	char **environment;
	struct source_mount *files;
	struct source_rule *landlock;
	struct source_language *languages;
	struct source_limits *limits;
	struct source_seccomp *seccomp;
	struct source_requirements *requirements;
	uint32_t shell_count, environment_count, files_count, landlock_count, languages_count;
};

/* A line of a file; NULL and 0: none. */
struct origin {
	const char *file;
	uint32_t line;
};

struct source {
	char *file; /* its name, for messages */
	struct places places;
	struct source_profile *profile;
};

/* Read `size` bytes of YAML; `file` is the name for messages. NULL and *error set on a mistake. */
struct source *source_load(const char *file, const char *text, size_t size,
			   struct policy_error *error);

/* Sets *error to "file:line: key: ..." and returns -1. `key` as in "files[3].size", or "". */
int source_fail(const struct source *source, struct policy_error *error, const char *key,
		const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Where `key` is said; it belongs to the source. */
struct origin source_origin(const struct source *source, const char *key);

/* Frees it and returns NULL. */
struct source *source_free(struct source *source);

#endif
