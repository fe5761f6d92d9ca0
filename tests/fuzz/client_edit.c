/* SPDX-License-Identifier: Apache-2.0
 *
 * Property: an edit of a client's configuration is refused with a reason, or makes a file that has
 * the server, and in which a second edit finds nothing to do. The first byte chooses the client and
 * the server.
 */
#include "client/client_edit.h"

#include <stdint.h>
#include <string.h>

#include "client/json_text.h"
#include "common/limits_mode.h"
#include "property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct client_wish wishes[] = {
	{ .path = "/bin/msp", .limits = LIMITS_FALLBACK },
	{ .path = "/bin/msp", .url = "http://h/mcp" },
};

static void check_new(const struct client *client, const struct client_wish *wish,
		      const struct buffer *now)
{
	struct buffer steps[CLIENT_EDIT_STEPS] = { 0 };
	char why[CLIENT_EDIT_TEXT_MAX];
	struct json_span root;
	size_t count;
	size_t line;

	must(!client->servers || !json_text_check(now->bytes, now->size, &root, &line));
	must(strstr(now->bytes, wish->url ? wish->url : wish->path));
	must(client_edit(client, wish, now, steps, &count, why) == CLIENT_EDIT_SAME);
	must(count == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *names[CLIENT_NAMES_MAX];
	const size_t clients = client_names(names);
	struct buffer steps[CLIENT_EDIT_STEPS] = { 0 };
	struct buffer old = { 0 };
	char why[CLIENT_EDIT_TEXT_MAX];
	const struct client *client;
	const struct client_wish *wish;
	size_t count;

	if (size == 0)
		return 0;
	client = client_find(names[data[0] % clients]);
	wish = &wishes[data[0] / clients % 2];
	buffer_append(&old, data + 1, size - 1);
	switch (client_edit(client, wish, &old, steps, &count, why)) {
	case CLIENT_EDIT_CHANGED:
		check_new(client, wish, &steps[count - 1]);
		break;
	case CLIENT_EDIT_REFUSED:
		must(why[0] != '\0');
		break;
	case CLIENT_EDIT_SAME:
	default:
		must(count == 0);
		break;
	}
	for (size_t i = 0; i < CLIENT_EDIT_STEPS; i++)
		buffer_done(&steps[i]);
	buffer_done(&old);
	return 0;
}
