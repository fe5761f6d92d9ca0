/* SPDX-License-Identifier: Apache-2.0
 *
 * The methods and paths of requests of HTTP: the one comparison of a request with the rules of a
 * host's entry, for the compiler, the answers and msp-http.
 */
#ifndef GATEWAY_HOSTS_REQUEST_H
#define GATEWAY_HOSTS_REQUEST_H

#include "common/plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bits of the methods that a rule can name, in the order of their names. */
enum host_method {
	HOST_METHOD_GET = 1,
	HOST_METHOD_HEAD = 2,
	HOST_METHOD_POST = 4,
	HOST_METHOD_PUT = 8,
	HOST_METHOD_PATCH = 16,
	HOST_METHOD_DELETE = 32,
	HOST_METHOD_OPTIONS = 64,
	HOST_METHODS_END = 128,
};

/* Return the bit of a method's name in capitals, or 0: no rule can name it. */
uint32_t host_method_read(const char *text, size_t size);

/* Return the name of a bit, or NULL. */
const char *host_method_name(uint32_t bit);

/*
 * Check the path of a request, without its query. NULL, or the rule that it breaks, in words. In
 * the one spelling a path begins with '/', has no empty segment but the last one, no segment of
 * dots (also with blanks, or before a semicolon), no '\', '#' or '?', and percent only before two
 * hexadecimal digits that stand neither for a control character nor for one of "./\%;". Beyond
 * ASCII they are UTF-8, without characters that are like those. So no two servers take it for
 * different paths.
 */
const char *host_path_fault(const char *text, size_t size);

/* Return whether a query, or a body of a form, has a parameter that frameworks take for the method.
 */
bool host_query_overrides(const char *text, size_t size);

/* Return whether a rule's path covers a sound path: it is the same, or its beginning at the end of
 * a segment: "/a" and "/a/" cover "/a/b", "/a" covers "/a", and neither covers "/ab". "" covers
 * all. */
bool host_path_covers(const char *rule, const char *path, size_t size);

/* The answer of a host's entry to a request. */
enum host_request {
	HOST_REQUEST_ALLOWED = 0,
	HOST_REQUEST_SPELLING, /* a rule has a path, and the request's has a fault */
	HOST_REQUEST_PATH,     /* no rule covers the path */
	HOST_REQUEST_METHOD,   /* rules cover the path, none with the method */
};

/* The part of a request's first line that rules are for; the path is not a string. */
struct host_request_line {
	uint32_t method; /* a bit, or 0: see host_method_read() */
	const char *path;
	size_t path_size;
};

/* Compare a request with the rules of a profile's entry, which has this index. Without a rule every
 * request is allowed. *ret_rule is the nearest rule, or NULL. */
enum host_request host_request_check(const struct plan *plan, const struct plan_profile *profile,
				     uint32_t host, const struct host_request_line *line,
				     const struct plan_request **ret_rule);

#endif
