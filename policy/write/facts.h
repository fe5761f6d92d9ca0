/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of a profile as texts, one fact for each: `show` prints them and `diff` compares them.
 */
#ifndef POLICY_WRITE_FACTS_H
#define POLICY_WRITE_FACTS_H

#include "lib/heap/buffer.h"
#include "policy/read/profile.h"

/* Sections in the order in which `diff` prints them. */
enum fact_section {
	FACT_FILES,
	FACT_LANDLOCK,
	FACT_SECCOMP,
	FACT_LIMITS,
	FACT_REQUIREMENTS,
	FACT_LASTING,
	FACT_ENVIRONMENT,
	FACT_LANGUAGES,
	FACT_HOSTS,
	FACT_HOST_APPROVAL,
	FACT_THROUGH,
	FACT_REQUESTS,
	FACT_SECRETS,
	FACT_IMAGE,
	FACT_ROOT,
	FACT_USER,
	FACT_PRETEND,
	FACT_COMMAND,
	FACT_NETWORK,
	FACT_HOSTNAME,
	FACT_CWD,
	FACT_RUNNER,
	FACT_SHELL,
	FACT_DESCRIPTION,
	FACT_SECTION_COUNT,
};

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
	uint32_t count;
	uint32_t room;
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
