/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/http/form.h"

#include <string.h>
#include <strings.h>

#include "gateway/hosts/request.h"
#include "gateway/http/message.h"

/* Return where a word begins in a text, in any case of its letters; without it, the text's end. */
static size_t find_word(struct slice text, const char *word)
{
	const size_t size = strlen(word);
	size_t at = 0;

	while (at < text.size &&
	       (text.size - at < size || strncasecmp(text.bytes + at, word, size) != 0))
		at++;
	return at;
}

/* Both types of forms have the word, and so have the multipart ones that some servers take. */
static bool is_of_form(struct slice type)
{
	return find_word(type, "form") < type.size || find_word(type, "part") < type.size;
}

/* Return whether a form's type names a character set in which a name has other bytes, such as
 * UTF-16 or one of EBCDIC. */
static bool is_of_other_bytes(struct slice type)
{
	static const char *const sets[] = { "utf-8", "us-ascii", "iso-8859-", "windows-125" };
	const size_t at = find_word(type, "charset");
	size_t from = at + strlen("charset");

	if (at == type.size)
		return false;
	while (from < type.size && strchr("= \"", type.bytes[from]) != NULL)
		from++;
	type = (struct slice){ type.bytes + from, from < type.size ? type.size - from : 0 };
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		if (find_word(type, sets[i]) == 0 && type.size > 0)
			return find_word(type, "charset") < type.size; /* which one counts? */
	}
	return true;
}

void form_begin(struct form *form, const struct head *head, bool has_rules)
{
	bool has_type = false;

	*form = (struct form){ .is_hidden = false };
	for (uint32_t i = 0; i < head->field_count; i++) {
		const struct head_field *field = &head->fields[i];

		has_type |= field->kind == HEAD_CONTENT_TYPE;
		if (field->kind == HEAD_CONTENT_TYPE && is_of_form(field->value)) {
			form->is_read = true;
			form->is_hidden |= is_of_other_bytes(field->value);
		}
	}
	/* Rack takes a body without a type for a form. */
	form->is_read |= !has_type && slice_is(head->method, "POST");
	form->is_read = form->is_read && has_rules;
	form->is_hidden |= message_is_coded(head);
}

bool form_overrides(struct form *form, struct slice data)
{
	if (form->is_read && form->is_hidden && data.size > 0)
		return true;
	for (size_t i = 0; i < data.size && form->is_read; i++) {
		const char byte = data.bytes[i];
		/* A name ends with = and begins after &; of a part, it stands in quotes or behind
		 * = or the colon of Content-ID. */
		const bool is_end =
			byte != '\0' && (strchr("=\"'\r\n", byte) != NULL ||
					 (form->is_value && strchr("; \t,", byte) != NULL));

		if (is_end && host_query_overrides(form->name, form->size))
			return true;
		if (byte == '\\') /* in quotes, Rack drops it */
			continue;
		if ((is_end && form->size > 0) || (byte != '\0' && strchr("=\"'\r\n&;:", byte))) {
			form->size = 0;
			form->is_value = byte == '=' || byte == ':';
		} else if (form->size < FORM_NAME_MAX) {
			form->name[form->size++] = byte;
		}
		/* PHP drops blanks before a name. */
		if (form->size == 3 && memcmp(form->name, "%20", 3) == 0)
			form->size = 0;
		if (form->size == 1 && strchr(" +\t", form->name[0]) && form->name[0] != '\0')
			form->size = 0;
	}
	return false;
}
