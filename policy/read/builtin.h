/* SPDX-License-Identifier: Apache-2.0
 *
 * The YAML files of policy/profiles/ as the build put them into the program, parents first: those
 * that are always there, and those that an operator may offer.
 */
#ifndef POLICY_READ_BUILTIN_H
#define POLICY_READ_BUILTIN_H

#include <stddef.h>
#include <stdint.h>

struct builtin_profile {
	const char *file;
	const char *text;
	size_t size;
};

extern const struct builtin_profile builtin_profiles[];
extern const uint32_t builtin_profile_count;

/* Each has one profile, with the file's name. */
extern const struct builtin_profile shipped_profiles[];
extern const uint32_t shipped_profile_count;

/* One file, with the rows of agents (policy/agents/agents.yaml). */
extern const struct builtin_profile builtin_agents[];

#endif
