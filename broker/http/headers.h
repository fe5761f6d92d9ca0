/* SPDX-License-Identifier: Apache-2.0
 *
 * What the values of HTTP headers mean, as far as we look at them. Values are a client's text.
 */
#ifndef BROKER_HTTP_HEADERS_H
#define BROKER_HTTP_HEADERS_H

#include <stdbool.h>

#include "io/buffer.h"

/* Is this Host (host, or host:port) one under which only this machine is reached? */
bool header_host_is_local(const char *value);

/* Is this Origin that of a page which this machine itself serves? */
bool header_origin_is_local(const char *value);

/* Is this Content-Type JSON, whatever its parameters? */
bool header_is_json(const char *value);

/* Does this Accept admit `type`/`subtype`? A range with q=0 does not. */
bool header_accepts(const char *value, const char *type, const char *subtype);

/*
 * The value without white space around it; what stands as =?base64?TEXT?= is decoded. False: the
 * text in there is no base64. Appended to `ret`.
 */
bool header_decode(const char *value, struct buffer *ret);

/* The credentials of an Authorization of the scheme Bearer, NULL: it is of another one. */
const char *header_bearer(const char *value);

#endif
