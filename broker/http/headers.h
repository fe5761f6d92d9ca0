/* SPDX-License-Identifier: Apache-2.0
 *
 * The meaning of the HTTP headers that the server reads. Values are a client's text.
 */
#ifndef BROKER_HTTP_HEADERS_H
#define BROKER_HTTP_HEADERS_H

#include <stdbool.h>

#include "lib/heap/buffer.h"

/* Return true if this Host (host, or host:port) names only this machine. */
bool header_host_is_local(const char *value);

/* Return true if this Origin is that of a page that this machine itself serves. */
bool header_origin_is_local(const char *value);

/* Return true if this Content-Type is JSON, with any parameters. */
bool header_is_json(const char *value);

/* Return true if this Accept admits `type`/`subtype`. A range with q=0 does not. */
bool header_accepts(const char *value, const char *type, const char *subtype);

/* Append the value to `ret` without white space around it; text within =?base64?TEXT?= is decoded.
 * False: that text is no base64. */
bool header_decode(const char *value, struct buffer *ret);

/* Return the credentials of an Authorization of the scheme Bearer; NULL: another scheme. */
const char *header_bearer(const char *value);

#endif
