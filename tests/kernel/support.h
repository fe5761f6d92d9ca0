/* SPDX-License-Identifier: Apache-2.0
 *
 * Children in namespaces of their own, for the tests of the kernel.
 */
#ifndef KERNEL_SUPPORT_H
#define KERNEL_SUPPORT_H

#include <stdint.h>
#include <sys/types.h>

/* The namespaces of a sandbox. */
#define NAMESPACES                                                                                 \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)

/* The exit code of a child that stopped at a failed preparation: not the thing tested. */
#define UNPREPARED 99

/* clone3() with `flags`; the child returns 0, the parent the pid and, if asked, a pidfd. */
pid_t clone_with(uint64_t flags, int *ret_pidfd);

/* Map uid and gid `inside` to the caller's outer ids, as an unprivileged process may: one line
 * each, setgroups denied first. 0 or an errno. */
int map_ids(unsigned int inside, unsigned int outer_uid, unsigned int outer_gid);

/* Write a text to a file; 0 or an errno. */
int write_text(const char *path, const char *text);

/*
 * Run `act` in a child with `flags`; when they make a user namespace, as its root. Returns the
 * child's exit code, 128+N when signal N ended it.
 */
int exit_of(uint64_t flags, int (*act)(void));

/* 128+N or the exit code of a wait status. */
int exit_code_of(int status);

#endif
