/* SPDX-License-Identifier: Apache-2.0
 *
 * All probes of a machine together, and the verdict on it.
 */
#ifndef CLI_DOCTOR_EXAMINE_H
#define CLI_DOCTOR_EXAMINE_H

#include <stdint.h>

#include "doctor/probes.h"
#include "launcher/start/config.h"

/* Room for what all required probes have to say. */
#define DOCTOR_TEXT_MAX 12000

struct doctor_verdict {
	bool accepts_fallback; /* the command line or the configuration says so */
	bool is_fit;           /* everything required holds */
	bool is_fit_fallback;  /* with --limits=fallback it would */
	bool is_weaker;        /* limits would be weaker */
	char missing[1024];    /* "Missing: NAME " for each probe that failed */
};

/* Find the facts that the probes start from; as root, become the account of `run_as` (NULL: the
 * configuration's, else the default). `given` is --config or NULL. 0 or -errno: no ordinary account
 * could be become. */
int doctor_examine(const char *given, const char *run_as, struct machine *machine);

/* Begin a verdict for `limits` of the command line (LIMITS_UNSAID: none), and add a finding to it.
 * The remedy of a failure that another one explains is that one's. */
void doctor_begin_verdict(const struct machine *machine, uint32_t limits,
			  struct doctor_verdict *ret);
void doctor_note(struct doctor_verdict *all, const struct probe *probe, struct finding *finding);

/* Return the remedy of a finding. */
const char *doctor_fix(const struct probe *probe, const struct finding *finding);

/* Return true if a failure in `text`, which has "Missing: NAME " for each, explains this probe's,
 * whose own remedy would mislead. */
bool doctor_is_explained(const struct probe *probe, const char *text);

/* Run the probes that are required and write two lines about each failure, cut at `room` bytes:
 * the reason and its remedy. Returns true if none failed. */
bool doctor_explain(const struct machine *machine, uint32_t limits, char *text, size_t room);

/* Run only the probes of Landlock and user namespaces, which a kernel lacks most often and which
 * take less than a millisecond, against a configuration that was read. Returns as doctor_explain().
 */
bool doctor_explain_kernel(struct config *config, char *text, size_t room);

#endif
