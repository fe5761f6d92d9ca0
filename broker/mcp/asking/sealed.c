/* SPDX-License-Identifier: Apache-2.0
 *
 * XChaCha20-Poly1305. Its nonce is long enough to be chosen at random each time.
 */
#include "mcp/asking/sealed.h"

#include <sodium.h>
#include <stdlib.h>

#include "frontend/base64.h"
#include "lib/heap/memory.h"

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
