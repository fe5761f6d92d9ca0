/* SPDX-License-Identifier: Apache-2.0 */
#include "answer.h"

#include <errno.h>
#include <stdlib.h>

#include "ancestor.h"
#include "text.h"

static int merge_body(const uint8_t *body, const int *gits, const struct objects *objects,
		      const struct reader_ask *ask, struct text_merged *ret)
{
	const struct text host = { body, ask->host_size };
	const struct text sandbox = { body + ask->host_size, ask->body_size - ask->host_size };
	struct object object = { 0 };
	struct text base = sandbox;
	int error = 0;

	/* The base of a file that was merged before is the sandbox's side of that merge. */
	if (!ancestor_is(ask, sandbox.bytes, sandbox.size)) {
		error = ancestor_find(gits, objects, ask, &object);
		base = (struct text){ object.bytes, object.size };
	}
	if (!error)
		error = text_merge(&base, &host, &sandbox, ret);
	object_free(&object);
	return error;
}

int answer_merge(int requests, const int *gits, const struct objects *objects,
		 const struct reader_ask *ask,
		 int (*tell)(void *context, const struct reader_tell *what, const void *bytes),
		 void *context)
{
	struct reader_tell told = { .kind = READER_MERGED };
	struct text_merged merged = { 0 };
	uint8_t *body = NULL;
	int error = -EPROTO;

	if (ask->body_size <= READER_BODY_MAX && ask->host_size <= ask->body_size)
		body = malloc((size_t)ask->body_size + 1);
	if (body)
		error = reader_read(requests, body, ask->body_size);
	if (!error)
		error = merge_body(body, gits, objects, ask, &merged);
	told.size = (uint32_t)merged.size;
	told.count = merged.has_markers;
	if (!error)
		error = tell(context, &told, merged.bytes);
	free(merged.bytes);
	free(body);
	return error;
}
