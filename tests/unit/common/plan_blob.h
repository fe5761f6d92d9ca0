/* SPDX-License-Identifier: Apache-2.0
 *
 * A small valid policy blob, made by hand: one profile with a mount of each kind, a rule, a
 * language and a filter. The unit tests break it rule by rule; the fuzzer starts from it.
 */
#ifndef UNIT_COMMON_PLAN_BLOB_H
#define UNIT_COMMON_PLAN_BLOB_H

#include "common/plan/plan.h"

#define BLOB_TEXT_ROOM 1024
#define BLOB_MOUNTS 11

/* The offsets in the blob are offsets in this struct. Must be 8-byte aligned. */
struct blob {
	struct plan_header header;
	struct plan_profile profile;
	struct plan_mount mounts[BLOB_MOUNTS];
	struct plan_rule rules[1];
	struct plan_language languages[1];
	struct sock_filter filter[2];
	char text[BLOB_TEXT_ROOM];
};

/* Fill the blob; returns how many bytes of `text` are used. */
uint32_t blob_make(struct blob *blob);

#endif
