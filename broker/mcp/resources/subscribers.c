/* SPDX-License-Identifier: Apache-2.0
 *
 * A topic is a resource with subscriptions, found by its URI; it holds a list of them. A
 * subscriber is a listen, or a session of the legacy era. One timer of the process sends delayed
 * notifications.
 */
#include "mcp/resources/subscribers.h"

#include <stdlib.h>
#include <string.h>

#include "io/clock.h"
#include "lib/heap/chain.h"
#include "lib/heap/memory.h"

/* Interval between two notifications of one resource, and between two rounds of the timer. */
#define UPDATE_MS 500
static const struct timeval tick_time = { .tv_usec = 100000 };

struct subscription {
	struct subscription *next;        /* next one of its topic */
	struct subscription *next_of_its; /* next one of its subscriber */
	struct topic *topic;
	struct subscriber *subscriber;
	bool is_due;       /* the last change has not been sent */
	struct buffer uri; /* as the client wrote it */
};

struct topic {
	struct topic *next; /* in its bucket */
	struct subscription *first;
	bool is_due;     /* at least one subscription is due */
	int64_t said_ms; /* time of the last notification, on the monotonic clock; 0: never */
	size_t size;
	char uri[];
};

/* --- topics --------------------------------------------------------------------------------- */

/* FNV-1a is enough: subscribers do not choose which URIs exist. */
static struct topic **bucket_of(struct subscriptions *all, const char *uri, size_t size)
{
	uint32_t hash = 2166136261U;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)uri[i]) * 16777619U;
	return &all->buckets[hash % TOPIC_BUCKETS];
}

/* Return the link to the topic of this URI, or to the end of its bucket. */
static struct topic **find_topic(struct subscriptions *all, const char *uri, size_t size)
{
	struct topic **link = bucket_of(all, uri, size);

	while (*link && ((*link)->size != size || memcmp((*link)->uri, uri, size) != 0))
		link = &(*link)->next;
	return link;
}

static struct topic *get_topic(struct subscriptions *all, const struct buffer *uri)
{
	struct topic **link = find_topic(all, uri->bytes, uri->size);

	if (!*link) {
		*link = memory_get_zeroed(1, sizeof(struct topic) + uri->size);
		(*link)->size = uri->size;
		memcpy((*link)->uri, uri->bytes, uri->size);
		all->topics++;
	}
	return *link;
}

static void drop_topic(struct subscriptions *all, const struct topic *topic)
{
	struct topic **link = find_topic(all, topic->uri, topic->size);
	struct topic *gone = *link;

	if (!gone)
		bug("a topic that is not in the table");
	*link = gone->next;
	all->topics--;
	free(gone);
}

/* --- notifications --------------------------------------------------------------------------- */

struct exchange *subscriber_way(const struct subscriber *subscriber)
{
	return subscriber->call ? subscriber->call->exchange : subscriber->session->channel;
}

void subscriber_open_notification(struct json_writer *writer, const struct subscriber *subscriber,
				  const char *method)
{
	message_open_notification(writer, method);
	if (!subscriber->call)
		return;
	json_open_object(writer, "_meta");
	message_put_subscription(writer, &subscriber->call->id);
	json_close_object(writer);
}

static void say_updated(const struct subscription *subscription, struct exchange *way)
{
	struct buffer line = { 0 };
	struct json_writer writer = { .out = &line };

	subscriber_open_notification(&writer, subscription->subscriber,
				     "notifications/resources/updated");
	json_put_string(&writer, "uri", subscription->uri.bytes, subscription->uri.size);
	exchange_close(way, &writer);
}

/* Notify the due subscribers; those with much unsent output stay due. */
static void flush_topic(struct topic *topic, int64_t now)
{
	topic->said_ms = now;
	topic->is_due = false;
	for (struct subscription *s = topic->first; s; s = s->next) {
		struct exchange *way = subscriber_way(s->subscriber);

		if (!s->is_due)
			continue;
		s->is_due = way && exchange_is_behind(way);
		topic->is_due |= s->is_due;
		if (way && !s->is_due)
			say_updated(s, way);
	}
}

static void start_timer(struct subscriptions *all)
{
	if (!evtimer_pending(all->timer, NULL) && event_add(all->timer, &tick_time) != 0)
		give_up("a timer");
}

