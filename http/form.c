/* SPDX-License-Identifier: Apache-2.0 */
#include "http/form.h"

#include <string.h>
#include <strings.h>

#include "hosts/request.h"

/* Both types of forms have the word, and so have the multipart ones that some servers take. */
static bool is_of_form(struct slice type)
{
	for (size_t i = 0; i + 4 <= type.size; i++) {
		if (strncasecmp(type.bytes + i, "form", 4) == 0 ||
		    strncasecmp(type.bytes + i, "part", 4) == 0)
			return true;
	}
	return false;
}

void form_begin(struct form *form, const struct head *head, bool has_rules)
{
	form->size = 0;
	form->is_read = false;
	for (uint32_t i = 0; i < head->field_count; i++)
		form->is_read |= head->fields[i].kind == HEAD_CONTENT_TYPE &&
				 is_of_form(head->fields[i].value);
	form->is_read = form->is_read && has_rules;
}

bool form_overrides(struct form *form, struct slice data)
{
	for (size_t i = 0; i < data.size && form->is_read; i++) {
		const char byte = data.bytes[i];
		/* A name ends with = and begins after &; of a part, it stands in quotes or behind
		 * =. */
		const bool is_end = byte == '=' || byte == '"' || byte == '\r' || byte == '\n';

		if (is_end && host_query_overrides(form->name, form->size))
			return true;
		if (is_end || byte == '&' || byte == ';')
			form->size = 0;
		else if (form->size < FORM_NAME_MAX)
			form->name[form->size++] = byte;
		/* PHP drops blanks before a name. */
		if (form->size == 3 && memcmp(form->name, "%20", 3) == 0)
			form->size = 0;
		if (form->size == 1 && (byte == ' ' || byte == '+'))
			form->size = 0;
	}
	return false;
}
