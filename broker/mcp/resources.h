/* SPDX-License-Identifier: Apache-2.0
 *
 * What clients may read: one row per kind of resource, each with a URI template. Rows say which
 * resources the asker has; a resource that is not the asker's does not exist for it.
 */
#ifndef BROKER_MCP_RESOURCES_H
#define BROKER_MCP_RESOURCES_H

#include <stdint.h>

#include "mcp/call.h"
#include "mcp/completion.h"
#include "mcp/resource_uri.h"

/* No result holds more bytes of content: as JSON, with every byte escaped as \u00NN, it stays below
 * 1 MiB, which each transport keeps for a client that is slow. */
#define RESOURCE_BYTES_MAX ((size_t)128 << 10)

/* Of a URI that names nothing, this much is said back. */
#define RESOURCE_URI_SHOWN 2048U

enum resource_audience {
	AUDIENCE_USER = 1,
	AUDIENCE_ASSISTANT = 2,
};

/* What resources/list says of one. Empty texts: what the row says. The buffers are freed by the
 * caller. */
struct resource_entry {
	struct resource_values values;
	struct buffer name;
	struct buffer title;
	struct buffer description;
	uint64_t size;
	bool has_size;
	int64_t modified_ms; /* since 1970; 0: not known */
};

/* A resource that somebody names, while it is looked at. */
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
	unsigned int audience; /* enum resource_audience */
	double priority;       /* 0 to 1 */
	bool is_changing;      /* what is read may be another thing the next moment */
	bool is_piece;         /* of another resource: that is what one subscribes to */
	bool is_looked_up;     /* `exists` is of those that are known: `read` finds the others, or
				* refuses with resources_refuse_call() */
	/* What is listed for this session; both NULL: none. */
	size_t (*count)(const struct session *session);
	void (*describe)(const struct session *session, size_t place, struct resource_entry *ret);
	/* Is there such a one for this session? */
	bool (*exists)(const struct session *session, const struct resource_values *values);
	/* Answer with one of the functions below, now or later; the resource exists, and is only
	 * valid during the call. */
	void (*read)(struct call *call, const struct resource *resource);
	/* Offer values of the variable at `place`; `known` has those of the others that the client
	 * has given. NULL: none are offered. */
	void (*complete)(const struct session *session, size_t place,
			 const struct resource_values *known, struct completion *completion);
};

/* The methods. */
void resources_list(const struct request *request);
void resources_list_templates(const struct request *request);
void resources_read(const struct request *request);

/* The resource that `uri` (decoded) names for this session. False: there is none. */
bool resources_find(const struct session *session, const struct json_value *uri,
		    struct resource *ret);

/* Refuse a request for a resource that is not there. */
void resources_refuse_unknown(const struct request *request, const struct json_value *uri);

/* The same for one that turned out not to be there; ends the call. */
void resources_refuse_call(struct call *call, const char *uri, size_t size);

/* Answer a resources/read and end the call: at most RESOURCE_BYTES_MAX bytes, as text when they are
 * UTF-8, otherwise in base64. `mime_type` NULL: the row's, which is not said of a text that is
 * none.
 */
void resources_answer(struct call *call, const struct resource *resource, const char *mime_type,
		      const struct buffer *content);

/* The same of the row's type; `meta` is a JSON object for the content's _meta. */
void resources_answer_with(struct call *call, const struct resource *resource,
			   const struct buffer *content, const struct buffer *meta);

#endif
