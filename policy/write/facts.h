/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of a profile as texts, one fact for each: `show` prints them and `diff` compares them.
 */
#ifndef POLICY_WRITE_FACTS_H
#define POLICY_WRITE_FACTS_H

#include "lib/heap/buffer.h"
#include "policy/read/profile.h"

/* Sections in the order in which `diff` prints them. */
/* clang-format off: read as a table */
#define FACT_SECTIONS                                                                              \
	SECTION(FILES, "files")                                                                    \
	SECTION(LANDLOCK, "landlock")                                                              \
	SECTION(SECCOMP, "seccomp")                                                                \
	SECTION(LIMITS, "limits")                                                                  \
	SECTION(REQUIREMENTS, "requirements")                                                      \
	SECTION(LASTING, "lasting")                                                                \
	SECTION(ENVIRONMENT, "environment")                                                        \
	SECTION(LANGUAGES, "languages")                                                            \
	SECTION(HOSTS, "hosts")                                                                    \
	SECTION(HOST_APPROVAL, "host_approval")                                                    \
	SECTION(THROUGH, "through")                                                                \
	SECTION(REQUESTS, "requests")                                                              \
	SECTION(SECRETS, "secrets")                                                                \
	SECTION(REGISTRIES, "registries")                                                          \
	SECTION(IMAGE, "image")                                                                    \
	SECTION(ROOT, "root")                                                                      \
	SECTION(SYSTEM, "system")                                                                  \
	SECTION(USER, "user")                                                                      \
	SECTION(PRETEND, "pretend")                                                                \
	SECTION(COMMAND, "command")                                                                \
	SECTION(NETWORK, "network")                                                                \
	SECTION(HOSTNAME, "hostname")                                                              \
	SECTION(CWD, "cwd")                                                                        \
	SECTION(RUNNER, "runner")                                                                  \
	SECTION(SHELL, "shell")                                                                    \
	SECTION(DESCRIPTION, "description")

enum fact_section {
#define SECTION(id, name) FACT_##id,
	FACT_SECTIONS
#undef SECTION
		FACT_SECTION_COUNT
};
/* clang-format on */

struct fact {
	enum fact_section section;
	bool is_implied; /* follows from others: not compared */
	bool is_quiet;   /* compared, and shown only if it differs */
	char *key;       /* unique in its section, except for implied facts */
	char *text;      /* one line */
	char *detail;    /* the rest of the line, if it is compared; "" for most */
	struct origin origin;
};

struct facts {
	size_t count, room;
	struct fact *items;
};

/* Return all facts of a profile, sections in order. Free them with facts_done(). */
struct facts facts_of(const struct profile *profile);
void facts_done(struct facts *facts);

/* Return a section's name: "files", "landlock", ... */
const char *fact_section_name(enum fact_section section);

/* Append " (FILE:LINE)", or nothing if there is no origin. */
void fact_print_origin(const struct origin *origin, struct buffer *text);

#endif
