/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of profile_new(), one file each. Each returns 0, or -1 with *error set.
 */
#ifndef POLICY_PROFILE_PARTS_H
#define POLICY_PROFILE_PARTS_H

#include "policy/profile.h"
#include "policy/reading.h"

/* Take over what the file says about `limits` and `requirements`. */
int limits_apply(const struct reading *reading);

/* Every limit has been given, and they fit together. */
int limits_check(const struct reading *reading);

/* The limit at `index` as a file says it, and its key without "limits."; NULL behind the last. */
const char *limits_value(const struct profile *profile, uint32_t index, char ret[32]);

/* Take over what the file says about `lasting`. */
int lasting_apply(const struct reading *reading);

/* Where an entry of `files` has a place, all that is needed was given. */
int lasting_check(const struct reading *reading);

/* As limits_value(), below PROFILE_LASTING; NULL: it was not given. */
const char *lasting_value(const struct profile *profile, uint32_t index, char ret[32]);

/* Take over what the file says about `seccomp`. */
int seccomp_apply(const struct reading *reading);

/* Take over the entries of `files`. */
int mounts_apply(const struct reading *reading);

/* Add the directories that are implied, and check that each entry has a place to be in. */
int mounts_check(const struct reading *reading);

/* The entry that `path` is in or is itself: the longest target that leads to it, or NULL. */
const struct profile_mount *mounts_around(const struct profile *profile, const char *path);

/* Take over the entries of `languages`, and check them all. */
int languages_apply(const struct reading *reading);
int languages_check(const struct reading *reading);

#endif
