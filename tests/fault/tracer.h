/* SPDX-License-Identifier: Apache-2.0
 *
 * A command under ptrace(2) with everything that it starts: what the tools of this folder share.
 */
#ifndef FAULT_TRACER_H
#define FAULT_TRACER_H

#include <stdbool.h>
#include <sys/types.h>

enum tracer_stop {
	TRACER_NEW,   /* the process's first stop */
	TRACER_CALL,  /* it enters or leaves a system call */
	TRACER_EXEC,  /* it has executed another program */
	TRACER_EXIT,  /* it is about to be gone */
	TRACER_FORK,  /* it has a new child, which may have been seen before */
	TRACER_OTHER, /* a signal */
};

/* Called at each stop. Returns whether the process shall stop at its system calls too. */
typedef bool tracer_handler(pid_t pid, enum tracer_stop stop);

/* Run the command to the end of all of its processes. Its exit code as a shell would give it, or
 * 70 with a line on stderr when nothing can be traced. */
int tracer_run(char **command, tracer_handler *handler);

/* The parent of a process, 0 when it cannot be read. */
pid_t tracer_parent(pid_t pid);

/* At TRACER_FORK: the child, 0 when it cannot be read. */
pid_t tracer_child(pid_t pid);

/* At TRACER_EXEC: the program will not find the calls that need no kernel. */
void tracer_hide_vdso(pid_t pid);

#endif
