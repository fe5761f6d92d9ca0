/* SPDX-License-Identifier: Apache-2.0
 *
 * The resources that clients may read: one row per kind, each with a URI template. Rows know which
 * resources a session has; another principal's resource does not exist for it.
 */
#ifndef BROKER_MCP_RESOURCES_RESOURCES_H
#define BROKER_MCP_RESOURCES_RESOURCES_H

#include <stdint.h>

#include "mcp/core/call.h"
#include "mcp/core/resource_uri.h"
#include "mcp/core/sandboxes.h"
#include "mcp/prompts/completion.h"

/* Bound of a result's content: as JSON, with every byte escaped as \u00NN, it stays below 1 MiB,
 * which each transport keeps for a slow client. */
#define RESOURCE_BYTES_MAX ((size_t)128 << 10)

/* Bytes that are quoted of a URI without a resource. */
#define RESOURCE_URI_SHOWN 2048U

/* An entry of resources/list. Empty texts: the row's text is used. */
struct resource_entry {
	struct resource_values values;
	struct buffer name;
	struct buffer title;
	struct buffer description;
	uint64_t size;
	bool has_size;
	int64_t modified_ms; /* since 1970; 0: not known */
};

/* A walk through the entries of a row: for a page, or for a completion. */
struct resource_walk {
	const struct resource_provider *row;
	struct page *page;             /* the page to write to; NULL: */
	struct completion *completion; /* offer the values of the variable at `place` */
	size_t place;
};

/* Count the next entry. True: describe it, and put it. */
bool resources_wants(const struct resource_walk *walk);

/* Put an entry, and free its buffers. */
void resources_put(const struct resource_walk *walk, struct resource_entry *entry);

/* A requested resource while it is read. */
struct resource {
	const struct resource_provider *provider;
	const char *uri; /* as the client wrote it, not terminated */
	size_t uri_size;
	struct resource_values values;
};

struct resource_provider {
	const char *uri_template; /* without a variable: one resource */
	const char *name;
	const char *title;
	const char *description;
	const char *mime_type;
	double priority;   /* 0 to 1 */
	bool is_piece;     /* part of another resource, which is the one to subscribe to */
	bool is_looked_up; /* `exists` only knows some: `read` finds the others, or refuses with
			      resources_refuse_call() */
	/* Return whether the policy gives it a sense; NULL: always. */
	bool (*is_offered)(const struct host *host);
	/* List the entries of this session: resources_put() each that is wanted. NULL: none. */
	void (*list)(const struct session *session, struct resource_walk *walk);
	/* Return true if the session has this resource. */
	bool (*exists)(const struct session *session, const struct resource_values *values);
	/* Answer with one of the functions below, now or later; the resource exists, and is only
	 * valid during the call. */
	void (*read)(struct call *call, const struct resource *resource);
	/* Offer values of the variable at `place`; `known` has the values that the client has given
	 * for the others. NULL: the values of the entries that can be listed. */
	void (*complete)(const struct session *session, size_t place,
			 const struct resource_values *known, struct completion *completion);
};

/* The product's resources. */
extern const struct resource_provider resource_log, resource_log_stream, resource_log_piece;
extern const struct resource_provider resource_diff, resource_file, resource_network;
extern const struct resource_provider resource_policy;

/* Answer the methods of resources. */
void resources_list(const struct request *request);
void resources_list_templates(const struct request *request);
void resources_read(const struct request *request);

/* Find the resource that `uri` (decoded) names for this session. False: there is none. */
bool resources_find(const struct session *session, const struct json_value *uri,
		    struct resource *ret);

/* Refuse a request for a missing resource. */
void resources_refuse_unknown(const struct request *request, const struct json_value *uri);

/* Refuse a call whose resource turned out to be missing; ends the call. */
void resources_refuse_call(struct call *call, const char *uri, size_t size);

/* Answer a resources/read and end the call: at most RESOURCE_BYTES_MAX bytes, as text when they are
 * UTF-8, otherwise in base64. `meta` is a JSON object for the content's _meta, or NULL. */
void resources_answer(struct call *call, const struct resource *resource,
		      const struct buffer *content, const struct buffer *meta);

/* --- changes of the product's resources ----------------------------------------------------- */

/* Notify subscribers of new output from now on. The watch is the host's. */
void resource_log_watch(struct host *host);

/* Notify subscribers of a changed policy. */
void resource_policy_changed(struct host *host);

/* Notify subscribers that the files of this sandbox have changed. */
void resource_diff_changed(struct host *host, const char *id);

/* Forget a sandbox that is gone, by the id or name that this client uses, and notify its
 * subscribers. */
void resource_diff_forget(const struct session *session, const char *called);

/* Notify subscribers from now on when an execution in their sandbox has ended. The watch is the
 * host's. */
void resource_diff_watch(struct host *host);

#endif
