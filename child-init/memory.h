/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory that a process of the factory's program keeps resident. Each init is a copy of the
 * factory, and a thousand of them may be idle: touched objects lie together, and objects that are
 * empty between two requests are given back while none comes.
 */
#ifndef CHILD_INIT_MEMORY_H
#define CHILD_INIT_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

#include "common/ipc/channel.h"

/* A one-byte argument and its NUL take two bytes. */
#define ARGUMENTS_MAX (IPC_ARGV_MAX / 2 + 2)
#define ENVIRONMENT_MAX (IPC_ENVIRONMENT_MAX / 2 + 2)

/* Most processes of one execution that are found by their parents. */
#define FAMILY_MAX 1024

#define DIRECTORY_BYTES 8192

/* Pages of its own, away from the rest, which lies together (--sort-section). */
#define MEMORY_PAGE 4096
#define MEMORY_APART _Alignas(MEMORY_PAGE)

/* Used while an execution is there, or comes to be. */
struct scratch {
	struct channel_message request;
	struct channel_message told; /* by a process that begins, meanwhile */
	pid_t family[FAMILY_MAX];
	_Alignas(uint64_t) char directory[DIRECTORY_BYTES]; /* the kernel's entries */
	char code_paths[SANDBOX_EXECUTIONS_MAX + 1][IPC_PATH_MAX];
	char *environment[ENVIRONMENT_MAX];
	char *arguments[ARGUMENTS_MAX];
};

extern struct scratch scratch;

/* Give back what is not in use, since there is no execution. */
void memory_rest(void);

#endif
