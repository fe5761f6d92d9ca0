/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tools/roots.h"

#include <inttypes.h>
#include <string.h>

#include "io/text.h"
#include "mcp/core/resource_uri.h"

#define ROOT_TEMPLATE "file://{+path}"

/* Room for one root in a message, and how many are named. */
#define ROOT_BYTES 120U
#define ROOTS_NAMED 8U

/* Read the path of a root; false: it is no file of this machine. */
static bool read_root(const struct json_document *document, const struct json_value *root,
		      struct resource_values *ret)
{
	struct json_value *uri = json_member(document, root, "uri");

	if (!json_is(uri, JSON_STRING))
		return false;
	json_decode(uri);
	return resource_uri_match(ROOT_TEMPLATE, uri->text, uri->size, ret) &&
	       ret->value[0][0] == '/';
}

static void put_root(struct buffer *text, const char *path)
{
	buffer_append_text(text, text->size > 0 ? ", \"" : "\"");
	text_quote(text, path, strlen(path), ROOT_BYTES);
	buffer_append_text(text, "\"");
}

bool roots_take_only(const struct ask_input *input, char *ret, size_t room,
		     struct buffer *ret_problem)
{
	const struct json_value *roots = json_member(input->document, input->value, "roots");
	struct resource_values values;
	struct buffer names = { 0 };
	uint64_t count = 0;

	for (struct json_value *root = roots ? json_first(input->document, roots) : NULL; root;
	     root = json_next(input->document, root)) {
		if (!read_root(input->document, root, &values) || strlen(values.value[0]) >= room)
			continue;
		if (count++ == 0)
			memcpy(ret, values.value[0], strlen(values.value[0]) + 1);
		if (count <= ROOTS_NAMED)
			put_root(&names, values.value[0]);
	}
	if (count > 1) {
		buffer_format(ret_problem, "The client has %" PRIu64 " roots: ", count);
		buffer_append(ret_problem, names.bytes, names.size);
		buffer_append_text(ret_problem, ". Give one of them as `workspace`.");
	} else if (count == 0) {
		buffer_append_text(ret_problem,
				   "The client has no root that is a directory of this machine. "
				   "Give the absolute path of the project as `workspace`.");
	}
	buffer_done(&names);
	return count == 1;
}
