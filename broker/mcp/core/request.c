/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/request.h"

#include <stdio.h>
#include <string.h>

#include "io/text.h"

#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"

struct json_value *request_param(const struct request *request, const char *name)
{
	struct json_value *value = json_member(request->document, request->message->params, name);

	return value && value->kind != JSON_NULL ? value : NULL;
}

static void refuse_kind(const struct request *request, const char *name, const char *wanted)
{
	struct buffer text = { 0 };

	buffer_format(&text, "Invalid params: %s must be %s", name, wanted);
	request_refuse_with(request, RPC_INVALID_PARAMS, &text, NULL);
}

struct json_value *request_string(const struct request *request, const char *name)
{
	struct json_value *value = request_param(request, name);

	if (!json_is(value, JSON_STRING)) {
		refuse_kind(request, name, "a string");
		return NULL;
	}
	json_decode(value);
	return value;
}

bool request_object(const struct request *request, const char *name, struct json_value **ret)
{
	struct json_value *value = request_param(request, name);

	if (value && value->kind != JSON_OBJECT) {
		refuse_kind(request, name, "an object");
		return false;
	}
	*ret = value;
	return true;
}

/* A modern client declares its abilities with each request; earlier requests do not count. */
unsigned int request_abilities(const struct request *request)
{
	if (request->era == ERA_LEGACY)
		return request->session->abilities;
	return ability_read(
		request->document,
		json_member(request->document, request->message->meta, META_CAPABILITIES));
}

void request_refuse_with(const struct request *request, enum rpc_code code, struct buffer *text,
			 struct buffer *data)
{
	exchange_refuse(request->exchange, &request->message->id, code, text->bytes, data);
	buffer_done(text);
	if (data)
		buffer_done(data);
}

void request_refuse(const struct request *request, enum rpc_code code, const char *text,
		    const struct json_value *value)
{
	struct buffer message = { 0 };

	buffer_append_text(&message, text);
	if (value)
		buffer_format(&message, ": %s", text_quoted(value->text, value->size, QUOTE_BYTES));
	request_refuse_with(request, code, &message, NULL);
}

void answer_begin(struct answer *answer, const struct rpc_id *id, enum era era, const char *type)
{
	memset(answer, 0, sizeof(*answer));
	answer->writer.out = &answer->line;
	message_open_result(&answer->writer, id, era, type);
}

void answer_send(struct answer *answer, struct exchange *exchange, enum era era)
{
	if (!answer->has_meta && era == ERA_MODERN) {
		message_open_meta(&answer->writer, era);
		json_close_object(&answer->writer);
	}
	message_close(&answer->writer);
	exchange_answer(exchange, &answer->line, 0);
	buffer_done(&answer->line);
}

void request_open_result(const struct request *request, struct answer *answer)
{
	answer_begin(answer, &request->message->id, request->era, "complete");
}

void answer_put_caching(struct answer *answer, enum era era, uint32_t ttl_ms)
{
	if (era != ERA_MODERN)
		return;
	json_put_number(&answer->writer, "ttlMs", ttl_ms);
	json_put_text(&answer->writer, "cacheScope", "private");
}

void request_close_result(const struct request *request, struct answer *answer)
{
	answer_send(answer, request->exchange, request->era);
}

void request_answer_empty(const struct request *request)
{
	struct answer answer;

	request_open_result(request, &answer);
	request_close_result(request, &answer);
}

/* --- abilities of a client ------------------------------------------------------------------ */

/* Abilities that are a member of the capabilities by themselves. */
static const struct {
	enum ability ability;
	const char *member;
} members[] = {
	{ ABILITY_ELICITATION, "elicitation" },
	{ ABILITY_SAMPLING, "sampling" },
	{ ABILITY_ROOTS, "roots" },
};
#define MEMBER_COUNT (sizeof(members) / sizeof(members[0]))

/* An empty object means forms; an object that names only other modes does not. */
static bool has_forms(const struct json_document *document, const struct json_value *elicitation)
{
	return json_member(document, elicitation, "form") ||
	       !json_member(document, elicitation, "url");
}

