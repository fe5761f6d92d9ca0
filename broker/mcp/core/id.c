/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/core/id.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/heap/buffer.h"
#include "lib/json/string.h"

static void keep_text(struct buffer *buffer, char **ret, size_t *ret_size)
{
	*ret = buffer->bytes;
	*ret_size = buffer->size;
}

static bool read_string(const struct json_value *value, struct buffer *raw, struct buffer *meaning)
{
	bool unpaired;

	if (value->size > RPC_ID_BYTES_MAX)
		return false;
	buffer_append(raw, "\"", 1);
	buffer_append(raw, value->text, value->size);
	buffer_append(raw, "\"", 1);
	buffer_append(meaning, "s", 1);
	buffer_append(meaning, value->text, value->size);
	if (value->is_escaped) /* a copy: the value can be read again */
		meaning->size = 1 + json_string_decode(meaning->bytes + 1, value->size, &unpaired);
	return true;
}

static bool read_number(const struct json_value *value, struct buffer *raw, struct buffer *meaning)
{
	int64_t number;

	if (value->size > RPC_ID_BYTES_MAX || !json_integer(value, &number))
		return false;
	buffer_append(raw, value->text, value->size);
	buffer_format(meaning, "n%" PRId64, number);
	return true;
}

bool rpc_id_read(const struct json_value *value, struct rpc_id *ret)
{
	struct buffer raw = { 0 }, meaning = { 0 };
	bool is_read = false;

	if (json_is(value, JSON_STRING))
		is_read = read_string(value, &raw, &meaning);
	else if (json_is(value, JSON_NUMBER))
		is_read = read_number(value, &raw, &meaning);
	if (!is_read)
		return false;
	keep_text(&raw, &ret->raw, &ret->raw_size);
	keep_text(&meaning, &ret->meaning, &ret->meaning_size);
	return true;
}

bool rpc_id_equals(const struct rpc_id *left, const struct rpc_id *right)
{
	return left->meaning_size == right->meaning_size &&
	       memcmp(left->meaning, right->meaning, left->meaning_size) == 0;
}

void rpc_id_done(struct rpc_id *id)
{
	free(id->raw);
	free(id->meaning);
	memset(id, 0, sizeof(*id));
}
