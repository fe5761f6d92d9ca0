/* SPDX-License-Identifier: Apache-2.0
 *
 * Landlock, the mounts and the network refuse without asking anybody, so no denial is counted. A
 * program that failed often names the path or host: the last lines of its error output are searched
 * for known words (hint_phrases.def) and the name beside them. That text is a workload's and proves
 * nothing; it is only the question to the policy, and the answer is the policy's.
 */
#ifndef FRONTEND_DENIAL_HINTS_H
#define FRONTEND_DENIAL_HINTS_H

#include <stdbool.h>

#include "frontend/denials.h"

/* The bytes of the end of an output that are searched. */
#define HINT_BYTES 4096U

/* A failed execution, as its frontend knows it. */
struct hint_source {
	const struct plan *plan;
	const char *profile;
	const char *cwd;     /* the origin of relative paths; NULL: the profile's */
	const char *command; /* the text for the shell, or the arguments; NULL: not known */
	uint32_t exit_code;  /* 0: it was killed */
	bool is_timeout;     /* its time was over */
	bool is_tool;        /* a model asked, by a tool */
	bool is_persistent;  /* it ran in a persistent sandbox */
	bool is_service;     /* its supervisor is the user's service, which commands reach */
	bool is_counted;     /* cgroups limit it: a fork that they refuse has its count */
	uint64_t peak_bytes; /* memory that its processes had at once; 0: not known */
	const char *tail;    /* the end of its error output */
	size_t size;         /* at most HINT_BYTES */
	const char *output;  /* likewise of its output, for programs that print errors there */
	size_t output_size;
};

/*
 * Add the operations that the output speaks of and the policy refuses, and choose the views that
 * are shown. If none is, and the output tells of an error that the policy is not the reason of,
 * views->other says so; views->note is set where a name is missing that the host may have.
 */
void denial_hints_add(const struct hint_source *source, struct denial_views *views);

#endif
