/* SPDX-License-Identifier: Apache-2.0
 *
 * The history of a persistent sandbox, for its user: a note for each execution that began, in two
 * files of the sandbox's directory on the host, where no workload can reach them. msp-store writes
 * them, `msp logs` reads them, and they go with the sandbox. A note has the words of the command,
 * which the audit log has only where the operator wants it, and no environment; how an execution
 * ended is in the audit log.
 */
#ifndef COMMON_RECORDS_HISTORY_H
#define COMMON_RECORDS_HISTORY_H

#include <stdint.h>

/* The newer notes. When this file has so many bytes, it replaces the older one. */
#define HISTORY_FILE "history"
#define HISTORY_FILE_OLD "history.old"
#define HISTORY_BYTES (512 << 10)
#define HISTORY_TEXT_MAX 480

struct history_note {
	uint64_t time_us;              /* real clock; msp-store fills it in */
	uint64_t execution;            /* its number in its supervisor, as in the audit log */
	uint32_t pid;                  /* the supervisor's */
	uint32_t argv_size, code_size; /* parts of the text, one after the other */
	uint32_t reserved;
	uint8_t text[HISTORY_TEXT_MAX]; /* arguments with a NUL after each, then code; cut off */
};

_Static_assert(sizeof(struct history_note) == 512, "no padding, and a note lies in one block");

#endif
