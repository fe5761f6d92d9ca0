/* SPDX-License-Identifier: Apache-2.0
 *
 * Profiles that a request may name: all but those of helpers.
 */
#ifndef FRONTEND_PROFILE_NAMES_H
#define FRONTEND_PROFILE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan;
struct plan_profile;

/* Between two names. */
#define PROFILE_NAMES_SEPARATOR ", "

/* Room for the names in a line for people. */
#define PROFILE_NAMES_SHOWN 1024

/* Find one by its name, also an internal one. NULL: there is none, or `plan` is NULL or without
 * bytes. */
const struct plan_profile *profile_find(const struct plan *plan, const char *name);

/* Find one that is not internal. NULL: there is none. */
const struct plan_profile *profile_named(const struct plan *plan, const char *name);

/* Return why a profile that the configuration has cannot be used. NULL: it can, or there is no such
 * profile, or no plan yet. */
const char *profile_missing(const struct plan *plan, const char *name);

/* Return the name of a profile without its hosts: its own, if it has none. Empty: the default one.
 * NULL: there is no such profile. */
const char *profile_without_hosts(const struct plan *plan, const char *name);

/* Return whether lists of profiles have it: it is no internal one, none without the hosts of
 * another and none of a kept set, whose name is a secret of its sandboxes. */
bool profile_is_listed(const struct plan *plan, const struct plan_profile *profile);

/* Find one of a list with an entry in `hosts` for the host and the port, or for any port if `port`
 * is 0. NULL: there is none. */
const struct plan_profile *profile_reaching(const struct plan *plan, const char *host,
					    uint16_t port);

/* Find the first of a list of which `is_one` is true. NULL: there is none, or no plan yet. */
const struct plan_profile *profile_first(const struct plan *plan,
					 bool (*is_one)(const struct plan_profile *profile));

/* Return whether the profile `name` ("": the default one, NULL: any) has hosts. */
bool profiles_have_hosts(const struct plan *plan, const char *name);

/* Return whether the profile `name` ("": the default one) has an image. False: or no plan yet. */
bool profile_has_image(const struct plan *plan, const char *name);

/* Write their names into `ret`, of `size` bytes: as many as fit. */
void profile_names(const struct plan *plan, char *ret, size_t size);

#endif
