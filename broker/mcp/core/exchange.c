/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/exchange.h"

#include <stdlib.h>

#include "lib/heap/memory.h"

void exchange_init(struct exchange *exchange, const struct exchange_kind *kind)
{
	exchange->kind = kind;
	exchange->open = 1;
}

void exchange_hold(struct exchange *exchange)
{
	exchange->open++;
}

void exchange_release(struct exchange *exchange)
{
	if (--exchange->open > 0)
		return;
	if (!exchange->kind->done)
		bug("an exchange that its maker has left");
	exchange->kind->done(exchange);
}

bool exchange_is_behind(const struct exchange *exchange)
{
	return exchange->kind->is_behind && exchange->kind->is_behind(exchange);
}

void exchange_say(struct exchange *exchange, const struct buffer *message)
{
	exchange->kind->say(exchange, message);
}

void exchange_answer(struct exchange *exchange, const struct buffer *answer, int code)
{
	exchange->kind->answer(exchange, answer, code);
}

void exchange_close(struct exchange *exchange, struct json_writer *writer)
{
	message_close(writer);
	exchange_say(exchange, writer->out);
	buffer_done(writer->out);
}

void exchange_refuse(struct exchange *exchange, const struct rpc_id *id, enum rpc_code code,
		     const char *text, const struct buffer *data)
{
	struct buffer line = { 0 };

	message_put_error(&line, id, code, text, data);
	exchange_answer(exchange, &line, code);
	buffer_done(&line);
}

struct batch {
	struct exchange exchange; /* first: struct batch and its exchange have one address */
	struct exchange *inner;
	struct buffer answers;
};

static struct batch *batch_of(struct exchange *exchange)
{
	return (struct batch *)exchange;
}

static void batch_say(struct exchange *exchange, const struct buffer *message)
{
	exchange_say(batch_of(exchange)->inner, message);
}

static void batch_answer(struct exchange *exchange, const struct buffer *answer, int code)
{
	struct buffer *answers = &batch_of(exchange)->answers;

	buffer_append(answers, answers->size ? "," : "[", 1);
	buffer_append(answers, answer->bytes, answer->size);
}

static void batch_done(struct exchange *exchange)
{
	struct batch *batch = batch_of(exchange);

	if (batch->answers.size > 0) {
		buffer_append(&batch->answers, "]", 1);
		exchange_answer(batch->inner, &batch->answers, 0);
	}
	exchange_release(batch->inner);
	buffer_done(&batch->answers);
	free(batch);
}

static const struct exchange_kind batch_kind = { batch_say, batch_answer, batch_done, NULL };

struct exchange *exchange_new_batch(struct exchange *inner)
{
	struct batch *batch = memory_get_zeroed(1, sizeof(*batch));

	exchange_init(&batch->exchange, &batch_kind);
	exchange_hold(inner);
	batch->inner = inner;
	return &batch->exchange;
}
