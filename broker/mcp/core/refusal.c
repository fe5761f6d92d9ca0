/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/refusal.h"

#include <string.h>

#include "common/ipc_refused.h"
#include "io/text.h"
#include "mcp/core/result.h"

/* Bound of a quoted word. */
#define WORD_BYTES 250U

static void put_word(struct buffer *text, const char *word)
{
	text_quote(text, word, strlen(word), WORD_BYTES);
}

static void put_detail(struct buffer *text, const char *detail)
{
	text_append(text, detail, strlen(detail), TEXT_JUDGED);
}

static void put_retry(struct buffer *text, uint32_t ms)
{
	result_put_duration(text, (uint64_t)ms * 1000);
}

void refusal_put(struct buffer *text, const struct ipc_execution_refused *refused,
		 const struct refusal_words *words, const struct plan *plan)
{
	static const struct refusal_style style = { .audience = REFUSAL_FOR_MODELS,
						    .put_word = put_word,
						    .put_detail = put_detail,
						    .put_retry = put_retry };

	refusal_text_put(text, &style, refused, words, plan);
}
