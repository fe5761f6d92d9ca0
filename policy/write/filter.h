/* SPDX-License-Identifier: Apache-2.0
 *
 * Compile rules about system calls into a seccomp program: a binary tree over merged ranges of
 * numbers with the same answer. The kernel's cost is the length of one path, and the
 * program stays short enough to be installed in tens of microseconds.
 *
 * Before the tree, every program kills the process for a foreign architecture (i386 and others)
 * and for the x32 numbers of this one.
 */
#ifndef POLICY_WRITE_FILTER_H
#define POLICY_WRITE_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

#define FILTER_RULES_MAX 512U
#define FILTER_CLAUSES_MAX 16U
#define FILTER_COMPARES_MAX 4U
#define FILTER_PROGRAM_MAX 1024U

/* The values that a program returns (SECCOMP_RET_*). */
#define FILTER_ALLOW SECCOMP_RET_ALLOW
#define FILTER_KILL SECCOMP_RET_KILL_PROCESS
#define FILTER_EPERM (SECCOMP_RET_ERRNO | 1U)
#define FILTER_NOTIFY SECCOMP_RET_USER_NOTIF /* the holder of the listener answers EPERM */
#define FILTER_ENOSYS (SECCOMP_RET_ERRNO | 38U)
#define FILTER_UNSUPPORTED (SECCOMP_RET_ERRNO | 93U) /* EPROTONOSUPPORT */
#define FILTER_PRETEND (SECCOMP_RET_ERRNO | 0U)      /* 0, and nothing is done */

/* The mask of arguments that the kernel reads as int, unsigned int or shorter. */
#define FILTER_INT 0xffffffffULL
#define FILTER_LONG 0xffffffffffffffffULL

enum filter_relation {
	FILTER_EQUAL = 0, /* (argument & mask) == value */
	FILTER_DIFFERS,   /* (argument & mask) != value */
};

struct filter_compare {
	uint8_t argument; /* 0 to 5 */
	uint8_t relation;
	uint64_t mask; /* 0: this element is not used */
	uint64_t value;
};

/* Take the action if all comparisons hold. */
struct filter_clause {
	uint32_t action;
	struct filter_compare compare[FILTER_COMPARES_MAX];
};

/* The first clause that holds decides; if none holds, `action`. */
struct filter_rule {
	uint32_t number;
	uint32_t action;
	uint32_t clause_count;
	const struct filter_clause *clauses;
};

struct filter_program {
	uint32_t count;
	struct sock_filter instructions[FILTER_PROGRAM_MAX];
};

/*
 * Compile `count` rules, which are sorted by number without repetition; `otherwise` is for all
 * other numbers. 0 with *ret set; -EINVAL for rules out of order or malformed; -E2BIG if the
 * program is too long.
 */
int filter_compile(const struct filter_rule *rules, uint32_t count, uint32_t otherwise,
		   struct filter_program *ret);

#endif
