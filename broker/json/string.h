/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands between the quotes of a JSON string, and what the text of a JSON number means.
 */
#ifndef BROKER_JSON_STRING_H
#define BROKER_JSON_STRING_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Decode escapes in place; returns the new size, never larger. The text must have passed a JSON
 * grammar check. A surrogate without its other half is written in the pattern of UTF-8 and sets
 * *ret_has_unpaired, which is otherwise untouched.
 */
size_t json_string_decode(char *text, size_t size, bool *ret_has_unpaired);

#endif
