/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of profile_new(), one file each. Each returns 0, or -1 with *error set.
 */
#ifndef POLICY_PROFILE_PARTS_H
#define POLICY_PROFILE_PARTS_H

#include "policy/profile.h"
#include "policy/reading.h"

/* Take over `limits` and `requirements` of the file. */
int limits_apply(const struct reading *reading);

/* Check that every limit is given and that they are consistent. */
int limits_check(const struct reading *reading);

/* Print limit `index` as a file has it. Return its key without "limits."; NULL behind the last. */
const char *limits_value(const struct profile *profile, uint32_t index, char ret[32]);

/* Take over `lasting` of the file. */
int lasting_apply(const struct reading *reading);

/* Check that `lasting` is complete if an entry of `files` has a place. */
int lasting_check(const struct reading *reading);

/* Print a key of `lasting`, below PROFILE_LASTING, and return it; NULL: it was not given. */
const char *lasting_value(const struct profile *profile, uint32_t index, char ret[32]);

/* Take over `network` and `hosts` of the file, and check that they fit. */
int network_apply(const struct reading *reading);
int network_check(const struct reading *reading);

/* Return the network in the word of a file. */
const char *network_name(const struct profile *profile);

/* Return the text of an entry of kind file: a built-in one that is about names has another text in
 * a profile with hosts, whose names the gateway resolves. */
const char *network_file_text(const struct profile *profile, const struct profile_mount *mount);

/* Print a host as a file has it: "example.org:443 tls". */
#define HOST_TEXT_MAX (HOST_PATTERN_MAX_SIZE + 32U)
void network_print_host(const struct profile_host *host, char ret[HOST_TEXT_MAX]);

/* Take over `seccomp` of the file. */
int seccomp_apply(const struct reading *reading);

/* Take over the entries of `files`. */
int mounts_apply(const struct reading *reading);

/* Add the implied directories, and check that each entry can be made where it is. */
int mounts_check(const struct reading *reading);

/* Find the entry that is or contains `path`: the longest matching target, or NULL. */
const struct profile_mount *mounts_around(const struct profile *profile, const char *path);

/* Take over the entries of `languages`, and check all languages. */
int languages_apply(const struct reading *reading);
int languages_check(const struct reading *reading);

#endif
