/* SPDX-License-Identifier: Apache-2.0
 *
 * The registries of packages that the files of the user's own package managers name: of each file
 * the URL without user, password and query, and the certificates of a file that it names. Nothing
 * else of them is kept, so that no token, password or header can come into a sandbox.
 */
#ifndef POLICY_REGISTRIES_REGISTRIES_H
#define POLICY_REGISTRIES_REGISTRIES_H

#include "gateway/hosts/name.h"
#include "lib/heap/buffer.h"

#include <stdbool.h>
#include <stdint.h>

enum registry_tool {
	REGISTRY_NPM,
	REGISTRY_PIP,
	REGISTRY_CARGO,
	REGISTRY_GO,
	REGISTRY_MAVEN,
	REGISTRY_TOOL_COUNT
};

/* A line that names a registry, or something that belongs to one. */
struct registry_line {
	const char *file; /* "~/.npmrc"; it lives as long as the program */
	uint32_t line;
	char *name;  /* the key: "registry", "source.mirror.replace-with"; of Maven the id */
	char *value; /* a URL or a word; empty if `problem` is said */
	char *of;    /* Maven: what the mirror is of; else NULL */
	const char *problem;           /* why it is not obeyed; NULL: it is */
	char host[HOST_NAME_MAX_SIZE]; /* the URL's; else empty */
	uint16_t port;
	bool is_cleartext; /* http */
};

#define REGISTRY_VARIABLES_MAX 8U

struct registry {
	struct registry_line *lines;
	size_t count, room;
	struct buffer certificates; /* in the file that the last such line names */
	/* The gift to a sandbox, once all files are read. */
	struct buffer file;
	char *variables[REGISTRY_VARIABLES_MAX];
	uint32_t variable_count;
};

struct registries {
	struct registry of[REGISTRY_TOOL_COUNT];
	struct buffer watched; /* paths beside those of registries.def whose change makes this old,
				* a NUL after each */
};

/* The directory in a sandbox of what it gets, and the file of certificates in it. */
#define REGISTRIES_PLACE "/etc/msp-registries"
#define REGISTRIES_CERTIFICATES(tool) REGISTRIES_PLACE "/" tool ".pem"

/* Read the machine's files, and those below a home, an absolute path or NULL. No link is followed
 * below it, since a link can lead into a project. Free it with registries_free(), which returns
 * NULL. */
struct registries *registries_read(const char *home);
struct registries *registries_free(struct registries *registries);

/* Return whether a line is obeyed. */
bool registry_is_obeyed(const struct registry *registry);

#endif
