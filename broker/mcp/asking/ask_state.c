/* SPDX-License-Identifier: Apache-2.0
 *
 * The sealed text is JSON that this file wrote, so reading it back cannot fail, unless the answers
 * in it changed their meaning on the way (two keys that differ only in unpaired surrogates).
 */
#include "mcp/asking/ask_state.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/base64.h"
#include "lib/heap/memory.h"
#include "mcp/core/host.h"

#define NONCE_BYTES crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG_BYTES crypto_aead_xchacha20poly1305_ietf_ABYTES

_Static_assert(SEALED_KEY_BYTES == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "a key of its own");

void sealed_key_make(struct sealed_key *ret)
{
	if (sodium_init() < 0)
		give_up("random bytes");
	crypto_aead_xchacha20poly1305_ietf_keygen(ret->bytes);
}

void sealed_close(const struct sealed_key *key, const struct buffer *plain, struct buffer *text)
{
	const size_t size = NONCE_BYTES + plain->size + TAG_BYTES;
	unsigned char *box = memory_get(size);

	randombytes_buf(box, NONCE_BYTES);
	(void)crypto_aead_xchacha20poly1305_ietf_encrypt(
		box + NONCE_BYTES, NULL, (const unsigned char *)plain->bytes, plain->size, NULL, 0,
		NULL, box, key->bytes); /* cannot fail */
	base64_append_url(text, box, size);
	free(box);
}

static bool open_box(const struct sealed_key *key, const unsigned char *box, size_t size,
		     struct buffer *plain)
{
	unsigned long long plain_size = 0;
	unsigned char *bytes;
	bool is_open;

	if (size < NONCE_BYTES + TAG_BYTES)
		return false;
	bytes = memory_get(size);
	is_open = crypto_aead_xchacha20poly1305_ietf_decrypt(bytes, &plain_size, NULL,
							     box + NONCE_BYTES, size - NONCE_BYTES,
							     NULL, 0, box, key->bytes) == 0;
	if (is_open)
		buffer_append(plain, bytes, (size_t)plain_size);
	free(bytes);
	return is_open;
}

bool sealed_open(const struct sealed_key *key, const char *text, size_t size, struct buffer *plain)
{
	struct buffer box = { 0 };
	bool is_open;

	is_open = base64_decode_url(&box, text, size) &&
		  open_box(key, (const unsigned char *)box.bytes, box.size, plain);
	buffer_done(&box);
	return is_open;
}

/* --- the state ------------------------------------------------------------------------------ */

static void add_number(crypto_generichash_state *hash, uint32_t number)
{
	(void)crypto_generichash_update(hash, (const unsigned char *)&number, sizeof(number));
}

static void add_bytes(crypto_generichash_state *hash, const char *bytes, size_t size)
{
	add_number(hash, (uint32_t)size);
	(void)crypto_generichash_update(hash, (const unsigned char *)bytes, size);
}

/* Hash kind, count and sizes before the content, so that no two values have the same input. */
static void add_value(crypto_generichash_state *hash, const struct json_document *document,
		      const struct json_value *value)
{
	const uint32_t end = json_end(document, value);

	for (uint32_t i = (uint32_t)(value - document->values); i < end; i++) {
		struct json_value *v = &document->values[i];

		if (v->kind == JSON_STRING)
			json_decode(v);
		add_number(hash, v->kind);
		add_number(hash, v->count);
		add_bytes(hash, v->key, v->key_size);
		add_bytes(hash, v->text, v->size);
	}
}

void ask_origin_make(struct ask_origin *ret, uint32_t principal, const char *method,
		     const struct json_value *name, const struct json_document *document,
		     const struct json_value *arguments)
{
	crypto_generichash_state hash;

	ret->principal = principal;
	(void)crypto_generichash_init(&hash, NULL, 0, ASK_DIGEST_BYTES);
	add_bytes(&hash, method, strlen(method));
	add_bytes(&hash, name->text, name->size);
	if (arguments && arguments->count > 0) /* no arguments are the same as {} */
		add_value(&hash, document, arguments);
	(void)crypto_generichash_final(&hash, ret->digest, ASK_DIGEST_BYTES);
}

static void put_base64(struct json_writer *writer, const char *key, const void *bytes, size_t size)
{
	struct buffer text = { 0 };

	base64_append_url(&text, bytes, size);
	json_put_string(writer, key, text.bytes, text.size);
	buffer_done(&text);
}

