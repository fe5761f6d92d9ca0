/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading the text of one file into lines of a registry. Whatever these functions do not know is
 * passed over.
 */
#ifndef POLICY_REGISTRIES_LINES_H
#define POLICY_REGISTRIES_LINES_H

#include "policy/registries/registries.h"

#define REGISTRY_URL_MAX 512U
#define REGISTRY_WORD_MAX 128U

/* The place in which a line is found. */
struct registry_place {
	struct registry *registry;
	const char *file;
	uint32_t line;
	/* Called with the path of a file of certificates. */
	void (*take_certificates)(const struct registry_place *place, const char *name,
				  const char *path);
	void *context; /* the caller's */
};

/* Read a text, which is changed, ended by a NUL. `place` has its file. */
typedef void registry_reader(struct registry_place *place, char *text);
registry_reader lines_read_npm, lines_read_pip, lines_read_cargo, lines_read_go, lines_read_maven;

/* Add a URL. It is obeyed if it has a host and no part that can be a token. */
void lines_add_url(const struct registry_place *place, const char *name, const char *url,
		   const char *of);

/* Add a word of the given characters besides letters and digits; another one is not obeyed. */
void lines_add_word(const struct registry_place *place, const char *name, const char *word,
		    const char *others);

/* Add a line that is not obeyed, for a reason. The value is left out. */
void lines_add_problem(const struct registry_place *place, const char *name, const char *problem);

/* Find a line that is obeyed by its name; NULL: there is none. */
const struct registry_line *lines_find(const struct registry *registry, const char *name);

/*
 * Copy a URL into `ret` without user, password, query and fragment, and its host and port into
 * `line`. NULL, or the reason why it is not obeyed.
 */
const char *url_read(const char *text, struct registry_line *line, char ret[REGISTRY_URL_MAX]);

/* Make the file and the variables of a sandbox from the lines that are obeyed. */
void gift_make(enum registry_tool tool, struct registry *registry);

#endif
