/* SPDX-License-Identifier: Apache-2.0
 *
 * A process that another one of msp's has forked. The kernel collects its end, but only while its
 * parent is there: a parent that ended first would leave it to a process 1 that may collect nobody.
 */
#ifndef STEWARDS_BASE_CHILD_H
#define STEWARDS_BASE_CHILD_H

/* Fork, with SIGCHLD ignored from now on. 0 in the child; in the parent 1, with a descriptor of the
 * child in *ret_pidfd; -errno. */
int child_fork(int *ret_pidfd);

/* Wait for the end of a child that has been given a reason to end, and close its descriptor; -1 is
 * a child that was not started. A child that needs more than two seconds is not waited for. */
void child_await(int *pidfd);

#endif