void ask_state_close(const struct sealed_key *key, const struct ask_origin *origin, int64_t now_ms,
		     const struct ask_state *state, const struct buffer *inputs,
		     struct buffer *text)
{
	struct buffer plain = { 0 };
	struct json_writer writer = { .out = &plain };

	json_open_object(&writer, NULL);
	json_put_number(&writer, "principal", origin->principal);
	put_base64(&writer, "request", origin->digest, ASK_DIGEST_BYTES);
	json_put_signed(&writer, "expires", now_ms + ASK_STATE_MS);
	json_put_number(&writer, "round", state->round);
	put_base64(&writer, "kept", state->kept.bytes, state->kept.size);
	json_put_raw(&writer, "inputs", inputs->bytes, inputs->size);
	json_close_object(&writer);
	sealed_close(key, &plain, text);
	buffer_done(&plain);
}

/* Read the state's members; `top` is JSON that this file wrote. */
static int64_t member_number(const struct json_document *document, const char *key)
{
	const struct json_value *value = json_member(document, json_top(document), key);
	int64_t number;

	if (!json_is(value, JSON_NUMBER) || !json_integer(value, &number))
		bug("a sealed state without a number");
	return number;
}

static void member_bytes(const struct json_document *document, const char *key, struct buffer *ret)
{
	const struct json_value *value = json_member(document, json_top(document), key);

	if (!json_is(value, JSON_STRING) || !base64_decode_url(ret, value->text, value->size))
		bug("a sealed state without its bytes");
}

static bool is_of_request(const struct json_document *document, const struct ask_origin *origin)
{
	struct buffer digest = { 0 };
	bool is_same;

	member_bytes(document, "request", &digest);
	is_same = digest.size == sizeof(origin->digest) &&
		  memcmp(digest.bytes, origin->digest, sizeof(origin->digest)) == 0;
	buffer_done(&digest);
	return is_same;
}

static const char *check_state(const struct json_document *document,
			       const struct ask_origin *origin, int64_t now_ms)
{
	if (member_number(document, "principal") != origin->principal)
		return "Invalid params: the requestState was given to another client";
	if (!is_of_request(document, origin))
		return "Invalid params: the requestState belongs to another request; repeat the "
		       "request with the same name and arguments";
	if (now_ms > member_number(document, "expires"))
		return "Invalid params: the requestState has expired; begin again without it";
	return NULL;
}

static void take_state(struct ask_state *state)
{
	const struct json_document *document = &state->tree.document;

	state->round = (unsigned int)member_number(document, "round");
	member_bytes(document, "kept", &state->kept);
	state->inputs = json_member(document, json_top(document), "inputs");
}

const char *ask_state_open(const struct sealed_key *key, const struct ask_origin *origin,
			   int64_t now_ms, const struct json_value *text, struct ask_state *ret)
{
	struct buffer plain = { 0 };
	const char *problem;

	memset(ret, 0, sizeof(*ret));
	if (!sealed_open(key, text->text, text->size, &plain))
		return "Invalid params: the requestState is unknown, perhaps from before a restart "
		       "of the server; begin again without it";
	ret->tree.text = plain.bytes;
	ret->tree.bytes = plain.size;
	if (json_read(&ret->tree.document, plain.bytes, plain.size) != JSON_OK)
		problem = "Invalid params: the answers in the requestState cannot be read; begin "
			  "again without it";
	else
		problem = check_state(&ret->tree.document, origin, now_ms);
	if (problem)
		ask_state_done(ret);
	else
		take_state(ret);
	return problem;
}

void ask_state_done(struct ask_state *state)
{
	buffer_done(&state->kept);
	json_tree_done(&state->tree);
	memset(state, 0, sizeof(*state));
}

/* --- the key ---------------------------------------------------------------------------------- */

const struct sealed_key *ask_state_key(struct host *host)
{
	if (!host->sealed_key) {
		host->sealed_key = memory_get(sizeof(*host->sealed_key));
		sealed_key_make(host->sealed_key);
	}
	return host->sealed_key;
}

void ask_done(struct host *host)
{
	if (!host->sealed_key)
		return;
	sodium_memzero(host->sealed_key, sizeof(*host->sealed_key));
	free(host->sealed_key);
	host->sealed_key = NULL;
}
