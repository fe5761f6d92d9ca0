/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/resources/subscriptions.h"

#include <stdlib.h>
#include <string.h>

#include "executions/share.h"
#include "lib/heap/chain.h"
#include "lib/heap/memory.h"
#include "mcp/resources/subscribers.h"

static const char *list_method(enum host_list list)
{
	if (list == LIST_TOOLS)
		return "notifications/tools/list_changed";
	return list == LIST_PROMPTS ? "notifications/prompts/list_changed"
				    : "notifications/resources/list_changed";
}

static void say_list_changed(const struct subscriber *subscriber, enum host_list list)
{
	struct buffer line = { 0 };
	struct json_writer writer = { .out = &line };

	subscriber_open_notification(&writer, subscriber, list_method(list));
	exchange_close(subscriber_way(subscriber), &writer);
}

void host_list_changed(struct host *host, enum host_list list)
{
	const struct subscriptions *all = host->subscriptions;

	if ((host->catalog->changing & list) == 0)
		bug("a list that does not change changed");
	for (struct subscriber *s = all ? all->listens : NULL; s; s = s->next_listen) {
		if ((s->lists & list) != 0)
			say_list_changed(s, list);
	}
	for (struct session *s = host->sessions; s; s = s->next) {
		const struct subscriber legacy = { .session = s };

		if (s->version && s->channel)
			say_list_changed(&legacy, list);
	}
}

static bool watches_task(const struct subscriber *listen, const struct task *task)
{
	for (size_t i = 0; i < listen->task_count; i++) {
		if (task_is(task, listen->call->session->principal, listen->task_ids[i],
			    strlen(listen->task_ids[i])))
			return true;
	}
	return false;
}

static void say_task(const struct subscriber *listen, const struct task *task)
{
	struct buffer line = { 0 };
	struct json_writer writer = { .out = &line };

	subscriber_open_notification(&writer, listen, "notifications/tasks");
	task_put(&writer, task);
	exchange_close(subscriber_way(listen), &writer);
}

/* Notify of a change of the answer to tasks/get. A subscriber with much unsent output is left out:
 * it may poll. */
static void report_task(struct host *host, const struct task *task)
{
	const struct subscriptions *all = host->subscriptions;

	for (struct subscriber *s = all ? all->listens : NULL; s; s = s->next_listen) {
		if (watches_task(s, task) && !exchange_is_behind(subscriber_way(s)))
			say_task(s, task);
	}
}

/* --- the legacy era ------------------------------------------------------------------------- */

static void end_subscriptions(struct session *session)
{
	subscriber_remove_all(session->host, session->subscriber);
	free(session->subscriber);
	session->subscriber = NULL;
	session->end_subscriptions = NULL;
}

void subscriptions_subscribe(const struct request *request)
{
	struct session *session = request->session;
	const struct json_value *uri = request_string(request, "uri");
	struct resource resource;

	if (!uri)
		return;
	if (!resources_find(session, uri, &resource)) {
		resources_refuse_unknown(request, uri);
		return;
	}
	if (resource.provider->is_piece) {
		request_refuse(request, RPC_INVALID_PARAMS,
			       "This is a part of a resource; subscribe to the whole resource",
			       uri);
		return;
	}
	if (!session->subscriber) {
		session->subscriber = memory_get_zeroed(1, sizeof(struct subscriber));
		session->subscriber->session = session;
		session->end_subscriptions = end_subscriptions;
	}
	_Static_assert(SUBSCRIBED_URIS_MAX == 256, "the text below names it");
	if (subscriber_add(session->host, session->subscriber, &resource))
		request_answer_empty(request);
	else
		request_refuse(request, RPC_INVALID_PARAMS,
			       "This session is subscribed to 256 resources, which is the limit; "
			       "unsubscribe from one",
			       NULL);
}

