/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/resources/resources.h"

#include <string.h>

#include "frontend/utf8.h"
#include "io/clock.h"
#include "io/text.h"
#include "lib/heap/memory.h"
#include "mcp/core/request.h"

static bool is_offered(const struct session *session, const struct resource_provider *row)
{
	return !row->is_offered || row->is_offered(session->host);
}

/* Walk through the rows that the policy gives a sense, from `at` on, which moves behind the one
 * that is returned. NULL: it was the last. */
static const struct resource_provider *next_offered(const struct session *session,
						    const struct resource_provider *const **at)
{
	while (**at && !is_offered(session, **at))
		++*at;
	return **at ? *(*at)++ : NULL;
}

static const struct resource_provider *const *first_row(const struct session *session)
{
	return session->host->catalog->resources;
}

/* --- lists ---------------------------------------------------------------------------------- */

static void put_annotations(struct json_writer *writer, const struct resource_provider *row,
			    int64_t modified_ms)
{
	json_open_object(writer, "annotations");
	json_open_array(writer, "audience");
	json_put_text(writer, NULL, "user");
	json_put_text(writer, NULL, "assistant");
	json_close_array(writer);
	json_put_double(writer, "priority", row->priority);
	if (modified_ms > 0)
		clock_put_date(writer, "lastModified", modified_ms);
	json_close_object(writer);
}

/* Put the entry's own text, or else its row's text. */
static void put_either(struct json_writer *writer, const char *key, const struct buffer *text,
		       const char *otherwise)
{
	if (text->size > 0)
		json_put_string(writer, key, text->bytes, text->size);
	else
		json_put_text(writer, key, otherwise);
}

static void put_entry(struct json_writer *writer, const struct resource_provider *row,
		      const struct resource_entry *entry)
{
	struct buffer uri = { 0 };

	resource_uri_expand(row->uri_template, &entry->values, &uri);
	json_open_object(writer, NULL);
	json_put_string(writer, "uri", uri.bytes, uri.size);
	put_either(writer, "name", &entry->name, row->name);
	put_either(writer, "title", &entry->title, row->title);
	put_either(writer, "description", &entry->description, row->description);
	json_put_text(writer, "mimeType", row->mime_type);
	put_annotations(writer, row, entry->modified_ms);
	if (entry->has_size)
		json_put_number(writer, "size", entry->size);
	json_close_object(writer);
	buffer_done(&uri);
}

bool resources_wants(const struct resource_walk *walk)
{
	return !walk->page || page_takes(walk->page);
}

void resources_put(const struct resource_walk *walk, struct resource_entry *entry)
{
	if (walk->page)
		put_entry(walk->page->writer, walk->row, entry);
	else
		completion_offer(walk->completion, entry->values.value[walk->place]);
	buffer_done(&entry->name);
	buffer_done(&entry->title);
	buffer_done(&entry->description);
}

/* Put the entries of all rows, one row after the other. */
static void put_entries(struct page *page, const struct session *session)
{
	const struct resource_provider *const *at = first_row(session);
	struct resource_walk walk = { .page = page };

	while ((walk.row = next_offered(session, &at))) {
		if (walk.row->list)
			walk.row->list(session, &walk);
	}
}

void resources_list(const struct request *request)
{
	page_answer(request, "resources", 0, put_entries); /* logs come and go with executions */
}

static void put_template(struct json_writer *writer, const struct resource_provider *row)
{
	json_open_object(writer, NULL);
	json_put_text(writer, "uriTemplate", row->uri_template);
	json_put_text(writer, "name", row->name);
	json_put_text(writer, "title", row->title);
	json_put_text(writer, "description", row->description);
	json_put_text(writer, "mimeType", row->mime_type);
	put_annotations(writer, row, 0);
	json_close_object(writer);
}

static void put_templates(struct page *page, const struct session *session)
{
	const struct resource_provider *const *at = first_row(session), *row;

	while ((row = next_offered(session, &at))) {
		if (resource_uri_has_variables(row->uri_template) && page_takes(page))
			put_template(page->writer, row);
	}
}

