/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys of every object of a JSON text, to find duplicate keys of an object.
 */
#ifndef LIB_JSON_KEYS_H
#define LIB_JSON_KEYS_H

#include <stdbool.h>
#include <stdint.h>

struct json_value;

struct json_keys {
	uint32_t *places; /* open addressing; 0: free (the top value has no key) */
	uint32_t room;    /* a power of two */
	uint32_t count;
	uint64_t seed;
};

void json_keys_init(struct json_keys *keys);
void json_keys_done(struct json_keys *keys);

/* Add the key of values[place]. False: its object has that key already. */
bool json_keys_add(struct json_keys *keys, const struct json_value *values, uint32_t place);

#endif
