/* SPDX-License-Identifier: Apache-2.0
 *
 * The person's pager, in a process group of its own: Ctrl-C in it is not for msp.
 */
#ifndef CLI_SHOW_PAGER_H
#define CLI_SHOW_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

struct pager {
	pid_t pid;
	int output; /* the former standard output */
};

/* Start PAGER, or less: standard output goes to it. False: it cannot be started. */
bool pager_open(struct pager *pager);

/* Wait for its end, and have standard output back. */
void pager_close(struct pager *pager);

#endif
