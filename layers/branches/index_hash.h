/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-1 (FIPS 180-4), with which git ends an index. It finds damage and keeps nobody out: ids of
 * objects are computed by library_hash(), which detects collisions.
 */
#ifndef LAYERS_BRANCHES_INDEX_HASH_H
#define LAYERS_BRANCHES_INDEX_HASH_H

#include <stddef.h>
#include <stdint.h>

#define INDEX_HASH_BYTES 20

/* Hash bytes that have room for 72 more behind them, which are overwritten. */
void index_hash(uint8_t *bytes, size_t size, uint8_t ret[INDEX_HASH_BYTES]);

#endif
