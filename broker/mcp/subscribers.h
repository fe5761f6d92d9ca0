/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is told of changes, a listen or a session of the legacy era, and of which resources. The
 * methods are in subscriptions.c.
 */
#ifndef BROKER_MCP_SUBSCRIBERS_H
#define BROKER_MCP_SUBSCRIBERS_H

#include "mcp/resources.h"
#include "mcp/subscriptions.h"
#include "mcp/tasks.h"

struct subscription;
struct topic;

#define TOPIC_BUCKETS 256U

/* One of `call` (a listen) and `session` is set. */
struct subscriber {
	struct subscriber *next_listen, *previous_listen;
	struct call *call;
	struct session *session;
	unsigned int lists; /* enum host_list: of these it wants to know */
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

/* The host's, made when first needed. */
struct subscriptions *subscriptions_get(struct host *host);

/* False: the subscriber has as many as it may. */
bool subscriber_add(struct host *host, struct subscriber *subscriber,
		    const struct resource *resource);

/* What it is not subscribed to is no mistake. `uri` as the client wrote it before. */
void subscriber_remove(struct host *host, struct subscriber *subscriber,
		       const struct json_value *uri);
void subscriber_remove_all(struct host *host, struct subscriber *subscriber);

/* The way to it; NULL: there is none now. */
struct exchange *subscriber_way(const struct subscriber *subscriber);

/* The beginning of a notification for it: a listen's names the listen. */
void subscriber_open_notification(struct json_writer *writer, const struct subscriber *subscriber,
				  const char *method);

#endif
