/* SPDX-License-Identifier: Apache-2.0 */
#include "client/client_edit.h"

#include <string.h>

#include "client/json_text.h"
#include "client/toml_text.h"
#include "common/format.h"

/* Two bytes of the indentation of msp's own JSON are one level. */
#define OWN_INDENT 2
#define INDENT_MAX 16

/* The way in which a file begins its lines. */
struct style {
	const char *line_end;
	char indent[INDENT_MAX + 1];
};

/* A document in work. */
struct edit {
	struct buffer text;
	struct json_span root;
	struct style style;
};

static struct style find_style(const struct buffer *text)
{
	struct style style = { .line_end = "\n", .indent = "  " };
	const char *line = text->bytes ? strchr(text->bytes, '\n') : NULL;
	size_t size = line ? strspn(line + 1, " \t") : 0;

	if (line && line > text->bytes && line[-1] == '\r')
		style.line_end = "\r\n";
	if (size > 0 && size <= INDENT_MAX && line[1 + size] == '"')
		format_text(style.indent, sizeof(style.indent), "%.*s", (int)size, line + 1);
	return style;
}

static void append_line(struct buffer *out, const struct style *style, size_t depth)
{
	buffer_append_text(out, style->line_end);
	for (size_t i = 0; i < depth; i++)
		buffer_append_text(out, style->indent);
}

/* Append JSON of our own with the file's line ends and indentation, `depth` levels deeper. */
static void append_styled(struct buffer *out, const struct style *style, const struct buffer *json,
			  size_t depth)
{
	for (const char *at = json->bytes; *at;) {
		size_t size = strcspn(at, "\n");

		buffer_append(out, at, size);
		at += size;
		if (*at == '\n') {
			size = strspn(++at, " ");
			append_line(out, style, depth + size / OWN_INDENT);
			at += size;
		}
	}
}

/* Replace bytes of the document, which stays JSON. */
static void replace_bytes(struct edit *edit, size_t at, size_t size, const struct buffer *with)
{
	struct buffer text = { 0 };
	size_t line;

	buffer_append(&text, edit->text.bytes, at);
	buffer_append(&text, with->bytes, with->size);
	buffer_append(&text, edit->text.bytes + at + size, edit->text.size - at - size);
	buffer_done(&edit->text);
	edit->text = text;
	(void)json_text_check(text.bytes, text.size, &edit->root, &line);
}

/* Insert an item behind all others of a container, whose items are `depth` levels deep. */
static void insert_item(struct edit *edit, const struct json_span *container, size_t depth,
			const struct buffer *item)
{
	struct buffer text = { 0 };
	struct json_item last;
	size_t at = 0;

	while (json_text_next(edit->text.bytes, container, &at, &last))
		;
	if (at > 0)
		buffer_append_text(&text, ",");
	append_line(&text, &edit->style, depth);
	buffer_append(&text, item->bytes, item->size);
	if (at > 0) {
		replace_bytes(edit, at, 0, &text);
	} else {
		append_line(&text, &edit->style, depth - 1);
		replace_bytes(edit, container->at + 1, container->size - 2, &text);
	}
	buffer_done(&text);
}

/* Find the value of a member, or put an empty one there. False if it has not the form that begins
 * with `empty`'s bracket, or is there twice. */
static bool find_or_add(struct edit *edit, const char *name, const char *empty,
			struct json_span *ret)
{
	struct buffer text = { 0 };
	struct json_item item;
	size_t count = json_text_find(edit->text.bytes, &edit->root, name, &item);

	if (count == 0) {
		buffer_format(&text, "\"%s\": %s", name, empty);
		insert_item(edit, &edit->root, 1, &text);
		buffer_done(&text);
		count = json_text_find(edit->text.bytes, &edit->root, name, &item);
	}
	*ret = item.value;
	return count == 1 && edit->text.bytes[item.value.at] == empty[0];
}

/* --- the server ------------------------------------------------------------------------------ */

/* Members that say how a server is reached; others of it are the user's. */
static bool is_way(const char *text, const struct json_item *member)
{
	static const char *const names[] = {
		"type", "command", "args", "url", "httpUrl", "headers"
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (json_text_is(text, &member->key, names[i]))
			return true;
	}
	return false;
}

/* Is a member of the server there the default of a client that need not say it? */
static bool is_default_type(const char *text, const struct json_item *member,
			    const struct client_wish *wish)
{
	static const struct json_span stdio = { 0, 7 };

	return !wish->url && json_text_is(text, &member->key, "type") &&
	       json_text_equal(text, &member->value, "\"stdio\"", &stdio);
}

