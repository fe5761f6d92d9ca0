/* SPDX-License-Identifier: Apache-2.0
 *
 * Words about changes: one row for each flag, reason and step, for programs, people and models.
 */
#ifndef FRONTEND_WORDS_CHANGES_H
#define FRONTEND_WORDS_CHANGES_H

#include "common/records/changes.h"

struct change_word {
	uint32_t flag;       /* enum change_flag */
	const char *name;    /* in JSON */
	const char *text;    /* for people, in a line; NULL: the line does not say it */
	const char *mark;    /* for models, in a line; NULL: none */
	const char *meaning; /* the mark's, below the list; NULL: none */
};

#define CHANGE_WORDS 19
extern const struct change_word change_words[CHANGE_WORDS];

/* Words of an enum change_unmerged, which is not NONE. */
struct unmerged_words {
	const char *word; /* for programs and models */
	const char *text; /* for people, with the remedy */
};
extern const struct unmerged_words unmerged_words[UNMERGED_COUNT];

/* Words of an enum changes_step, at which changes failed. */
struct step_words {
	const char *people; /* a sentence */
	const char *models; /* behind "It failed in" */
};

/* Return the words; those of NONE for a step that there is not. */
const struct step_words *changes_step_words(uint32_t step);

/* Reasons for which a person looks at a change, the most dangerous first. */
enum held_kind {
	HELD_RUNS,      /* the host executes or obeys it by itself */
	HELD_LEADS_OUT, /* a link out of the project */
	HELD_RULES,     /* decides what is asked about */
	HELD_TOOL,      /* executed when its tool is started */
	HELD_DOT,       /* the operator holds dot files */
	HELD_KINDS,
	HELD_NONE_BUT_NEW = HELD_KINDS, /* not held: new, and of a kind that tools execute */
	NAMED_KINDS,
};

struct held_words {
	const char *head;       /* for people, above the names */
	const char *many, *one; /* in a question, behind a count or the names */
};
extern const struct held_words held_words[NAMED_KINDS];

/* Return the kind of a change with CHANGE_IS_HELD or CHANGE_MAY_RUN. */
enum held_kind change_held_kind(uint32_t flags);

/* Return the flags of changes_start (common/ipc/ipc_changes.h) that say the umask of this process.
 * The first call asks for it, so a process that confines itself calls before. */
uint32_t changes_umask_flags(void);

#endif