void resources_list_templates(const struct request *request)
{
	page_answer(request, "resourceTemplates", ANSWER_TTL_MS, put_templates);
}

/* --- one resource --------------------------------------------------------------------------- */

bool resources_find(const struct session *session, const struct json_value *uri,
		    struct resource *ret)
{
	const struct resource_provider *const *at = first_row(session), *row;

	ret->provider = NULL;
	ret->uri = uri->text;
	ret->uri_size = uri->size;
	while ((row = next_offered(session, &at))) {
		if (!resource_uri_match(row->uri_template, uri->text, uri->size, &ret->values))
			continue;
		ret->provider = row;
		return row->exists(session, &ret->values);
	}
	return false;
}

/* Answer that there is no such resource. */
static void refuse_unknown(const struct session *session, struct exchange *exchange,
			   const struct rpc_id *id, enum era era, const char *uri, size_t size)
{
	const struct resource_provider *const *at = first_row(session),
					      *row = next_offered(session, &at);
	struct buffer text = { 0 }, data = { 0 };
	struct json_writer writer = { .out = &data };

	buffer_format(&text,
		      "Resource not found: %s. resources/list shows the resources; their URIs look "
		      "like: ",
		      text_quoted(uri, size, QUOTE_BYTES));
	while (row) {
		buffer_append_text(&text, row->uri_template);
		row = next_offered(session, &at);
		buffer_append_text(&text, row ? ", " : "");
	}
	json_open_object(&writer, NULL);
	json_put_string(&writer, "uri", uri,
			text_fit_first(uri, size, RESOURCE_URI_SHOWN, TEXT_JUDGED));
	json_close_object(&writer);
	exchange_refuse(exchange, id,
			era == ERA_MODERN ? RPC_INVALID_PARAMS : RPC_RESOURCE_NOT_FOUND, text.bytes,
			&data);
	buffer_done(&text);
	buffer_done(&data);
}

void resources_refuse_unknown(const struct request *request, const struct json_value *uri)
{
	refuse_unknown(request->session, request->exchange, &request->message->id, request->era,
		       uri->text, uri->size);
}

void resources_refuse_call(struct call *call, const char *uri, size_t size)
{
	refuse_unknown(call->session, call->exchange, &call->id, call->era, uri, size);
	call_end(call);
}

void resources_read(const struct request *request)
{
	struct json_value *uri = request_string(request, "uri");
	struct resource resource;
	struct call *call;

	if (!uri)
		return;
	if (resources_find(request->session, uri, &resource) ||
	    (resource.provider && resource.provider->is_looked_up)) {
		call = call_new(request);
		call->is_plain = true;
		resource.provider->read(call, &resource);
	} else {
		resources_refuse_unknown(request, uri);
	}
}

/* --- answers -------------------------------------------------------------------------------- */

/* Return the row's type, unless it is a text type and the content is not text. */
static const char *type_of(const struct resource *resource, bool is_text)
{
	const char *type = resource->provider->mime_type;

	return is_text || strncmp(type, "text/", 5) != 0 ? type : "application/octet-stream";
}

void resources_answer(struct call *call, const struct resource *resource,
		      const struct buffer *content, const struct buffer *meta)
{
	const bool is_text = utf8_is_valid(content->bytes, content->size);
	struct answer answer;
	struct json_writer *writer = &answer.writer;

	if (content->size > RESOURCE_BYTES_MAX)
		bug("a resource's content beyond its bound");
	call_open_result(call, &answer);
	json_open_array(writer, "contents");
	json_open_object(writer, NULL);
	json_put_string(writer, "uri", resource->uri, resource->uri_size);
	json_put_text(writer, "mimeType", type_of(resource, is_text));
	if (is_text)
		json_put_string(writer, "text", content->bytes, content->size);
	else
		json_put_base64(writer, "blob", content->bytes, content->size);
	if (meta)
		json_put_raw(writer, "_meta", meta->bytes, meta->size);
	json_close_object(writer);
	json_close_array(writer);
	answer_put_caching(&answer, call->era, 0); /* it may change at any time */
	call_close_result(call, &answer);
}
