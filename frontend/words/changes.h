/* SPDX-License-Identifier: Apache-2.0
 *
 * Words about changes: one row for each flag, reason and step, for programs, people and models.
 */
#ifndef FRONTEND_WORDS_CHANGES_H
#define FRONTEND_WORDS_CHANGES_H

#include "common/changes.h"

struct change_word {
	uint32_t flag;       /* enum change_flag */
	const char *name;    /* in JSON */
	const char *text;    /* for people, in a line; NULL: the line does not say it */
	const char *mark;    /* for models, in a line; NULL: none */
	const char *meaning; /* the mark's, below the list; NULL: none */
};

#define CHANGE_WORDS 18
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

#endif
