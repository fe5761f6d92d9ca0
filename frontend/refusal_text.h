/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts for refusals of a supervisor, for people and for models (refusal_text.def).
 */
#ifndef FRONTEND_REFUSAL_TEXT_H
#define FRONTEND_REFUSAL_TEXT_H

#include <stdint.h>

#include "lib/heap/buffer.h"

struct ipc_execution_refused;
struct plan;

/* Words of the request, any bytes; NULL: it has no such word. */
struct refusal_words {
	const char *profile;
	const char *variable; /* environment variable that named the profile */
	const char *program;  /* or language */
	const char *cwd;
	const char *sandbox;
	const char *name; /* name of a new sandbox */
	const char *checkpoint;
	const char *workspace;
	const char *holder; /* another msp that has the sandbox, and a remedy */
};

enum refusal_audience { REFUSAL_FOR_PEOPLE, REFUSAL_FOR_MODELS, REFUSAL_AUDIENCES };

/* The way in which an audience is shown words of others; each function appends. */
struct refusal_style {
	enum refusal_audience audience;
	void (*put_word)(struct buffer *text, const char *word);
	void (*put_detail)(struct buffer *text, const char *detail);
	void (*put_retry)(struct buffer *text, uint32_t ms);
};

/* Append the text for `refused`, with what the plan in force (NULL: none) adds: the profiles that
 * there are, or why the wanted one cannot be used. */
void refusal_text_put(struct buffer *text, const struct refusal_style *style,
		      const struct ipc_execution_refused *refused,
		      const struct refusal_words *words, const struct plan *plan);

/* Return the exit code of msp for a reason (enum refusal). */
int refusal_exit_code(uint32_t reason);

#endif
