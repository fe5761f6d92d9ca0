/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/refusal_text.h"

#include <stdbool.h>
#include <string.h>

#include "common/ipc/ipc_refused.h"
#include "common/ipc/refusal.h"
#include "common/plan/plan.h"
#include "frontend/profile_names.h"
#include "lib/heap/memory.h"

struct refusal_row {
	int exit_code;
	const char *texts[REFUSAL_AUDIENCES];
};

#define REFUSAL_TEXT(name, exit_code, people, models)                                              \
	static const struct refusal_row row_##name = { exit_code, { people, models } };
#include "frontend/refusal_text.def"
#undef REFUSAL_TEXT

/* A refusal without a text does not compile. */
static const struct refusal_row *const rows[REFUSAL_COUNT] = {
#define REFUSAL(name, text) [REFUSAL_##name] = &row_##name,
#include "common/ipc/refusal.def"
#undef REFUSAL
};

/* Only a broken supervisor has other reasons. */
static const struct refusal_row other_row = {
	MSP_EXIT_USAGE,
	{ "the supervisor refused: {detail?{detail}|no detail}", "The request was refused." }
};

static const struct refusal_row *find_row(uint32_t reason)
{
	return reason < REFUSAL_COUNT && rows[reason] ? rows[reason] : &other_row;
}

struct rendering {
	struct buffer *text;
	const struct refusal_style *style;
	const struct ipc_execution_refused *refused;
	const char *detail;
	const struct refusal_words *words;
	bool ends_sentence; /* the last word did */
};

static bool is_key(const char *key, size_t size, const char *name)
{
	return strlen(name) == size && memcmp(key, name, size) == 0;
}

/* Find a word of the request; "" if it has none of that name. */
static const char *find_word(const struct refusal_words *words, const char *key, size_t size)
{
	const struct {
		const char *name, *word;
	} known[] = {
		{ "profile", words->profile },       { "variable", words->variable },
		{ "program", words->program },       { "cwd", words->cwd },
		{ "sandbox", words->sandbox },       { "name", words->name },
		{ "checkpoint", words->checkpoint }, { "workspace", words->workspace },
		{ "holder", words->holder },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (is_key(key, size, known[i].name))
			return known[i].word ? known[i].word : "";
	}
	bug("a text about a refusal has an unknown word");
}

static bool has_word(const struct rendering *rendering, const char *key, size_t size)
{
	if (is_key(key, size, "detail"))
		return rendering->detail[0] != '\0';
	if (is_key(key, size, "retry"))
		return rendering->refused->retry_ms > 0;
	return find_word(rendering->words, key, size)[0] != '\0';
}

static void put_word(struct rendering *rendering, const char *key, size_t size)
{
	struct buffer *text = rendering->text;
	const size_t before = text->size;

	if (is_key(key, size, "detail"))
		rendering->style->put_detail(text, rendering->detail);
	else if (is_key(key, size, "retry"))
		rendering->style->put_retry(text, rendering->refused->retry_ms);
	else
		rendering->style->put_word(text, find_word(rendering->words, key, size));
	rendering->ends_sentence = text->size > before && text->bytes[text->size - 1] == '.';
}

static const char *put_literal(struct rendering *rendering, const char *at, bool is_shown)
{
	const size_t size = strcspn(at, "{|}");
	const size_t skipped = rendering->ends_sentence && at[0] == '.';

	if (is_shown) {
		buffer_append(rendering->text, at + skipped, size - skipped);
		rendering->ends_sentence = false;
	}
	return at + size;
}

/* Append the text up to one of `ends`, if it is shown. Returns its end. */
static const char *put_part(struct rendering *rendering, const char *at, const char *ends,
			    bool is_shown)
{
	while (*at != '\0' && !strchr(ends, *at)) {
		const char *key = at + 1;
		const size_t size = strcspn(key, "?}");
		bool is_there;

		if (*at != '{') {
			at = put_literal(rendering, at, is_shown);
			continue;
		}
		at = key + size + 1;
		if (key[size] == '}') {
			if (is_shown)
				put_word(rendering, key, size);
			continue;
		}
		is_there = has_word(rendering, key, size);
		at = put_part(rendering, at, "|", is_shown && is_there) + 1;
		at = put_part(rendering, at, "}", is_shown && !is_there) + 1;
	}
	return at;
}

/* Add what the plan says, which the supervisor need not: the cause if the profile is there and
 * cannot be used, else the profiles that there are. Returns the row. */
static const struct refusal_row *choose_row(struct rendering *rendering, const struct plan *plan,
					    struct refusal_words *words)
{
	static char names[IPC_LIST_MAX]; /* too large for the stack; one thread */
	const uint32_t reason = rendering->refused->reason;
	const char *cause = NULL;

	if (!plan || !plan->bytes)
		return find_row(reason);
	if (reason == REFUSAL_SANDBOX_PROFILE && rendering->detail[0])
		words->profile = rendering->detail;
	if (reason == REFUSAL_SANDBOX_PROFILE || reason == REFUSAL_PROFILE_UNKNOWN)
		cause = words->profile ? profile_missing(plan, words->profile) : NULL;
	if (cause) {
		rendering->detail = cause;
		return &row_PROFILE_MISSING;
	}
	if (reason == REFUSAL_PROFILE_UNKNOWN) {
		profile_names(plan, names, sizeof(names));
		rendering->detail = names;
	}
	return find_row(reason);
}

void refusal_text_put(struct buffer *text, const struct refusal_style *style,
		      const struct ipc_execution_refused *refused,
		      const struct refusal_words *words, const struct plan *plan)
{
	struct refusal_words known = *words;
	struct rendering rendering = { .text = text,
				       .style = style,
				       .refused = refused,
				       .detail = refused->detail,
				       .words = &known };
	const struct refusal_row *row = choose_row(&rendering, plan, &known);

	(void)put_part(&rendering, row->texts[style->audience], "", true);
}

int refusal_exit_code(uint32_t reason)
{
	return find_row(reason)->exit_code;
}
