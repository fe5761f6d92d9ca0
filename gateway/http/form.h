/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of a form's fields in a request's body, to a host that has rules: frameworks take a
 * field such as _method for the method. Values and bodies of other types are not read.
 */
#ifndef GATEWAY_HTTP_FORM_H
#define GATEWAY_HTTP_FORM_H

#include "gateway/http/head.h"

/* The longest name that gives a method, each byte as %XX. */
#define FORM_NAME_MAX 72U

struct form {
	bool is_read;
	bool is_hidden; /* compressed, or in another character set: its names cannot be read */
	bool is_value;  /* the name so far began behind = or a colon */
	size_t size;    /* bytes of the name so far */
	char name[FORM_NAME_MAX];
};

/* Begin with the body of a request, to a host with rules or without. */
void form_begin(struct form *form, const struct head *head, bool has_rules);

/* Take the next bytes of the body. Return whether a field in them gives a method. */
bool form_overrides(struct form *form, struct slice data);

#endif
