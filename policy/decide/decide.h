/* SPDX-License-Identifier: Apache-2.0
 *
 * The answer of a profile's sandbox to an operation, from the plan alone: no descriptor, no system
 * call, no memory of its own. Each operation stands for:
 *
 *   read     open(O_RDONLY) and read a byte
 *   write    open(O_WRONLY | O_TRUNC) of an existing file
 *   create   open(O_CREAT | O_EXCL | O_WRONLY, 0644)
 *   delete   unlink(2), or rmdir(2) of an empty directory
 *   list     open(O_DIRECTORY) and read its entries
 *   exec     execve(2)
 *   connect  socket(2) and connect(2), to an address, a name or a unix socket
 *   bind     socket(2) and bind(2) to a port of every address
 *   request  an HTTP request to a host, over a connection of its own
 *   use      a request to a host with the placeholder of a secret in the secret's header
 *   syscall  the call itself, with arguments that no condition mentions
 *
 * Files of the host and of a workload, and the directories on the way, are assumed to exist with a
 * mode that permits the operation. The contents of a host's directory are unknown, including its
 * symbolic links.
 */
#ifndef POLICY_DECIDE_DECIDE_H
#define POLICY_DECIDE_DECIDE_H

#include "common/plan/plan.h"
#include "policy/decide/operation.h"

#include <stddef.h>

#define DECISION_RULE_MAX 256U
#define DECISION_CONDITION_MAX 160U
#define DECISION_TEXT_MAX 2048U /* both lines, with a NUL */

enum decision_answer {
	DECISION_ALLOWED = 0,
	DECISION_CONDITIONAL, /* allowed, if `condition` */
	DECISION_REFUSED,
	DECISION_ABSENT, /* the sandbox has no such name */
	DECISION_ANSWER_COUNT
};

struct decision {
	enum decision_answer answer;
	const char *layer; /* the deciding one: "mounts", "landlock", "seccomp", "network" */
	int error;         /* errno that a workload sees; 0: none, or it depends */
	char condition[DECISION_CONDITION_MAX]; /* "if the host has it"; empty: none. For a refusal:
						 * otherwise the error is another */
	char rule[DECISION_RULE_MAX];           /* the deciding rule of the policy */
	struct plan_origin origin;              /* the place of the rule */
	char remedy[DECISION_RULE_MAX]; /* the operator's remedy; empty: nothing is refused. A
					 * request can never apply it. */
	/* The right to approve the host and port of a refusal for sandboxes that run. */
	enum plan_host_approval approval;
};

/* Decide. 0 with *ret set, or -EINVAL: operation_parse() cannot have made the operation. */
int decide(const struct plan *plan, const struct plan_profile *profile,
	   const struct operation *operation, struct decision *ret);

/* Return "allowed", "conditional", "refused" or "absent". */
const char *decision_answer_name(enum decision_answer answer);

/* Return the name of a decision's error, such as "EROFS"; empty for 0. */
const char *decision_error_name(int error);

/* Print at most two lines, without a newline at the end:
 *
 *   refused: write /etc/passwd: read-only file system (EROFS)
 *   rule: files: /etc/passwd, file, read-only (default.yaml:38); remedy: ...
 */
void decision_print(const struct plan *plan, const struct operation *operation,
		    const struct decision *decision, char text[DECISION_TEXT_MAX]);

#endif
