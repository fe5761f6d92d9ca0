/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-256 by OpenSSL, which uses the processor's instructions for it.
 */
#ifndef IMAGE_DIGEST_H
#define IMAGE_DIGEST_H

#include <openssl/evp.h>
#include <stddef.h>

#include "image/manifest.h"

/* Load the algorithm, before the confinement. False: the library does not have it. */
bool digest_load(void);

/* Begin, add, end: in digits. The program ends if the library fails. */
EVP_MD_CTX *digest_begin(void);
void digest_add(EVP_MD_CTX *digest, const void *bytes, size_t size);
void digest_end(EVP_MD_CTX *digest, char ret[IMAGE_DIGEST_MAX]);

/* All at once. */
void digest_of(const void *bytes, size_t size, char ret[IMAGE_DIGEST_MAX]);

#endif
