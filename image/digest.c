/* SPDX-License-Identifier: Apache-2.0 */
#include "image/digest.h"

#include <openssl/crypto.h>

#include "common/sha256.h"
#include "lib/heap/memory.h"

static EVP_MD *algorithm;

bool digest_load(void)
{
	if (!algorithm && OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) == 1)
		algorithm = EVP_MD_fetch(NULL, "SHA256", NULL);
	return algorithm != NULL;
}

EVP_MD_CTX *digest_begin(void)
{
	EVP_MD_CTX *digest = digest_load() ? EVP_MD_CTX_new() : NULL;

	if (!digest || EVP_DigestInit_ex(digest, algorithm, NULL) != 1)
		give_up("SHA-256 of OpenSSL");
	return digest;
}

void digest_add(EVP_MD_CTX *digest, const void *bytes, size_t size)
{
	if (EVP_DigestUpdate(digest, bytes, size) != 1)
		give_up("SHA-256 of OpenSSL");
}

void digest_end(EVP_MD_CTX *digest, char ret[IMAGE_DIGEST_MAX])
{
	unsigned char bytes[EVP_MAX_MD_SIZE];

	if (EVP_DigestFinal_ex(digest, bytes, NULL) != 1)
		give_up("SHA-256 of OpenSSL");
	EVP_MD_CTX_free(digest);
	sha256_text(bytes, ret);
}

void digest_of(const void *bytes, size_t size, char ret[IMAGE_DIGEST_MAX])
{
	EVP_MD_CTX *digest = digest_begin();

	digest_add(digest, bytes, size);
	digest_end(digest, ret);
}