void subscriptions_unsubscribe(const struct request *request)
{
	struct session *session = request->session;
	const struct json_value *uri = request_string(request, "uri");

	if (!uri)
		return;
	if (session->subscriber)
		subscriber_remove(session->host, session->subscriber, uri);
	request_answer_empty(request);
}

/* --- subscriptions/listen ------------------------------------------------------------------- */

static const struct {
	const char *member;
	enum host_list list;
} list_filters[] = {
	{ "toolsListChanged", LIST_TOOLS },
	{ "promptsListChanged", LIST_PROMPTS },
	{ "resourcesListChanged", LIST_RESOURCES },
};
#define LIST_FILTERS (sizeof(list_filters) / sizeof(list_filters[0]))

static struct json_value *wanted_uris(const struct request *request,
				      const struct json_value *filter)
{
	return json_member(request->document, filter, "resourceSubscriptions");
}

/* Tasks are only for clients that declared the extension. */
static struct json_value *wanted_tasks(const struct request *request,
				       const struct json_value *filter)
{
	if ((request_abilities(request) & ABILITY_TASKS) == 0)
		return NULL;
	return json_member(request->document, filter, "taskIds");
}

/* Check an optional array of strings; decodes them. */
static bool check_strings(const struct json_document *document, const struct json_value *array)
{
	if (!array)
		return true;
	if (array->kind != JSON_ARRAY || array->count > SUBSCRIBED_URIS_MAX)
		return false;
	for (struct json_value *v = json_first(document, array); v; v = json_next(document, v)) {
		if (v->kind != JSON_STRING)
			return false;
		json_decode(v);
	}
	return true;
}

/* Return the problem of the filter; NULL: none. Unknown members are ignored. */
static const char *check_filter(const struct request *request, const struct json_value *filter)
{
	const struct json_document *document = request->document;
	const struct json_value *uris = wanted_uris(request, filter);

	if (!filter)
		return "Invalid params: notifications must be an object";
	for (size_t i = 0; i < LIST_FILTERS; i++) {
		const struct json_value *v = json_member(document, filter, list_filters[i].member);

		if (v && v->kind != JSON_TRUE && v->kind != JSON_FALSE)
			return "Invalid params: toolsListChanged, promptsListChanged and "
			       "resourcesListChanged must be true or false";
	}
	if (!check_strings(document, uris))
		return "Invalid params: resourceSubscriptions must be an array of strings, at "
		       "most 256";
	if (!check_strings(document, wanted_tasks(request, filter)))
		return "Invalid params: taskIds must be an array of strings, at most 256";
	return NULL;
}

static const char *check_room(const struct session *session)
{
	const struct subscriptions *all = session->host->subscriptions;
	size_t own = 0, principals = 0;

	_Static_assert(LISTENS_PER_SESSION_MAX == 16 && LISTENS_MAX == 1024, "texts name them");
	for (const struct subscriber *s = all ? all->listens : NULL; s; s = s->next_listen) {
		own += s->call->session == session;
		principals += s->call->session->principal == session->principal;
	}
	if (own >= LISTENS_PER_SESSION_MAX)
		return "This client has 16 open subscriptions/listen, which is the limit; cancel "
		       "one";
	if (all && !share_allows(session->principal, principals, all->listen_count, LISTENS_MAX, 1))
		return "This client's share of the 1024 subscriptions/listen is open; cancel one";
	return NULL;
}

static void cancel_listen(struct call *call)
{
	struct subscriptions *all = call->session->host->subscriptions;
	struct subscriber *listen = call->work;

	subscriber_remove_all(call->session->host, listen);
	CHAIN_REMOVE(all->listens, listen, next_listen);
	all->listen_count--;
	free(listen->task_ids);
	free(listen);
}

static struct subscriber *new_listen(const struct request *request)
{
	struct subscriptions *all = subscriptions_get(request->session->host);
	struct subscriber *listen = memory_get_zeroed(1, sizeof(*listen));

	listen->call = call_new(request);
	listen->call->work = listen;
	listen->call->cancel = cancel_listen;
	listen->next_listen = all->listens;
	all->listens = listen;
	all->listen_count++;
	return listen;
}

