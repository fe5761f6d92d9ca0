/* SPDX-License-Identifier: Apache-2.0 */
#include "show/refusal.h"

#include "common/ipc/ipc_refused.h"
#include "common/log.h"
#include "common/plan/plan.h"
#include "frontend/utf8.h"

/* It may quote a path, which can hold anything. */
static void put_detail(struct buffer *text, const char *detail)
{
	const size_t before = text->size;

	buffer_append_text(text, detail);
	utf8_make_line(text->bytes + before);
}

static void put_retry(struct buffer *text, uint32_t ms)
{
	buffer_format(text, "%u s", ms / 1000 + (ms % 1000 ? 1 : 0));
}

void refusal_explain(const struct ipc_execution_refused *refused, const struct refusal_words *words,
		     int plan)
{
	static const struct refusal_style style = { .audience = REFUSAL_FOR_PEOPLE,
						    .put_word = buffer_append_text,
						    .put_detail = put_detail,
						    .put_retry = put_retry };
	struct buffer text = { 0 };
	struct plan is = { .bytes = NULL };

	if (plan >= 0)
		(void)plan_open_fd(plan, &is); /* without it, a text has no names of profiles */
	refusal_text_put(&text, &style, refused, words, &is);
	plan_close(&is);
	log_line("%s", text.bytes);
	buffer_done(&text);
}
