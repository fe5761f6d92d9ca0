/* SPDX-License-Identifier: Apache-2.0 */
#include "dialogue.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json/read.h"
#include "mcp/core/message.h"
#include "property.h"

#define NAMES_MAX 4096

/* An id of a request, or a token of progress. */
struct name {
	struct rpc_id id;
	uint32_t sent;
	uint32_t answered;
	double progress;     /* of a token: the last */
	struct name *holder; /* of a token: the request that brought it */
};

struct names {
	struct name list[NAMES_MAX];
	size_t count;
};

static struct names ids, tokens;
static size_t nulls_left; /* answers to nobody: at most one for each value that was sent */

static void forget(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		rpc_id_done(&names->list[i].id);
	memset(names->list, 0, names->count * sizeof(names->list[0]));
	names->count = 0;
}

void dialogue_reset(void)
{
	forget(&ids);
	forget(&tokens);
	nulls_left = 0;
}

/* As it came, not by what it means: an answer echoes that. Takes the id over. */
static struct name *find(struct names *names, struct rpc_id *id, bool may_add)
{
	size_t i = 0;

	while (i < names->count &&
	       (names->list[i].id.raw.size != id->raw.size ||
		memcmp(names->list[i].id.raw.bytes, id->raw.bytes, id->raw.size) != 0))
		i++;
	if (i < names->count || !may_add || i == NAMES_MAX) {
		rpc_id_done(id);
		return i < names->count ? &names->list[i] : NULL;
	}
	names->list[names->count++].id = *id;
	return &names->list[i];
}

static struct name *find_value(struct names *names, struct json_value *value, bool may_add)
{
	struct rpc_id id = { 0 };

	return value && rpc_id_read(value, &id) ? find(names, &id, may_add) : NULL;
}

static void said_value(const struct json_document *document, struct json_value *value)
{
	const struct json_value *params = json_member(document, value, "params");
	const struct json_value *meta = json_member(document, params, "_meta");
	struct name *name = find_value(&ids, json_member(document, value, "id"), true);
	struct name *token = NULL;

	nulls_left++;
	if (!name)
		return;
	name->sent++;
	token = find_value(&tokens, json_member(document, meta, "progressToken"), true);
	if (!token)
		return;
	if (token->sent == 0)
		token->progress = -1; /* 0 is progress too, once */
	token->sent++;
	token->holder = name;
}

void dialogue_said(const void *line, size_t size)
{
	static const char mark[] = "\xef\xbb\xbf";
	const char *text = line;
	struct json_document document;
	char *copy;

	if (size > 0 && text[size - 1] == '\n')
		size--;
	if (size > 0 && text[size - 1] == '\r')
		size--;
	if (size >= 3 && memcmp(text, mark, 3) == 0) {
		text += 3;
		size -= 3;
	}
	copy = malloc(size + 1);
	must(copy != NULL);
	memcpy(copy, text, size);
	(void)json_read(&document, copy, size);
	struct json_value *top = json_top(&document);
	if (json_is(top, JSON_ARRAY)) {
		for (struct json_value *v = json_first(&document, top); v;
		     v = json_next(&document, v))
			said_value(&document, v);
	}
	said_value(&document, top);
	json_done(&document);
	free(copy);
}

static void heard_progress(const struct json_document *document, const struct json_value *params)
{
	struct json_value *value = json_member(document, params, "progressToken");
	const struct json_value *progress = json_member(document, params, "progress");
	struct name *token = find_value(&tokens, value, false);
	char text[64] = { 0 };

	must(json_is(progress, JSON_NUMBER) && progress->size < sizeof(text));
	if (tokens.count == NAMES_MAX)
		return;
	must(token != NULL);
	memcpy(text, progress->text, progress->size);
	/* several requests with one token: whose it is cannot be told */
	if (token->sent > 1 || token->holder->sent > 1)
		return;
	must(strtod(text, NULL) > token->progress);
	must(token->holder->answered == 0);
	token->progress = strtod(text, NULL);
}

static void heard_answer(const struct json_document *document, struct json_value *answer)
{
	struct json_value *id = json_member(document, answer, "id");
	struct name *name;

	must(id != NULL);
	must((json_member(document, answer, "result") != NULL) !=
	     (json_member(document, answer, "error") != NULL));
	if (json_is(id, JSON_NULL)) {
		must(nulls_left > 0);
		nulls_left--;
		return;
	}
	name = find_value(&ids, id, false);
	must(name != NULL || ids.count == NAMES_MAX);
	if (!name)
		return;
	must(name->answered < name->sent);
	name->answered++;
}

static void heard_value(const struct json_document *document, struct json_value *value)
{
	struct json_value *method = json_member(document, value, "method");

	must(json_is(value, JSON_OBJECT));
	if (!method) {
		heard_answer(document, value);
		return;
	}
	must(json_is(method, JSON_STRING) && !json_member(document, value, "result"));
	if (json_equals(method, "notifications/progress"))
		heard_progress(document, json_member(document, value, "params"));
}

void dialogue_heard(const char *line)
{
	const size_t size = strlen(line);
	struct json_document document;
	char *copy = strdup(line);

	must(copy != NULL);
	must(json_read(&document, copy, size) == JSON_OK);
	struct json_value *top = json_top(&document);
	if (json_is(top, JSON_ARRAY)) {
		must(top->count > 0);
		for (struct json_value *v = json_first(&document, top); v;
		     v = json_next(&document, v))
			heard_value(&document, v);
	} else {
		heard_value(&document, top);
	}
	json_done(&document);
	free(copy);
}