unsigned int ability_read(const struct json_document *document,
			  const struct json_value *capabilities)
{
	const struct json_value *extensions = json_member(document, capabilities, "extensions");
	unsigned int abilities = 0;

	for (size_t i = 0; i < MEMBER_COUNT; i++) {
		const struct json_value *member =
			json_member(document, capabilities, members[i].member);

		if (json_is(member, JSON_OBJECT) &&
		    (members[i].ability != ABILITY_ELICITATION || has_forms(document, member)))
			abilities |= members[i].ability;
	}
	if (json_is(json_member(document, extensions, TASKS_EXTENSION), JSON_OBJECT))
		abilities |= ABILITY_TASKS;
	return abilities;
}

static void put_empty(struct json_writer *writer, const char *key)
{
	json_open_object(writer, key);
	json_close_object(writer);
}

/* Write a capabilities object that declares the set. */
static void ability_put(struct json_writer *writer, const char *key, unsigned int abilities)
{
	json_open_object(writer, key);
	for (size_t i = 0; i < MEMBER_COUNT; i++) {
		if ((abilities & members[i].ability) != 0)
			put_empty(writer, members[i].member);
	}
	if ((abilities & ABILITY_TASKS) != 0) {
		json_open_object(writer, "extensions");
		put_empty(writer, TASKS_EXTENSION);
		json_close_object(writer);
	}
	json_close_object(writer);
}

/* Return the name, for a sentence, of the lowest ability in the set. */
static const char *ability_name(unsigned int abilities)
{
	for (size_t i = 0; i < MEMBER_COUNT; i++) {
		if ((abilities & members[i].ability) != 0)
			return members[i].member;
	}
	return "the extension " TASKS_EXTENSION;
}

void ability_put_missing(unsigned int missing, struct buffer *text, struct buffer *data)
{
	struct json_writer writer = { .out = data };

	buffer_format(text, "Nothing was done: the client has not declared %s.",
		      ability_name(missing));
	json_open_object(&writer, NULL);
	ability_put(&writer, "requiredCapabilities", missing);
	json_close_object(&writer);
}

void request_refuse_abilities(const struct request *request, unsigned int missing)
{
	struct buffer text = { 0 }, data = { 0 };

	ability_put_missing(missing, &text, &data);
	request_refuse_with(request, RPC_CAPABILITY_MISSING, &text, &data);
}

/* --- pages of a list ------------------------------------------------------------------------ */

#define CURSOR_PREFIX "after-"
#define CURSOR_ROOM 32

static void print_cursor(size_t place, char ret[CURSOR_ROOM])
{
	(void)snprintf(ret, CURSOR_ROOM, CURSOR_PREFIX "%zu", place);
}

/* A cursor is valid only at the beginning of a page, so it is compared with each of those few. */
static bool find_page(struct json_value *cursor, size_t count, size_t *ret_first)
{
	char text[CURSOR_ROOM];

	for (size_t place = PAGE_ENTRIES; place < count; place += PAGE_ENTRIES) {
		print_cursor(place, text);
		if (json_equals(cursor, text)) {
			*ret_first = place;
			return true;
		}
	}
	return false;
}

static bool begin_page(const struct request *request, size_t count, size_t *ret_first)
{
	struct json_value *cursor = request_param(request, "cursor");

	*ret_first = 0;
	if (!cursor || json_equals(cursor, "") || find_page(cursor, count, ret_first))
		return true;
	request_refuse(request, RPC_INVALID_PARAMS,
		       "Invalid params: unknown cursor; leave it out to begin at the first page",
		       NULL);
	return false;
}

static void put_cursor(struct json_writer *writer, size_t end, size_t count)
{
	char text[CURSOR_ROOM];

	if (end == count)
		return;
	print_cursor(end, text);
	json_put_text(writer, "nextCursor", text);
}

bool page_takes(struct page *page)
{
	const size_t place = page->count++;

	return place >= page->first && place < page->end;
}

void page_answer(const struct request *request, const char *member, uint32_t ttl_ms,
		 void (*list)(struct page *page, const struct session *session))
{
	struct page all = { .end = 0 };
	struct answer answer;
	struct page page = { .writer = &answer.writer };

	list(&all, request->session);
	if (!begin_page(request, all.count, &page.first))
		return;
	page.end = all.count - page.first > PAGE_ENTRIES ? page.first + PAGE_ENTRIES : all.count;
	request_open_result(request, &answer);
	json_open_array(&answer.writer, member);
	list(&page, request->session);
	json_close_array(&answer.writer);
	put_cursor(&answer.writer, page.end, all.count);
	answer_put_caching(&answer, request->era, ttl_ms);
	request_close_result(request, &answer);
}
