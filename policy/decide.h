/* SPDX-License-Identifier: Apache-2.0
 *
 * What a sandbox of a profile answers to an operation, from the plan alone: no descriptor, no
 * system call, no memory of its own. What each operation stands for:
 *
 *   read     open(O_RDONLY) and read a byte
 *   write    open(O_WRONLY | O_TRUNC) what is there
 *   create   open(O_CREAT | O_EXCL | O_WRONLY, 0644)
 *   delete   unlink(2), or rmdir(2) of an empty directory
 *   list     open(O_DIRECTORY) and read its entries
 *   exec     execve(2)
 *   connect  socket(2) and connect(2), to an address, a name or a unix socket
 *   bind     socket(2) and bind(2) to a port of every address
 *   syscall  the call itself, with arguments that no condition speaks of
 *
 * Files of the host and what a workload made are taken to be there, with a mode that lets it, and
 * the directories on the way too; of what is in a directory of the host nothing is known, symbolic
 * links among it.
 */
#ifndef POLICY_DECIDE_H
#define POLICY_DECIDE_H

#include "common/plan.h"
#include "policy/operation.h"

#include <stddef.h>

#define DECISION_RULE_MAX 256U
#define DECISION_CONDITION_MAX 160U
#define DECISION_TEXT_MAX 2048U /* of both lines, with a NUL */

enum decision_answer {
	DECISION_ALLOWED = 0,
	DECISION_CONDITIONAL, /* allowed, if `condition` */
	DECISION_REFUSED,
	DECISION_ABSENT, /* there is nothing of that name in the sandbox */
	DECISION_ANSWER_COUNT
};

struct decision {
	enum decision_answer answer;
	const char *layer; /* that has the last word: "mounts", "landlock", "seccomp", "network" */
	int error;         /* errno that a workload sees; 0: none, or it depends */
	char condition[DECISION_CONDITION_MAX]; /* "if the host has it"; empty: none. Of a refusal:
						 * else there is another error */
	char rule[DECISION_RULE_MAX];           /* what of the policy says so */
	struct plan_origin origin;              /* where that stands */
	char remedy[DECISION_RULE_MAX]; /* what an operator can do about it; empty: nothing is
					 * refused. A request can never do it. */
};

/* 0 and *ret set, or -EINVAL: an operation that operation_parse() does not make. */
int decide(const struct plan *plan, const struct plan_profile *profile,
	   const struct operation *operation, struct decision *ret);

/* "allowed", "conditional", "refused" or "absent". */
const char *decision_answer_name(enum decision_answer answer);

/* "EROFS"; empty for 0. */
const char *decision_error_name(int error);

/* At most two lines, without a newline at the end:
 *
 *   refused: write /etc/passwd: read-only file system (EROFS)
 *   rule: files: /etc/passwd, file, read-only (default.yaml:38); remedy: ...
 */
void decision_print(const struct plan *plan, const struct operation *operation,
		    const struct decision *decision, char text[DECISION_TEXT_MAX]);

#endif