/* Subscribe to the requested lists that change, and write their names. */
static void take_lists(const struct request *request, const struct json_value *filter,
		       struct subscriber *listen, struct json_writer *writer)
{
	const unsigned int changing = request->session->host->catalog->changing;

	for (size_t i = 0; i < LIST_FILTERS; i++) {
		const char *member = list_filters[i].member;

		if (!json_is(json_member(request->document, filter, member), JSON_TRUE) ||
		    (changing & list_filters[i].list) == 0)
			continue;
		listen->lists |= list_filters[i].list;
		json_put_bool(writer, member, true);
	}
}

/* Subscribe to the requested resources that exist, and write their URIs. */
static void take_uris(const struct request *request, const struct json_value *uris,
		      struct subscriber *listen, struct json_writer *writer)
{
	const struct json_document *document = request->document;
	struct resource resource;

	json_open_array(writer, "resourceSubscriptions");
	for (struct json_value *v = json_first(document, uris); v; v = json_next(document, v)) {
		if (!resources_find(request->session, v, &resource) || resource.provider->is_piece)
			continue;
		if (!subscriber_add(request->session->host, listen, &resource))
			bug("a checked filter does not fit");
		json_put_string(writer, NULL, v->text, v->size);
	}
	json_close_array(writer);
}

/* Subscribe to the requested tasks that exist, and write their ids. */
static void take_tasks(const struct request *request, const struct json_value *ids,
		       struct subscriber *listen, struct json_writer *writer)
{
	const struct json_document *document = request->document;
	struct session *session = request->session;

	listen->task_ids = memory_get_zeroed(ids->count + 1, sizeof(*listen->task_ids));
	json_open_array(writer, "taskIds");
	for (struct json_value *v = json_first(document, ids); v; v = json_next(document, v)) {
		if (!tasks_find(session->host, session->principal, v->text, v->size))
			continue;
		memcpy(listen->task_ids[listen->task_count++], v->text, v->size);
		json_put_string(writer, NULL, v->text, v->size);
	}
	json_close_array(writer);
	session->host->task_updated = report_task;
}

/* Begin a listen with its acknowledgement: the part of its filter that is honoured. */
static void start_listen(const struct request *request, const struct json_value *filter)
{
	struct subscriber *listen = new_listen(request);
	const struct json_value *uris = wanted_uris(request, filter);
	const struct json_value *tasks = wanted_tasks(request, filter);
	struct buffer line = { 0 };
	struct json_writer writer = { .out = &line };

	subscriber_open_notification(&writer, listen, "notifications/subscriptions/acknowledged");
	json_open_object(&writer, "notifications");
	take_lists(request, filter, listen, &writer);
	if (uris)
		take_uris(request, uris, listen, &writer);
	if (tasks)
		take_tasks(request, tasks, listen, &writer);
	json_close_object(&writer);
	exchange_close(listen->call->exchange, &writer);
}

void subscriptions_listen(const struct request *request)
{
	struct json_value *filter;
	const char *problem;

	if (!request_object(request, "notifications", &filter))
		return;
	problem = check_filter(request, filter);
	if (problem) {
		request_refuse(request, RPC_INVALID_PARAMS, problem, NULL);
		return;
	}
	problem = check_room(request->session);
	if (problem)
		request_refuse(request, RPC_INVALID_REQUEST, problem, NULL);
	else
		start_listen(request, filter);
}

static void end_listen(struct call *call)
{
	struct answer answer;

	cancel_listen(call);
	call_open_result(call, &answer);
	call_open_meta(call, &answer);
	message_put_subscription(&answer.writer, &call->id);
	json_close_object(&answer.writer);
	call_close_result(call, &answer);
}

void subscriptions_end(struct host *host)
{
	while (host->subscriptions && host->subscriptions->listens)
		end_listen(host->subscriptions->listens->call);
}
