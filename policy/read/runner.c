/* SPDX-License-Identifier: Apache-2.0
 *
 * `runner`: words that are put before every command of the profile, inside its sandboxes: a virtual
 * machine, an emulator of another processor, `env`. The plan has them as the first words of the
 * shell and of each language, and says how long they are for other commands.
 */
#include "policy/read/profile_parts.h"

#include <limits.h>
#include <string.h>

#include "common/limits.h"

#define KEY "runner"
#define EXAMPLE "such as [/usr/bin/env, LANG=C]"

/* The rest is a request's. */
#define BYTES_MAX (IPC_ARGV_MAX / 4)

static int check_words(const struct reading *reading)
{
	const struct strings *runner = &reading->profile->runner;
	size_t bytes = 0;

	if (!reading_is_path(runner->items[0]))
		return reading_fail(reading, KEY,
				    "\"%s\" is not a path; expected that of a program in the "
				    "sandbox, " EXAMPLE,
				    runner->items[0]);
	for (uint32_t i = 0; i < runner->count; i++)
		bytes += strlen(runner->items[i]) + 1;
	return bytes <= BYTES_MAX
		       ? 0
		       : reading_fail(reading, KEY, "too long, %zu bytes; expected at most %u",
				      bytes, BYTES_MAX);
}

/* A program in a directory that a workload writes is not known yet. */
int runner_check(const struct reading *reading)
{
	const struct profile *profile = reading->profile;
	const struct profile_mount *around;
	char program[PATH_MAX];

	if (profile->runner.count == 0) /* none, or none where the extended profile has one */
		return 0;
	if (check_words(reading) != 0)
		return -1;
	if (image_is_awaited(profile))
		return 0;
	around = mounts_around(profile, profile->runner.items[0]);
	if (around != NULL && around->kind == PLAN_TMPFS)
		return reading_fail(reading, KEY,
				    "%s would be a file that a workload can write; expected a "
				    "program that it cannot",
				    profile->runner.items[0]);
	languages_print_program(profile, profile->runner.items[0], program);
	return program[0] != '\0'
		       ? 0
		       : reading_fail(reading, KEY,
				      "%s is not in the sandbox; expected a program that an entry "
				      "of files, or the image, shows there",
				      profile->runner.items[0]);
}
