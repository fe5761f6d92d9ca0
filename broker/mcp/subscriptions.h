/* SPDX-License-Identifier: Apache-2.0
 *
 * Who wants to be told of changes: of resources (resources/subscribe in the legacy era,
 * subscriptions/listen in the modern one) and of the lists that this server offers. That something
 * changed is all that is said, at most twice a second for each resource; what it is now, the client
 * reads.
 */
#ifndef BROKER_MCP_SUBSCRIPTIONS_H
#define BROKER_MCP_SUBSCRIPTIONS_H

#include "mcp/call.h"

/* Resources, and tasks, that one listen, or one session of the legacy era, may be subscribed to. */
#define SUBSCRIBED_URIS_MAX 256U
/* Open listens of a session, and of the process. */
#define LISTENS_PER_SESSION_MAX 16U
#define LISTENS_MAX 1024U

struct subscriptions;

/* The methods. */
void subscriptions_listen(const struct request *request);
void subscriptions_subscribe(const struct request *request);
void subscriptions_unsubscribe(const struct request *request);

/* The resource at this URI, in the form that its template expands to, is not what it was. */
void host_resource_updated(struct host *host, const char *uri, size_t size);

/* One of the lists that the catalog calls changing is not what it was. */
void host_list_changed(struct host *host, enum host_list list);

/* What tasks/get says of the task is not what it was. Whoever does not read is not told: it may
 * poll. */
void host_task_updated(struct host *host, const struct task *task);

/* A legacy session ends: forget what it subscribed to. */
void subscriptions_drop_session(struct session *session);

/* End every listen with its result: this server goes down while its clients still listen. */
void subscriptions_end(struct host *host);

/* Free what is left; no session is. Returns NULL. */
struct subscriptions *subscriptions_free(struct subscriptions *subscriptions);

#endif
