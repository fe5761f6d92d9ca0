/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk of `msp setup` through the doctor's findings: what is missing, what may be done, the
 * question, and the outcome.
 */
#ifndef CLI_SETUP_WALK_H
#define CLI_SETUP_WALK_H

#include "doctor/examine.h"
#include "setup/acts.h"

#define SETUP_ACTS_MAX 16

struct setup_walk {
	bool is_dry;      /* print only */
	bool is_agreed;   /* do not ask */
	bool has_shown;   /* a finding was printed */
	bool has_changed; /* an act was done */
	bool has_failed;  /* an act failed */
	bool is_offered[SETUP_ACTS_MAX];
	char program[IPC_PATH_MAX]; /* the path of msp */
};

#define EXAMINATION_FINDINGS_MAX 32

struct examination {
	int error;        /* -errno: no ordinary account could be become */
	bool has_account; /* that root becomes; else the findings are about nobody */
	char user[64];    /* the account; empty: it has no name */
	uid_t uid;
	struct doctor_verdict verdict;
	struct finding findings[EXAMINATION_FINDINGS_MAX]; /* in the order of `probes` */
};

/* Examine this machine. 0, or -errno if the child failed or could not become the account. */
int examination_make(struct examination *ret);

/* Walk through the findings of an examination. If root has no account for msp, only that is offered
 * and the result is false: the other findings are about nobody. */
bool setup_walk(struct setup_walk *walk, const struct examination *found);

#endif
