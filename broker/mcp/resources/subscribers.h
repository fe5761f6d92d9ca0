/* SPDX-License-Identifier: Apache-2.0
 *
 * Subscribers, a listen or a session of the legacy era, and their resources. The methods are in
 * subscriptions.c.
 */
#ifndef BROKER_MCP_RESOURCES_SUBSCRIBERS_H
#define BROKER_MCP_RESOURCES_SUBSCRIBERS_H

#include "mcp/asking/tasks.h"
#include "mcp/resources/resources.h"
#include "mcp/resources/subscriptions.h"

struct subscription;
struct topic;

#define TOPIC_BUCKETS 256U

/* Either `call` (a listen) or `session` is set. */
struct subscriber {
	struct subscriber *next_listen;
	struct call *call;
	struct session *session;
	unsigned int lists; /* enum host_list: the lists that it subscribed to */
	char (*task_ids)[TASK_ID_ROOM];
	size_t task_count;
	struct subscription *first;
	size_t count;
};

struct subscriptions {
	struct topic *buckets[TOPIC_BUCKETS];
	size_t topics;
	struct subscriber *listens;
	size_t listen_count;
	struct event *timer;
};

/* Return the host's subscriptions, made when first needed. */
struct subscriptions *subscriptions_get(struct host *host);

/* Subscribe to a resource. False: the subscriber has as many as it may. */
bool subscriber_add(struct host *host, struct subscriber *subscriber,
		    const struct resource *resource);

/* Unsubscribe; a missing subscription is no error. `uri` as the client wrote it before. */
void subscriber_remove(struct host *host, struct subscriber *subscriber,
		       const struct json_value *uri);
void subscriber_remove_all(struct host *host, struct subscriber *subscriber);

/* Return the exchange to it; NULL: there is none now. */
struct exchange *subscriber_way(const struct subscriber *subscriber);

/* Open a notification for it; for a listen it names the listen. */
void subscriber_open_notification(struct json_writer *writer, const struct subscriber *subscriber,
				  const char *method);

#endif
