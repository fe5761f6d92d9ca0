/* SPDX-License-Identifier: Apache-2.0
 *
 * The protocol's two eras: revisions negotiated by `initialize`, and revisions that every request
 * names in its _meta. Each request is classified by itself; both eras may share a connection.
 */
#ifndef BROKER_MCP_CORE_ERA_H
#define BROKER_MCP_CORE_ERA_H

#include "frontend/json_write.h"
#include "lib/json/read.h"

enum era {
	ERA_LEGACY = 1,
	ERA_MODERN = 2,
};

enum era_check {
	ERA_FINE,
	ERA_META_INVALID,        /* *ret_problem has the reason */
	ERA_VERSION_UNSUPPORTED, /* *ret_version is the requested version */
};

/* Return true if a request with this `_meta` (NULL: none) claims to be of the modern era. */
bool era_is_claimed(const struct json_document *document, const struct json_value *meta);

/* Return the version that it claims, of any JSON type; NULL: none. */
struct json_value *era_claimed_version(const struct json_document *document,
				       const struct json_value *meta);

/* Return true if the broker speaks `version` of this era. */
bool era_knows_legacy(const char *version);
bool era_knows_modern(const char *version);

/* Check the members that every modern request must carry. */
enum era_check era_check_claim(const struct json_document *document, const struct json_value *meta,
			       const char **ret_problem, struct json_value **ret_version);

/* Return the revision that answers an `initialize` for `requested` (NULL: none). */
const char *era_negotiate(struct json_value *requested);

/* Return true if clients of `version` (from era_negotiate) may send batches. */
bool era_has_batches(const char *version);

/* Write the modern revisions as an array of strings. */
void era_put_versions(struct json_writer *writer, const char *key);

/* Write the name and version of the server. */
void era_put_server(struct json_writer *writer, const char *key);

#endif
