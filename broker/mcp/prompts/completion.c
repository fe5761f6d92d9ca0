/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/prompts/completion.h"

#include <string.h>

#include "mcp/prompts/prompts.h"
#include "mcp/resources/resources.h"

/* The protocol's bound. */
#define VALUES_MAX 100U

void completion_offer(struct completion *completion, const char *value)
{
	if (strlen(value) < completion->prefix_size ||
	    memcmp(value, completion->prefix, completion->prefix_size) != 0)
		return;
	if (completion->total < VALUES_MAX)
		json_put_text(completion->writer, NULL, value);
	completion->total++;
}

/* Offer the names in "python, bash". */
static void offer_names(struct completion *completion, const char *names)
{
	char name[IPC_NAME_MAX];

	while (*names) {
		const size_t size = strcspn(names, ",");

		if (size < sizeof(name)) {
			memcpy(name, names, size);
			name[size] = '\0';
			completion_offer(completion, name);
		}
		names += size;
		names += strspn(names, ", ");
	}
}

/* The subject of a completion. */
struct subject {
	const struct prompt *prompt; /* or this */
	const struct resource_provider *provider;
	size_t place; /* index of the argument or variable */
	struct resource_values known;
};

static void offer_variable(const struct session *session, const struct subject *subject,
			   struct completion *completion)
{
	const struct resource_provider *row = subject->provider;
	struct resource_walk walk = { .row = row,
				      .completion = completion,
				      .place = subject->place };

	if (row->complete)
		row->complete(session, subject->place, &subject->known, completion);
	else if (row->list)
		row->list(session, &walk);
}

static void offer_values(const struct request *request, const struct subject *subject,
			 struct completion *completion)
{
	const struct posture *posture = &request->session->host->posture;

	if (subject->provider) {
		offer_variable(request->session, subject, completion);
		return;
	}
	switch (subject->prompt->arguments[subject->place].source) {
	case COMPLETION_LANGUAGES:
		offer_names(completion, posture->languages);
		break;
	case COMPLETION_PROFILES:
		offer_names(completion, posture->profiles);
		break;
	case COMPLETION_NONE:
		break;
	}
}

static void answer_values(const struct request *request, const struct subject *subject,
			  const struct json_value *prefix)
{
	struct answer answer;
	struct completion completion = { .prefix = prefix->text,
					 .prefix_size = prefix->size,
					 .writer = &answer.writer };

	request_open_result(request, &answer);
	json_open_object(&answer.writer, "completion");
	json_open_array(&answer.writer, "values");
	offer_values(request, subject, &completion);
	json_close_array(&answer.writer);
	json_put_number(&answer.writer, "total", completion.total);
	json_put_bool(&answer.writer, "hasMore", completion.total > VALUES_MAX);
	json_close_object(&answer.writer);
	request_close_result(request, &answer);
}

/* Read a string of one of the parameter's objects, decoded. NULL: the request has been refused. */
static struct json_value *string_in(const struct request *request, const struct json_value *object,
				    const char *name, const char *problem)
{
	struct json_value *value = json_member(request->document, object, name);

	if (!json_is(value, JSON_STRING)) {
		request_refuse(request, RPC_INVALID_PARAMS, problem, NULL);
		return NULL;
	}
	json_decode(value);
	return value;
}

static bool find_argument(const struct request *request, struct json_value *ref,
			  struct json_value *argument, struct subject *subject)
{
	struct json_value *name =
		string_in(request, ref, "name", "Invalid params: ref.name must be a prompt's name");
	int place = -1;

	if (!name)
		return false;
	subject->prompt = prompts_find(request->session, name);
	if (subject->prompt)
		place = prompts_find_argument(subject->prompt, argument);
	subject->place = (size_t)place;
	if (!subject->prompt)
		request_refuse(request, RPC_INVALID_PARAMS,
			       "Unknown prompt; prompts/list shows them", name);
	else if (place < 0)
		request_refuse(request, RPC_INVALID_PARAMS,
			       "The prompt has no argument of this name", argument);
	return place >= 0;
}

static const struct resource_provider *find_template(const struct request *request,
						     struct json_value *uri)
{
	const struct resource_provider *const *row = request->session->host->catalog->resources;

	while (*row && !json_equals(uri, (*row)->uri_template))
		row++;
	return *row;
}

/* Read the variables that already have values at the client; invalid values are ignored. */
static void take_known(const struct request *request, const struct json_value *context,
		       struct subject *subject)
{
	const struct json_document *document = request->document;
	const char *uri_template = subject->provider->uri_template;
	const struct json_value *known = json_member(document, context, "arguments");

	for (struct json_value *v = json_first(document, known);
	     v && json_is(known, JSON_OBJECT) && json_is(v, JSON_STRING);
	     v = json_next(document, v)) {
		const int place = resource_uri_find(uri_template, v->key, v->key_size);

		json_decode(v);
		if (place >= 0 && v->size < RESOURCE_VALUE_MAX)
			memcpy(subject->known.value[place], v->text, v->size);
	}
}

static bool find_variable(const struct request *request, struct json_value *ref,
			  const struct json_value *argument, struct subject *subject)
{
	struct json_value *context = NULL;
	struct json_value *uri =
		string_in(request, ref, "uri", "Invalid params: ref.uri must be a URI template");
	int place = -1;

	if (!uri || !request_object(request, "context", &context))
		return false;
	subject->provider = find_template(request, uri);
	if (subject->provider)
		place = resource_uri_find(subject->provider->uri_template, argument->text,
					  argument->size);
	subject->place = (size_t)place;
	if (!subject->provider)
		request_refuse(request, RPC_INVALID_PARAMS,
			       "Unknown URI template; resources/templates/list shows them", uri);
	else if (place < 0)
		request_refuse(request, RPC_INVALID_PARAMS,
			       "The URI template has no variable of this name", argument);
	else
		take_known(request, context, subject);
	return place >= 0;
}

void completion_complete(const struct request *request)
{
	static const char bad_ref[] =
		"Invalid params: ref must be an object whose type is ref/prompt or ref/resource";
	struct json_value *ref = request_param(request, "ref");
	const struct json_value *argument = request_param(request, "argument");
	struct json_value *type = json_member(request->document, ref, "type");
	struct json_value *name, *value;
	struct subject subject = { .prompt = NULL };
	bool is_found;

	name = string_in(request, argument, "name",
			 "Invalid params: argument must be an object with the strings name and "
			 "value");
	if (!name)
		return;
	value = string_in(request, argument, "value",
			  "Invalid params: argument.value must be a string");
	if (!value)
		return;
	if (json_equals(type, "ref/prompt")) {
		is_found = find_argument(request, ref, name, &subject);
	} else if (json_equals(type, "ref/resource")) {
		is_found = find_variable(request, ref, name, &subject);
	} else {
		request_refuse(request, RPC_INVALID_PARAMS, bad_ref, NULL);
		return;
	}
	if (is_found)
		answer_values(request, &subject, value);
}
