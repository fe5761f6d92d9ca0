/* SPDX-License-Identifier: Apache-2.0
 *
 * The doctor's findings, from a child: as root the doctor becomes an ordinary account for good.
 */
#ifndef CLI_SETUP_EXAMINATION_H
#define CLI_SETUP_EXAMINATION_H

#include "doctor/examine.h"

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

#endif
