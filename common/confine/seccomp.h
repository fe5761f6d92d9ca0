/* SPDX-License-Identifier: Apache-2.0
 *
 * Installs a system call filter that was built elsewhere.
 */
#ifndef COMMON_CONFINE_SECCOMP_H
#define COMMON_CONFINE_SECCOMP_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>

/* Needs no_new_privs. 0 or -errno. It cannot be undone. */
int seccomp_install(const struct sock_filter *filter, uint32_t count);

/*
 * Install a filter with a listener, which the kernel asks about each call that the filter answers
 * with SECCOMP_RET_USER_NOTIF. Return its descriptor (close-on-exec, the caller's), or -errno;
 * -EBUSY when a filter in force has a listener already. Once no process holds the listener, these
 * calls get ENOSYS.
 */
int seccomp_install_observed(const struct sock_filter *filter, uint32_t count);

/* Have who asks a listener and who answers take turns on one processor, where the kernel can: an
 * answer comes sooner then. */
void seccomp_hasten(int listener);

/* Return the answer to a call, which waits for it: -errno, or 0 when the call was carried out for
 * it. Never "go on": another thread could change what the call is about. */
typedef int seccomp_act(const struct seccomp_notif *call);

/*
 * After poll(2) gave POLLIN for a listener: give one call the answer of `act`. 1: that was EPERM,
 * and *ret is the call; 0: it was another, or who made the call was killed meanwhile. Does not
 * wait.
 */
int seccomp_answer(int listener, seccomp_act *act, struct seccomp_notif *ret);

#endif
