/* SPDX-License-Identifier: Apache-2.0
 *
 * Notifications of changes: of resources (resources/subscribe in the legacy era,
 * subscriptions/listen in the modern one) and of this server's lists. A notification says only
 * that a resource changed, at most twice a second for each; the client then reads it.
 */
#ifndef BROKER_MCP_RESOURCES_SUBSCRIPTIONS_H
#define BROKER_MCP_RESOURCES_SUBSCRIPTIONS_H

#include "mcp/core/call.h"

/* Resources, and tasks, that one listen or one session of the legacy era may subscribe to. */
#define SUBSCRIBED_URIS_MAX 256U
/* Open listens of a session, and of the process. */
#define LISTENS_PER_SESSION_MAX 16U
#define LISTENS_MAX 1024U

struct subscriptions;

/* Answer the methods of subscriptions. */
void subscriptions_listen(const struct request *request);
void subscriptions_subscribe(const struct request *request);
void subscriptions_unsubscribe(const struct request *request);

/* Notify of a change of the resource at this URI, in the form that its template expands to. */
void host_resource_updated(struct host *host, const char *uri, size_t size);

/* Notify of a change of a list that the catalog declares as changing. */
void host_list_changed(struct host *host, enum host_list list);

/* End every listen with its result, when the server ends before its clients. */
void subscriptions_end(struct host *host);

/* Free the subscriptions, after all sessions. Returns NULL. */
struct subscriptions *subscriptions_free(struct subscriptions *subscriptions);

#endif
