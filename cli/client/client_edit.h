/* SPDX-License-Identifier: Apache-2.0
 *
 * Edits of a client's configuration: adds msp as a server, and keeps every other byte.
 */
#ifndef CLI_CLIENT_CLIENT_EDIT_H
#define CLI_CLIENT_CLIENT_EDIT_H

#include "client/client.h"
#include "lib/heap/buffer.h"

#define CLIENT_EDIT_TEXT_MAX 256

enum client_edit {
	CLIENT_EDIT_SAME,    /* the server is there as wanted */
	CLIENT_EDIT_CHANGED, /* the new text has it */
	CLIENT_EDIT_REFUSED, /* a person has to edit the file */
};

/* Make the text of the file with the server in it: `steps` has the texts after each of the changes,
 * of which *ret_count are set, and the last is the new text. `why` says why it is refused. */
#define CLIENT_EDIT_STEPS 2
enum client_edit client_edit(const struct client *client, const struct client_wish *wish,
			     const struct buffer *old, struct buffer steps[CLIENT_EDIT_STEPS],
			     size_t *ret_count, char why[CLIENT_EDIT_TEXT_MAX]);

#endif