/* Does the server there have every member of ours, and no other way? */
static bool is_server(const char *text, const struct json_span *there, const struct buffer *ours,
		      const struct client_wish *wish)
{
	const struct json_span whole = { 0, ours->size };
	struct json_item member;
	struct json_item other = { 0 };
	char name[16];
	size_t at = 0;

	while (json_text_next(ours->bytes, &whole, &at, &member)) {
		format_text(name, sizeof(name), "%.*s", (int)member.key.size,
			    ours->bytes + member.key.at);
		if (json_text_find(text, there, name, &other) != 1 ||
		    !json_text_equal(text, &other.value, ours->bytes, &member.value))
			return false;
	}
	at = 0;
	while (json_text_next(text, there, &at, &member)) {
		format_text(name, sizeof(name), "%.*s", (int)member.key.size, text + member.key.at);
		if (is_way(text, &member) && !is_default_type(text, &member, wish) &&
		    json_text_find(ours->bytes, &whole, name, &other) == 0)
			return false;
	}
	return true;
}

/* Find msp among the servers of the client. Returns how often it is there. */
static size_t find_server(struct edit *edit, const struct client *client, struct json_span *ret)
{
	struct json_item item = { 0 };
	struct json_span servers;
	size_t count = 0;

	if (find_or_add(edit, client->servers, "{}", &servers))
		count = json_text_find(edit->text.bytes, &servers, "msp", &item);
	*ret = item.value;
	return count;
}

/* Replace the server's value, and put the user's own members behind ours. */
static void replace_server(struct edit *edit, const struct client *client,
			   const struct json_span *there, const struct buffer *ours)
{
	const struct json_span whole = { 0, there->size };
	struct buffer old = { 0 };
	struct buffer text = { 0 };
	struct json_item member;
	struct json_span server;
	size_t at = 0;

	buffer_append(&old, edit->text.bytes + there->at, there->size);
	append_styled(&text, &edit->style, ours, 2);
	replace_bytes(edit, there->at, there->size, &text);
	while (json_text_next(old.bytes, &whole, &at, &member)) {
		buffer_done(&text);
		buffer_append(&text, old.bytes + member.key.at - 1, at - member.key.at + 1);
		if (!is_way(old.bytes, &member) && find_server(edit, client, &server) == 1)
			insert_item(edit, &server, 3, &text);
	}
	buffer_done(&text);
	buffer_done(&old);
}

static void add_server(struct edit *edit, const struct json_span *servers,
		       const struct buffer *ours)
{
	struct buffer text = { 0 };

	buffer_append_text(&text, "\"msp\": ");
	append_styled(&text, &edit->style, ours, 2);
	insert_item(edit, servers, 2, &text);
	buffer_done(&text);
}

/* Put the server into the document. NULL, or the reason why a person has to. */
static const char *put_server(struct edit *edit, const struct client *client,
			      const struct client_wish *wish, const struct buffer *ours)
{
	struct json_span servers;
	struct json_span there;
	size_t count;

	if (!find_or_add(edit, client->servers, "{}", &servers))
		return "its member for servers is no object, or is there twice";
	count = find_server(edit, client, &there);
	if (count == 0) {
		add_server(edit, &servers, ours);
		return NULL;
	}
	if (count > 1 || edit->text.bytes[there.at] != '{')
		return "its server msp is no object, or is there twice";
	if (!is_server(edit->text.bytes, &there, ours, wish))
		replace_server(edit, client, &there, ours);
	return NULL;
}

/* --- VS Code's input -------------------------------------------------------------------------- */

static bool has_input(const struct edit *edit, const struct json_span *inputs)
{
	struct json_item input;
	struct json_item id;
	size_t at = 0;

	while (json_text_next(edit->text.bytes, inputs, &at, &input)) {
		if (edit->text.bytes[input.value.at] != '{' ||
		    json_text_find(edit->text.bytes, &input.value, "id", &id) != 1 ||
		    edit->text.bytes[id.value.at] != '"')
			continue;
		id.value.at++;
		id.value.size -= 2;
		if (json_text_is(edit->text.bytes, &id.value, CLIENT_TOKEN_INPUT))
			return true;
	}
	return false;
}

