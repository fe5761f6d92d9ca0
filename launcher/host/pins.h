/* SPDX-License-Identifier: Apache-2.0
 *
 * The paths of the host that the operator's profiles show, opened once and checked. The factory
 * mounts such a record only if its path then still leads to what was opened here.
 */
#ifndef LAUNCHER_HOST_PINS_H
#define LAUNCHER_HOST_PINS_H

#include <stdint.h>

#include "common/limits.h"
#include "common/plan/plan.h"

struct pin {
	int fd;           /* O_PATH; pins of one path share it */
	uint32_t profile; /* index in the plan */
	uint32_t mount;   /* index in the profile */
};

struct pins {
	uint32_t count;
	struct pin list[PINS_MAX];
};

#define PINS_TEXT_MAX 1536

/* The launcher's directory of trusted certificates, for records with PLAN_TRUST. */
struct pins_trust {
	int directory;               /* -1: there is none */
	uint64_t refused;            /* bits of the profiles that do not get it, */
	char problem[PINS_TEXT_MAX]; /* and the reason for the last of them */
};

#define PINS_TRUST_NONE                                                                            \
	{                                                                                          \
		.directory = -1                                                                    \
	}

/* Return the index of the profile that is `needed` ("": the plan's default); -1: there is none, or
 * it is NULL. */
int pins_find_needed(const struct plan *plan, const char *needed);

/*
 * Open and check (protected_set_of()) the source of every record with PLAN_PINNED, but for those
 * with PLAN_GIVEN, which the command has opened. An optional
 * record whose path does not exist has no pin. A profile with a record that fails gets no pin: the
 * factory then refuses its sandboxes. If that profile is `needed` ("": the plan's default; NULL:
 * none is), fail.
 *
 * `trust`: NULL leaves out the records with PLAN_TRUST.
 *
 * 0 with the descriptors in *ret, and in `text` the reason for the last profile without pins, or
 * "". -1 with one line for a person in `text`: where it was said, the path, the rule and what
 * helps; then nothing is left open.
 */
int pins_open(const struct plan *plan, const char *needed, const struct pins_trust *trust,
	      struct pins *ret, char text[PINS_TEXT_MAX]);

/* Return 0 if each profile's records can be opened, else -1 with the line of pins_open(). */
int pins_check(const struct plan *plan, char text[PINS_TEXT_MAX]);

void pins_close(struct pins *pins);

/*
 * pins_open() keeps the images of the profiles from being removed as long as this process lives,
 * since nothing but a lock says that a sandbox shows an image's files. Hold those of all profiles,
 * as far as they are still there, in a process whose descriptors were closed since.
 */
void pins_hold_images(const struct plan *plan);

#endif
