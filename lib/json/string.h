/* SPDX-License-Identifier: Apache-2.0
 *
 * The content of a JSON string between its quotes, and the value of a JSON number.
 */
#ifndef LIB_JSON_STRING_H
#define LIB_JSON_STRING_H

#include <stdbool.h>
#include <stddef.h>

/* Decode escapes in place; return the new size, never larger. The text must have passed a JSON
 * grammar check. A surrogate without its other half is written in the pattern of UTF-8 and sets
 * *ret_has_unpaired, which is otherwise unchanged. */
size_t json_string_decode(char *text, size_t size, bool *ret_has_unpaired);

#endif