static const char *put_input(struct edit *edit)
{
	struct buffer text = { 0 };
	struct buffer styled = { 0 };
	struct json_writer json = { .out = &text, .form = JSON_LINES };
	struct json_span inputs;

	if (!find_or_add(edit, "inputs", "[]", &inputs))
		return "its member inputs is no array, or is there twice";
	if (has_input(edit, &inputs))
		return NULL;
	json_open_object(&json, NULL);
	client_write_input(&json);
	json_close_object(&json);
	append_styled(&styled, &edit->style, &text, 2);
	insert_item(edit, &inputs, 2, &styled);
	buffer_done(&styled);
	buffer_done(&text);
	return NULL;
}

/* --- a whole file ----------------------------------------------------------------------------- */

static const char *begin_edit(struct edit *edit, const struct buffer *old,
			      char why[CLIENT_EDIT_TEXT_MAX])
{
	const char *fault;
	size_t line = 0;

	if (old->size == 0 || old->bytes[strspn(old->bytes, " \t\r\n")] == '\0')
		buffer_append_text(&edit->text, "{}\n");
	else
		buffer_append(&edit->text, old->bytes, old->size);
	edit->style = find_style(&edit->text);
	fault = json_text_check(edit->text.bytes, edit->text.size, &edit->root, &line);
	if (!fault && edit->text.bytes[edit->root.at] != '{')
		return "it is no JSON object";
	if (fault)
		format_text(why, CLIENT_EDIT_TEXT_MAX, "it is not JSON: line %zu has %s", line,
			    fault);
	return fault ? why : NULL;
}

/* Keep the document as a step, unless nothing was changed since the text before it. */
static void keep_step(const struct edit *edit, const struct buffer *before,
		      struct buffer steps[CLIENT_EDIT_STEPS], size_t *ret_count)
{
	if (edit->text.size == before->size &&
	    memcmp(edit->text.bytes, before->bytes, before->size) == 0)
		return;
	buffer_append(&steps[*ret_count], edit->text.bytes, edit->text.size);
	++*ret_count;
}

static const char *edit_json(const struct client *client, const struct client_wish *wish,
			     const struct buffer *old, struct buffer steps[CLIENT_EDIT_STEPS],
			     size_t *ret_count, char why[CLIENT_EDIT_TEXT_MAX])
{
	struct buffer ours = { 0 };
	struct json_writer json = { .out = &ours, .form = JSON_LINES };
	struct edit edit = { .root = { 0 } };
	const char *fault = begin_edit(&edit, old, why);

	json_open_object(&json, NULL);
	client_write_server(&json, client, wish);
	json_close_object(&json);
	if (!fault)
		fault = put_server(&edit, client, wish, &ours);
	if (!fault)
		keep_step(&edit, old, steps, ret_count);
	if (!fault && client_asks_token(client, wish)) {
		fault = put_input(&edit);
		keep_step(&edit, *ret_count > 0 ? &steps[0] : old, steps, ret_count);
	}
	buffer_done(&ours);
	buffer_done(&edit.text);
	return fault;
}

static const char *edit_toml(const struct client *client, const struct client_wish *wish,
			     const struct buffer *old, struct buffer steps[CLIENT_EDIT_STEPS],
			     size_t *ret_count)
{
	struct buffer ours = { 0 };
	const char *fault = NULL;

	client_append_alone(&ours, client, wish);
	if (old->size > 0 && toml_text_has(old->bytes, "mcp_servers", "msp")) {
		if (!toml_text_has_lines(old->bytes, ours.bytes))
			fault = "it has another server msp: replace it by hand";
	} else {
		buffer_append(&steps[0], old->bytes, old->size);
		buffer_end_line(&steps[0]);
		if (steps[0].size > 0)
			buffer_append_text(&steps[0], "\n");
		buffer_append(&steps[0], ours.bytes, ours.size);
		*ret_count = 1;
	}
	buffer_done(&ours);
	return fault;
}

enum client_edit client_edit(const struct client *client, const struct client_wish *wish,
			     const struct buffer *old, struct buffer steps[CLIENT_EDIT_STEPS],
			     size_t *ret_count, char why[CLIENT_EDIT_TEXT_MAX])
{
	const char *fault;

	*ret_count = 0;
	if (old->size > 0 && strlen(old->bytes) < old->size)
		fault = "it has a NUL byte";
	else
		fault = client->servers ? edit_json(client, wish, old, steps, ret_count, why)
					: edit_toml(client, wish, old, steps, ret_count);
	if (fault && fault != why)
		format_text(why, CLIENT_EDIT_TEXT_MAX, "%s", fault);
	if (fault)
		return CLIENT_EDIT_REFUSED;
	return *ret_count > 0 ? CLIENT_EDIT_CHANGED : CLIENT_EDIT_SAME;
}