/* Flush topics whose interval is over. True: some notifications still wait. */
static bool flush_bucket(struct topic *topic, int64_t now)
{
	bool is_waiting = false;

	for (; topic; topic = topic->next) {
		if (topic->is_due && now - topic->said_ms >= UPDATE_MS)
			flush_topic(topic, now);
		is_waiting |= topic->is_due;
	}
	return is_waiting;
}

static void on_timer(evutil_socket_t fd, short what, void *argument)
{
	struct subscriptions *all = argument;
	const int64_t now = clock_steady_ms();
	bool is_waiting = false;

	for (size_t i = 0; i < TOPIC_BUCKETS; i++)
		is_waiting |= flush_bucket(all->buckets[i], now);
	if (is_waiting)
		start_timer(all);
}

void host_resource_updated(struct host *host, const char *uri, size_t size)
{
	struct subscriptions *all = host->subscriptions;
	struct topic *topic = all && all->topics > 0 ? *find_topic(all, uri, size) : NULL;
	const int64_t now = clock_steady_ms();

	if (!topic)
		return;
	for (struct subscription *s = topic->first; s; s = s->next)
		s->is_due = true;
	topic->is_due = true;
	if (topic->said_ms == 0 || now - topic->said_ms >= UPDATE_MS)
		flush_topic(topic, now);
	if (topic->is_due)
		start_timer(all);
}

/* --- subscribing ---------------------------------------------------------------------------- */

struct subscriptions *subscriptions_get(struct host *host)
{
	struct subscriptions *all = host->subscriptions;

	if (all)
		return all;
	all = memory_get_zeroed(1, sizeof(*all));
	all->timer = evtimer_new(host->base, on_timer, all);
	if (!all->timer)
		give_up("memory for events");
	host->subscriptions = all;
	return all;
}

struct subscriptions *subscriptions_free(struct subscriptions *all)
{
	if (!all)
		return NULL;
	if (all->topics > 0 || all->listens)
		bug("subscriptions outlive their sessions");
	event_free(all->timer);
	free(all);
	return NULL;
}

static struct subscription *find_subscription(const struct subscriber *subscriber,
					      const struct topic *topic)
{
	struct subscription *s = subscriber->first;

	while (s && s->topic != topic)
		s = s->next_of_its;
	return s;
}

bool subscriber_add(struct host *host, struct subscriber *subscriber,
		    const struct resource *resource)
{
	struct subscriptions *all = subscriptions_get(host);
	struct subscription *added;
	struct buffer key = { 0 };
	struct topic *topic;

	/* the key is the same for every spelling of the URI */
	resource_uri_expand(resource->provider->uri_template, &resource->values, &key);
	topic = *find_topic(all, key.bytes, key.size);
	if (topic && find_subscription(subscriber, topic)) {
		buffer_done(&key);
		return true;
	}
	if (subscriber->count == SUBSCRIBED_URIS_MAX) {
		buffer_done(&key);
		return false;
	}
	topic = get_topic(all, &key);
	buffer_done(&key);
	added = memory_get_zeroed(1, sizeof(*added));
	added->topic = topic;
	added->subscriber = subscriber;
	buffer_append(&added->uri, resource->uri, resource->uri_size);
	added->next = topic->first;
	topic->first = added;
	added->next_of_its = subscriber->first;
	subscriber->first = added;
	subscriber->count++;
	return true;
}

static void drop_subscription(struct subscriptions *all, struct subscription *subscription)
{
	struct topic *topic = subscription->topic;
	struct subscriber *subscriber = subscription->subscriber;

	CHAIN_REMOVE(topic->first, subscription, next);
	CHAIN_REMOVE(subscriber->first, subscription, next_of_its);
	subscriber->count--;
	buffer_done(&subscription->uri);
	free(subscription);
	if (!topic->first)
		drop_topic(all, topic);
}

void subscriber_remove(struct host *host, struct subscriber *subscriber,
		       const struct json_value *uri)
{
	struct subscription *found = subscriber->first;

	while (found && (found->uri.size != uri->size ||
			 memcmp(found->uri.bytes, uri->text, uri->size) != 0))
		found = found->next_of_its;
	if (found)
		drop_subscription(host->subscriptions, found);
}

void subscriber_remove_all(struct host *host, struct subscriber *subscriber)
{
	struct subscription *next;

	for (struct subscription *s = subscriber->first; s; s = next) {
		next = s->next_of_its;
		drop_subscription(host->subscriptions, s);
	}
}
